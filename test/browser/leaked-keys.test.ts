import { describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

describe.skipIf(!hasChromium)("a leaked key", () => {
  const dashboard = useDashboard();
  let isPrepared = false;
  const prepare = async (page: Page) => {
    if (!isPrepared) {
      await signInFirst(page, dashboard.gateway);
      await createUser(dashboard, "ada@example.org");
      await page.getByRole("button", { name: "Sign out" }).click();
    }
    isPrepared = true;
  };
  const makeKey = async (name: string) => {
    const made = await dashboard.gateway.cli<{ id: string; key: string }>(
      ...(["key", "create", "--account", "ada@example.org", "--name", name] as const),
    );
    return { ...made, secret: made.key.split("-").at(-1) as string };
  };
  const call = async (key: string, address: string) => {
    const response = await fetch(`${dashboard.gateway.baseUrl}/models`, {
      headers: { authorization: `Bearer ${key}`, "x-forwarded-for": address, "user-agent": "OpenAI/Python 1.99" },
    });
    await response.text();
    return response.status;
  };
  /** Notes requests that have one of these texts anywhere. */
  const watch = (page: Page, secrets: readonly string[]) => {
    const leaks: string[] = [];
    const lookUps: string[] = [];
    page.on("request", (request) => {
      const sent = `${request.method()} ${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`;
      if (secrets.some((secret) => sent.includes(secret))) leaks.push(sent.slice(0, 300));
      if (request.url().endsWith("/credentials/lookup")) lookUps.push(request.postData() ?? "");
    });
    return { leaks, lookUps };
  };
  const paste = async (page: Page, text: string) => {
    await page.getByRole("button", { name: "Find a leaked key" }).click();
    await page.getByLabel("Text").fill(text);
    await page.getByRole("button", { name: "Find keys" }).click();
  };
  const seeBefore = async (upper: Locator, lower: Locator) => {
    const [above, below] = [await upper.boundingBox(), await lower.boundingBox()];
    expect(above?.y).toBeLessThan(below?.y ?? 0);
  };
  const isInPage = (page: Page, text: string) =>
    page.evaluate(
      (secret) =>
        document.documentElement.outerHTML.includes(secret) ||
        [...document.querySelectorAll("input, textarea")].some((field) =>
          (field as HTMLInputElement).value.includes(secret),
        ),
      text,
    );

  test("is found in any text, with its owner, its callers and whether it works, and no request has its secret", () =>
    dashboard.visit(async (page) => {
      await prepare(page);
      const [one, other] = [await makeKey("website"), await makeKey("worker")];
      expect(await call(one.key, "203.0.113.77")).toBe(200);
      await signIn(page, "owner@localhost", "/admin/api-keys");
      await seeHeading(page, "All API keys");
      const { leaks, lookUps } = watch(page, [one.secret, other.secret]);
      const encoded = encodeURIComponent(other.key).replaceAll("-", "%2D");
      await paste(page, `{"log": "GET /?key=${encoded}", "authorization": "Bearer ${one.key}"}\n`);
      const card = page.getByRole("region", { name: `sk-mg-${one.id}-…` });
      await card.getByText("secret works").waitFor();
      await card.getByText("whoever read it can use it").waitFor();
      await card.getByRole("link", { name: "ada@example.org" }).waitFor();
      await card.getByRole("row", { name: /203\.0\.113\.0\/24.*OpenAI\/Python/ }).waitFor();
      await page.getByRole("region", { name: `sk-mg-${other.id}-…` }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      expect(lookUps).toHaveLength(1);
      expect(lookUps[0]).toContain(one.id);
      expect(lookUps[0]).toMatch(/"sha256":"[0-9a-f]{64}"/);
      expect(await isInPage(page, one.secret)).toBe(false);
      await seeBefore(card.getByRole("button", { name: "Rotate…" }), card.getByRole("table"));
      await seeBefore(card.getByRole("button", { name: "Revoke…" }), card.getByRole("table"));
      await card.getByRole("button", { name: "Rotate…" }).click();
      await page.getByText("No mail server is set up, so tell ada@example.org yourself.").waitFor();
      await page.getByLabel("How long the old secret still works").selectOption("3600");
      await page.getByRole("button", { name: "Rotate", exact: true }).click();
      await page.getByRole("heading", { name: "API key rotated" }).waitFor();
      await page
        .getByText("“website” is rotated. No mail was sent, so tell ada@example.org yourself.", { exact: true })
        .waitFor();
      await page.getByRole("button", { name: "I've saved it" }).click();
      await card.getByText(/secret that was replaced .* It ends .* The key works with its new secret\./).waitFor();
      await card.getByText("No mail was sent, so tell ada@example.org yourself.").waitFor();
      await page.getByRole("button", { name: "Paste another text" }).click();
      await page.getByLabel("Text").fill(one.key);
      await page.getByRole("button", { name: "Find keys" }).click();
      await card.getByText(/secret that was replaced .* It ends .* The key works with its new secret\./).waitFor();
      await card.getByRole("button", { name: "Revoke…" }).click();
      await page.getByRole("button", { name: "Revoke", exact: true }).click();
      await card.getByText("It was revoked").waitFor();
      expect(await call(one.key, "203.0.113.77")).toBe(401);
      expect(leaks).toEqual([]);
    }));

  test("is found by its id alone where the browser computes no hash, as without TLS, and the page says so", () =>
    dashboard.visit(
      async (page) => {
        await page.addInitScript(() => Object.defineProperty(crypto, "subtle", { value: undefined }));
        await prepare(page);
        const { id, key, secret } = await makeKey("plain");
        await signIn(page, "owner@localhost", "/admin/api-keys");
        await seeHeading(page, "All API keys");
        const foreign = `sk-${"f0".repeat(24)}`;
        const { leaks, lookUps } = watch(page, [secret, foreign.slice(8)]);
        await paste(page, `key=${key}\nother=${foreign}`);
        const card = page.getByRole("region", { name: `sk-mg-${id}-…` });
        await card.getByText("secret unknown").waitFor();
        await page.getByText("the browser cannot compute a hash").waitFor();
        await page.getByText("1 key of another gateway in the text could not be looked up").waitFor();
        expect(lookUps).toEqual([JSON.stringify({ credentials: [{ type: "api_key", id }] })]);
        expect(leaks).toEqual([]);
        expect(await isInPage(page, secret)).toBe(false);
      },
      { ignoreHTTPSErrors: true },
    ));

  test("that is pasted into the search is looked up, without its secret in the address", () =>
    dashboard.visit(async (page) => {
      await prepare(page);
      const { id, key, secret } = await makeKey("searched");
      await signIn(page, "owner@localhost", "/admin/api-keys");
      const { leaks } = watch(page, [secret]);
      await page.getByLabel("Search keys").fill(key.replaceAll("-", "%2D"));
      await page.getByRole("button", { name: "Find keys" }).click();
      await page.getByRole("region", { name: `sk-mg-${id}-…` }).waitFor();
      expect(new URL(page.url()).searchParams.get("search")).toBe(id);
      expect(leaks).toEqual([]);
    }));

  test("is found by the holder of its account, who sees its callers, and none of another account is", () =>
    dashboard.visit(async (page) => {
      await prepare(page);
      const { id, key } = await makeKey("mine");
      expect(await call(key, "2001:db8:5::1")).toBe(200);
      const others = await dashboard.gateway.cli<{ id: string; key: string }>(
        ...(["key", "create", "--account", "owner@localhost", "--name", "theirs"] as const),
      );
      await signIn(page, "ada@example.org", "/keys");
      await seeHeading(page, "API keys");
      await paste(page, `${key} ${others.key}`);
      await page
        .getByRole("region", { name: `sk-mg-${id}-…` })
        .getByText("secret works")
        .waitFor();
      await page.getByText("no key of this account.").waitFor();
      await page.getByRole("button", { name: "Close" }).first().click();
      await page.getByRole("button", { name: /callers of mine$/ }).click();
      await page
        .getByRole("dialog")
        .getByRole("row", { name: /2001:db8:5::\/48.*OpenAI\/Python/ })
        .waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("is among a thousand of an account, which are shown fifty at a time, with a search and an order", () =>
    dashboard.visit(async (page) => {
      await prepare(page);
      await signIn(page, "ada@example.org", "/keys");
      await seeHeading(page, "API keys");
      const statuses = await page.evaluate(async () => {
        const names = Array.from({ length: 55 }, (_, place) => `many-${String(place).padStart(2, "0")}`);
        const answers = [];
        for (const name of names) {
          const headers = { "content-type": "application/json" };
          const made = await fetch("/dashboard/api/keys", { method: "POST", headers, body: JSON.stringify({ name }) });
          answers.push(made.status);
        }
        return answers;
      });
      expect(statuses).toEqual(statuses.map(() => 200));
      await page.reload();
      const rows = page.getByRole("region", { name: "Your API keys" }).locator("tbody tr");
      await page.getByRole("row", { name: /many-54/ }).waitFor();
      await seeCount(rows, 50);
      await page.getByLabel("Order").selectOption("name");
      await page.getByRole("row", { name: /many-00/ }).waitFor();
      await page.getByRole("button", { name: "Next" }).click();
      await page
        .getByRole("row", { name: /many-5\d/ })
        .first()
        .waitFor();
      await page.getByLabel("Search these keys").fill("many-07");
      await page.getByRole("row", { name: /many-07/ }).waitFor();
      await seeCount(rows, 1);
    }));
});
