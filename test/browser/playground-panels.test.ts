import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { wavFile } from "../support/wav.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount, seeTexts } from "./seen.ts";

/** A PNG file of one pixel, in base64. */
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const phone = { width: 390, height: 844 };

describe.skipIf(!hasChromium)("a panel of the playground", () => {
  const dashboard = useDashboard();
  beforeAll(async () => {
    await fillWallet(dashboard.gateway);
    await dashboard.visit((page) => signInFirst(page, dashboard.gateway));
  });

  /** Opens the playground at a panel as the owner, who has money. */
  async function open(page: Page, panel: string): Promise<void> {
    await signIn(page, "owner@localhost", "/playground");
    await page.getByRole("group", { name: "Capability" }).getByRole("button", { name: panel, exact: true }).click();
  }

  /** Waits for the line below a result that says what the call cost. */
  function seeCost(page: Page): Promise<void> {
    return page.getByText(/(charged|free quota) · total [\d.]+ m?s · sandbox$/).waitFor();
  }

  /** Whether nothing of the page is wider than the window. */
  function fitsWindow(page: Page): Promise<boolean> {
    return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
  }

  test("ranks documents by a query, the most relevant first, and as many as wanted", () =>
    dashboard.visit(async (page) => {
      await open(page, "Rerank");
      const rank = page.getByRole("button", { name: "Rank documents" });
      await page.getByLabel("Query").fill("blue sky");
      expect(await rank.isDisabled()).toBe(true);
      await page.getByLabel("Documents", { exact: true }).fill("Grass is green\n\nThe sky is blue\nBlue paint");
      await page.getByText("One per line; 3 so far").waitFor();
      await rank.click();
      const rows = page.getByRole("list", { name: "Documents by relevance" }).getByRole("listitem");
      await seeTexts(rows, ["The sky is blue 1.000", "Blue paint 0.500", "Grass is green 0.000"]);
      await seeCost(page);
      await page.getByLabel("Results").fill("1");
      await rank.click();
      await rows.nth(1).waitFor({ state: "detached" });
      await seeCount(rows, 1);
      await page.getByRole("button", { name: "Show as curl" }).click();
      expect(await page.locator(".code pre").textContent()).toContain('"top_n": 1');
      expect(await findViolations(page)).toEqual([]);
    }));

  test("shows which categories of a moderated text are flagged, with all scores, on a phone as well", () =>
    dashboard.visit(
      async (page) => {
        await open(page, "Moderation");
        await page.getByLabel("Text", { exact: true }).fill("I like trees");
        await page.getByRole("button", { name: "Check text" }).click();
        await page.getByText("Not flagged", { exact: true }).waitFor();
        await page.getByLabel("Text", { exact: true }).fill("This names violence");
        await page.getByRole("button", { name: "Check text" }).click();
        await page.getByText("Flagged", { exact: true }).waitFor();
        const rows = page.getByRole("list", { name: "Categories" }).getByRole("listitem");
        const texts = (await rows.allInnerTexts()).map((row) => row.replaceAll(/\s+/g, " "));
        expect(texts.slice(0, 3)).toEqual([
          "violence flagged 0.900",
          "violence/graphic flagged 0.900",
          "harassment 0.010",
        ]);
        await seeCost(page);
        expect(await fitsWindow(page)).toBe(true);
        expect(await findViolations(page)).toEqual([]);
      },
      { viewport: phone, colorScheme: "dark" },
    ));

  test("translates audio into English, by the models that can", () =>
    dashboard.visit(
      async (page) => {
        await open(page, "Transcription");
        await page.getByRole("button", { name: "Model and settings" }).click();
        const models = page.getByLabel("Model", { exact: true });
        const transcribers = await models.locator("option").count();
        await page.getByLabel("Task").selectOption("translate");
        const translators = await models.locator("option").evaluateAll((all) => all.map((each) => each.textContent));
        expect(translators).toContain("whisper-large-v3");
        expect(translators).not.toContain("gpt-transcribe");
        expect(translators.length).toBeLessThan(transcribers);
        expect(await page.getByLabel("Language").count()).toBe(0);
        await page.getByLabel("Audio file").setInputFiles({
          name: "speech.wav",
          mimeType: "audio/wav",
          buffer: Buffer.from(await wavFile(2000).bytes()),
        });
        const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/audio/"));
        await page.getByRole("button", { name: "Translate" }).click();
        expect((await sent).url()).toBe(`${dashboard.gateway.origin}/v1/audio/translations`);
        await page.getByText("[sandbox] Transcript of speech.wav").waitFor();
        await seeCost(page);
        expect(await fitsWindow(page)).toBe(true);
        expect(await findViolations(page)).toEqual([]);
        await page.getByLabel("Task").selectOption("Transcribe");
        await page.getByText("No transcript yet").waitFor();
        await seeCount(models.locator("option"), transcribers);
      },
      { viewport: phone },
    ));

  test("edits an image by a prompt, once a file of an image is chosen", () =>
    dashboard.visit(
      async (page) => {
        await open(page, "Images");
        await page.getByLabel("Task").selectOption("edit");
        await page.getByLabel("Size").selectOption("512x512");
        const edit = page.getByRole("button", { name: "Edit image" });
        await page.getByLabel("Prompt").fill("The same at night");
        expect(await edit.isDisabled()).toBe(true);
        const file = page.getByLabel("Image to edit");
        await file.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no image") });
        await page.getByText("notes.txt is not a supported image file").waitFor();
        expect(await edit.isDisabled()).toBe(true);
        await file.setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(dot, "base64") });
        const sent = page.waitForRequest((request) => request.url().includes("/images/"));
        await edit.click();
        expect((await sent).url()).toBe(`${dashboard.gateway.origin}/v1/images/edits`);
        await page.getByRole("img", { name: "[sandbox] The same at night" }).waitFor();
        await seeCost(page);
        expect(await findViolations(page)).toEqual([]);
      },
      { colorScheme: "dark" },
    ));

  test("answers typed questions about a text with probabilities, by the chat models that hold to a schema", () =>
    dashboard.visit(
      async (page) => {
        await open(page, "Decisions");
        const ask = page.getByRole("button", { name: "Get answers" });
        await page.getByLabel("Input").fill("The parcel came two weeks late.");
        await page.getByRole("textbox", { name: "Question 1" }).fill("Is this a complaint?");
        await page.getByRole("button", { name: "Add question" }).click();
        const second = page.getByRole("group", { name: "Question 2" });
        await second.getByRole("textbox", { name: "Question 2" }).fill("Who takes care of it?");
        await second.getByLabel("Answer").selectOption("choice");
        await second.getByLabel("Choices").fill("Sales\nSales");
        await second.getByText("Each line must be different").waitFor();
        expect(await ask.isDisabled()).toBe(true);
        await second.getByLabel("Choices").fill("Sales\nShipping");
        await ask.click();
        const rows = page.getByRole("list", { name: "Probabilities: Who takes care of it?" }).getByRole("listitem");
        await seeTexts(rows, ["Sales chosen 0.500", "Shipping 0.500"]);
        const first = page.getByRole("list", { name: "Probabilities: Is this a complaint?" }).getByRole("listitem");
        await seeTexts(first, ["Yes 0.500"]);
        await seeCost(page);
        expect(await fitsWindow(page)).toBe(true);
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("button", { name: "Remove question 2" }).click();
        expect(await second.count()).toBe(0);
      },
      { viewport: phone },
    ));
});
