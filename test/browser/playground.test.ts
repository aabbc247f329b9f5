import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { type LedgerView, openCliStore } from "../support/ledger-view.ts";
import { wavFile } from "../support/wav.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

describe.skipIf(!hasChromium)("the playground", () => {
  const dashboard = useDashboard();
  let store: LedgerView;
  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    await dashboard.visit((page) => signInFirst(page, gateway));
    store = openCliStore(gateway.home);
  });
  afterAll(() => store?.close());

  /** Runs the displayed curl command unchanged. */
  async function runShownCurl(page: Page): Promise<string> {
    await page.getByRole("button", { name: "Show as curl" }).click();
    const command = (await page.locator(".code pre").textContent()) ?? "";
    const env = { PATH: process.env.PATH ?? "", MODELGATE_KEY: dashboard.gateway.key };
    const child = Bun.spawn(["bash", "-c", `${command} -sS --max-time 20`], {
      env,
      cwd: dashboard.gateway.home,
      stdout: "pipe",
    });
    const output = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    return output;
  }

  async function send(page: Page, text: string): Promise<void> {
    await page.getByLabel("Your message").fill(text);
    await page.keyboard.press("Enter");
  }

  test("chats with a model, and shows the request as curl", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground?model=gpt-5");
      await send(page, "Say it's <fine>");
      await page.locator(".turn-end").waitFor();
      expect(await page.locator(".turn.is-assistant .turn-text").textContent()).toContain("it's <fine>");
      expect(await page.locator(".turn-end").textContent()).toMatch(
        /^\d+ tokens in, \d+ out · \$0\.0\d+ · first token [\d.]+ s · total [\d.]+ s · sandbox$/,
      );
      await page.getByLabel("Your message").fill("It's $HOME `ls`");
      const output = await runShownCurl(page);
      expect(output).toContain("data: [DONE]");
      expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain("sk-mg");
    }));

  test("renders markdown without its HTML or pictures, and keeps the chat until the user signs out", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground?model=gpt-5");
      await send(
        page,
        "**bold** [go](https://a.example) ![pic](https://b.example/p.png) <img src=y> [bad](javascript:x)",
      );
      await page.locator(".turn-end").waitFor();
      const answer = page.locator(".turn.is-assistant .turn-text");
      await answer.locator("strong", { hasText: "bold" }).waitFor();
      const links = await answer.locator("a").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
      expect(links).toEqual(["https://a.example/", "https://b.example/p.png"]);
      expect(await answer.locator("img").count()).toBe(0);
      await goTo(page, "Models");
      await page.goBack();
      await answer.locator("strong", { hasText: "bold" }).waitFor();
      await page.reload();
      await answer.locator("strong", { hasText: "bold" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await seeHeading(page, "Sign in");
      expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain("bold");
    }));

  test("attaches files, calls tools and compares two models", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground?model=gpt-5");
      const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
      await page
        .locator("input[type=file]")
        .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") });
      await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
      await send(page, "What is this?");
      await page.locator(".turn.is-user img").waitFor();
      await page.locator(".turn-end").getByText("total").waitFor();
      await page.getByRole("button", { name: "Clear chat" }).click();

      await page.getByText("More settings").click();
      const tools = page.getByLabel("Tools", { exact: true });
      await tools.fill("[{");
      await page.getByLabel("Your message").fill("x");
      expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
      await tools.fill('[{"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}]');
      await send(page, "Use get_time, please");
      await page.locator(".turn-call").getByText("get_time(").waitFor();
      await page.locator(".turn-end").waitFor();
      await page.getByPlaceholder("Result of get_time").waitFor();
      await send(page, "12:00");
      await page.locator(".turn.is-tool").getByText("12:00").waitFor();
      await page.locator(".turn.is-assistant").nth(1).locator(".turn-end").waitFor();
      await page.getByRole("button", { name: "Clear chat" }).click();
      await tools.fill("");

      await page.getByLabel("Compare with").selectOption("gpt-4o-mini");
      expect(page.url()).toContain("compare=gpt-4o-mini");
      await send(page, "Say hello");
      await page.locator(".turn-end").nth(1).waitFor();
      const answers = await page.locator(".turn.is-assistant .turn-text").allTextContents();
      expect(answers.map((text) => /gpt-[\w.-]+/.exec(text)?.[0])).toEqual(["gpt-5", "gpt-4o-mini"]);
      expect(await findViolations(page)).toEqual([]);
    }));

  test("charges a stopped stream for the output received", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground?model=gpt-5");
      const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
      await send(page, `[[fault:pace=150]]${words}`);
      const answer = page.locator(".turn.is-assistant .turn-text");
      await answer.getByText(/word3\b/).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped. The output so far is charged.").waitFor();
      const shown = (await answer.textContent()) ?? "";
      expect(shown).not.toContain("word59");
      const cells = page.getByRole("cell", { name: "stopped" });
      await goTo(page, "My account");
      await cells.first().waitFor();
      const call = store.latest();
      expect(call).toMatchObject({ state: "settled", status: 499, usage_source: "estimated", model: "famA-5" });
      expect(call?.charged_nanodollars).toBeGreaterThan(0);
      expect(call?.charged_nanodollars).toBe(call?.cost_nanodollars as number);
      // A chunk or two may have been in flight when it was stopped.
      const pieces = shown.split(" ").length;
      expect(call?.output_tokens).toBeGreaterThanOrEqual(pieces);
      expect(call?.output_tokens).toBeLessThan(60 * 2);
      expect(await dashboard.gateway.cli("ledger", "verify")).toMatchObject({ ok: true });
    }));

  test("generates an image and speech, and transcribes audio", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground");
      await page.getByRole("button", { name: "Images", exact: true }).click();
      await page.getByLabel("Prompt").fill("A lighthouse");
      await page.getByRole("button", { name: "Generate image" }).click();
      const picture = page.locator(".picture img");
      await picture.waitFor();
      expect(
        await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth)),
      ).toBeGreaterThan(0);
      await page.getByText(/total [\d.]+ m?s · sandbox$/).waitFor();
      expect(JSON.parse(await runShownCurl(page)).data).toHaveLength(1);

      await page.getByRole("button", { name: "Speech" }).click();
      await page.getByLabel("Text", { exact: true }).fill("Good evening");
      await page.getByRole("button", { name: "Generate speech" }).click();
      const player = page.locator("audio");
      await player.waitFor();
      await page.waitForFunction(() => (document.querySelector("audio")?.duration ?? 0) > 0);

      await page.getByRole("button", { name: "Transcription" }).click();
      const file = page.getByLabel("Audio file");
      await file.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no sound") });
      await page.getByText("notes.txt is not a supported audio file").waitFor();
      await file.setInputFiles({
        name: "speech.wav",
        mimeType: "audio/wav",
        buffer: Buffer.from(await wavFile(2000).bytes()),
      });
      await page.getByRole("button", { name: "Transcribe" }).click();
      await page.locator(".turn-text").getByText("[sandbox]").waitFor();
    }));

  test("uses a temporary key, which is revoked on sign-out", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/playground");
      await send(page, "Hello");
      await page.locator(".turn-end").waitFor();
      // Closing the page is no entry of the audit log: nobody has its key any more.
      const readAudit = async () => {
        const audit = await page.context().request.get(`${dashboard.gateway.origin}/dashboard/api/admin/audit`);
        const { data } = (await audit.json()) as { data: { action: string }[] };
        return data.map(({ action }) => action);
      };
      const audited = await readAudit();
      expect(audited[0]).toBe("key.create");
      await page.reload();
      await page.getByLabel("Your message").waitFor();
      expect(await readAudit()).toEqual(audited);
      await send(page, "Hello again");
      await page.locator(".turn-end").nth(1).waitFor();
      await goTo(page, "API keys");
      const row = page.getByRole("row", { name: /Playground.*active/ });
      const others = page.getByLabel("Show expired and revoked keys, and keys of the playground");
      await others.waitFor();
      expect(await page.getByRole("row", { name: /Playground/ }).count()).toBe(0);
      await others.check();
      await row.first().waitFor();
      const before = await row.count();
      await page.getByRole("button", { name: "Sign out" }).click();
      await seeHeading(page, "Sign in");
      await signIn(page, "owner@localhost", "/keys");
      await others.check();
      await page
        .getByRole("row", { name: /Playground.*revoked/ })
        .first()
        .waitFor();
      await seeCount(row, before - 1);
    }));
});
