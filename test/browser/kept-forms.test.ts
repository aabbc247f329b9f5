import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { resources } from "../../src/http/resources/index.ts";
import { hasChromium } from "./chromium.ts";
import { show, signInFirst, useDashboard } from "./dashboard.ts";

/** A dialog that creates something: its page, the button that opens it, and its title. */
interface Creation {
  readonly path: string;
  readonly button: string;
  readonly title: string;
}

const creations: readonly Creation[] = [
  { path: "/admin/catalogue", button: "Add model", title: "Add model" },
  { path: "/admin/catalogue?part=virtual", button: "Add virtual model", title: "Add virtual model" },
  { path: "/admin/catalogue?part=unlisted", button: "Sell unlisted models", title: "Sell unlisted models" },
  { path: "/admin/accounts", button: "New account", title: "New account" },
  { path: "/admin/accounts", button: "New team", title: "New team" },
  { path: "/admin/accounts", button: "Invite people", title: "Invite people" },
  { path: "/admin/keys", button: "Create admin key", title: "Create admin key" },
  { path: "/keys", button: "Create API key", title: "Create API key" },
  { path: "/admin/budgets", button: "Budget for everybody", title: "New budget for everybody" },
  { path: "/admin/budgets", button: "Limit a model", title: "Limit a model" },
  { path: "/admin/groups", button: "Add a group", title: "Add a group" },
  { path: "/admin/providers", button: "Add provider", title: "Add provider" },
  { path: "/admin/alerts?tab=channels", button: "Add channel", title: "New channel" },
  { path: "/admin/alerts?tab=rules", button: "Add rule", title: "New rule" },
  { path: "/admin/vouchers", button: "New voucher", title: "New voucher" },
  { path: "/team", button: "Create team", title: "Create team" },
];

/** Dialogs that create something and are not opened here. */
const elsewhere: Readonly<Record<string, string>> = {
  "New budget": "the form of the budget for everybody",
  "Add a policy": "the form of a declaration, as that of a limit",
  "Invite to team": "only people of a team see it",
  "Save view": "nothing is sent: views are kept in the browser",
};

/** Titles of the dialogs in the source of the dashboard that create something. */
function readTitles(): Set<string> {
  const titles = new Set<string>();
  const folders = [join(import.meta.dir, "../../src/dashboard"), join(import.meta.dir, "../../src/modules")];
  for (const cwd of folders) {
    for (const file of new Bun.Glob("**/*.tsx").scanSync({ cwd })) {
      const source = readFileSync(join(cwd, file), "utf8");
      for (const [, tag = ""] of source.matchAll(/<(?:Form|Name|Resource)?Dialog\s([^<]*)/g)) {
        const title = /title=(?:"[^"]*"|\{[^\n]*\}\n)/.exec(tag)?.[0] ?? "";
        for (const [, text = ""] of title.matchAll(/"((?:Add|Create|Invite|Limit|New|Save|Sell) [^"]*)"/g))
          titles.add(text);
      }
    }
  }
  // What has no page of its own has a form by its declaration.
  for (const { visit } of resources) {
    const add = visit(({ section = {} }) => (section === "own" ? undefined : section.add));
    if (add !== undefined) titles.add(add);
  }
  return titles;
}

/** Fills in each control of a dialog that is empty, as far as its kind says how. */
async function fillAll(dialog: Locator): Promise<void> {
  const controls = dialog.locator(
    "input:visible:not([type=checkbox], [type=file], [type=radio]), select:visible, textarea:visible",
  );
  // A choice may bring further fields.
  for (let index = 0; index < (await controls.count()); index++) {
    const control = controls.nth(index);
    const [kind, value] = await control.evaluate((element) => {
      const { type, inputMode, value } = element as HTMLInputElement;
      return [element.localName === "input" && inputMode !== "" ? inputMode : type, value];
    });
    if (await control.isDisabled()) continue;
    if (kind === "select-one") {
      const options = await control
        .locator("option:not([disabled])")
        .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
      if (value === "" || value === "none") await control.selectOption(options.at(-1) ?? "");
    } else if (value === "") await control.fill(textOf(kind ?? "", index));
  }
}

function textOf(kind: string, index: number): string {
  if (kind === "date") return "2037-01-05";
  if (kind === "datetime-local") return "2037-01-05T10:00";
  if (kind === "numeric" || kind === "decimal" || kind === "number") return "7";
  if (kind === "email" || kind === "textarea") return `kept-${index}@example.org`;
  return `kept-${index}`;
}

const valuesOf = (dialog: Locator) =>
  dialog.locator("input, select, textarea").evaluateAll((all) =>
    all.map((one) => {
      const { type, value, checked } = one as HTMLInputElement;
      return type === "checkbox" || type === "radio" ? checked : value;
    }),
  );

/** Answers all that the page writes with a conflict. */
async function refuseWrites(page: Page): Promise<void> {
  await page.route("**/*", async (route) => {
    if (route.request().method() === "GET") return await route.fallback();
    const error = { message: "There is one of this name already", type: "invalid_request_error", code: "conflict" };
    return await route.fulfill({ status: 409, json: { error: { ...error, param: "name" } } });
  });
}

describe("dialogs of the dashboard that create something", () => {
  test("are all listed here", () => {
    const listed = [...creations.map(({ title }) => title), ...Object.keys(elsewhere)];
    expect([...readTitles()].sort()).toEqual(listed.sort());
  });
});

describe.skipIf(!hasChromium)("a dialog whose request is answered with a conflict", () => {
  const dashboard = useDashboard();

  test("stays open, says why, and keeps all that was typed", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      await refuseWrites(page);
      let present = "";
      for (const { path, button, title } of creations) {
        if (path !== present) await show(page, path);
        present = path;
        await page.getByRole("button", { name: button, exact: true }).first().click();
        const dialog = page.getByRole("dialog", { name: title });
        await dialog.waitFor();
        await fillAll(dialog);
        const typed = await valuesOf(dialog);
        expect([title, typed.some((value) => String(value).includes("7") || String(value).startsWith("kept"))]).toEqual(
          [title, true],
        );
        await dialog.locator("button[type=submit]").click();
        await dialog.getByText("There is one of this name already").first().waitFor();
        expect([title, await valuesOf(dialog)]).toEqual([title, typed]);
        await dialog.getByRole("button", { name: "Cancel" }).click();
      }
    }));
});
