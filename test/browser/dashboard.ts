import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser, BrowserContextOptions, Cookie, Download, Page } from "playwright-core";
import {
  firstPassword,
  type Gateway,
  ownerEmail,
  ownerPassword,
  replaceFirstPassword,
  startGateway,
} from "../support/gateway.ts";
import { until } from "../support/until.ts";
import { openBrowser, openTab, type WatchedTab } from "./chromium.ts";

export const ownPassword = ownerPassword;

/** A gateway in sandbox mode and a browser, for the tests of one file. */
export interface Dashboard {
  gateway: Gateway;
  browser: Browser;
  /** Opens a tab, runs the test in it, and expects no problems. */
  visit(work: (page: Page, tab: WatchedTab) => Promise<void>, options?: BrowserContextOptions): Promise<void>;
}

/** Starts both before the tests of the calling `describe` and stops them afterwards; the members are set when tests run. */
export function useDashboard(env: Record<string, string> = {}): Dashboard {
  const shared = {} as Dashboard;
  let cleared: WatchedTab | undefined;
  beforeAll(async () => {
    shared.gateway = await startGateway({ env: { SANDBOX: "on", ...env }, isOwnerSignedIn: true });
    shared.browser = await openBrowser();
    let visits = 0;
    shared.visit = async (work, options = {}) => {
      visits += 1;
      const { viewport, colorScheme, ...others } = options;
      // A visit in the tab of the last one takes a quarter of the CPU: what the browser has compiled is still there.
      const isLikeOthers = Object.keys(others).length === 0;
      const last = isLikeOthers ? cleared : undefined;
      if (last !== undefined) cleared = undefined;
      const tab = last ?? (await openTab(shared.browser, shared.gateway.origin, isLikeOthers ? {} : options));
      try {
        // One client address per visit, because sign-in attempts are rate-limited by address.
        await tab.context.setExtraHTTPHeaders({ "x-forwarded-for": `192.0.2.${visits}` });
        if (isLikeOthers && viewport) await tab.page.setViewportSize(viewport);
        if (isLikeOthers && colorScheme) await tab.page.emulateMedia({ colorScheme });
        await work(tab.page, tab);
        if (tab.problems.length > 0) throw new Error(`In the browser: ${tab.problems.join("\n")}`);
        if (!isLikeOthers || cleared !== undefined) return;
        await tab.clear();
        cleared = tab;
      } finally {
        if (tab !== cleared) await tab.close();
      }
    };
  });
  afterAll(async () => {
    await cleared?.close();
    await shared.gateway?.stop();
  });
  return shared;
}

/** Creates an account that signs in with this email and `ownPassword`. */
export async function createUser({ gateway }: Dashboard, email: string): Promise<string> {
  const { id } = await gateway.cli<{ id: string }>("account", "create", "--email", email);
  const { token } = await gateway.cli<{ token: string }>("account", "invite", id);
  const response = await fetch(`${gateway.origin}/dashboard/api/invitations/accept`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, password: ownPassword }),
  });
  if (!response.ok) throw new Error(`The invitation was refused: ${await response.text()}`);
  return id;
}

/** Creates an administrator who signs in with this email and `ownPassword`. */
export async function createAdmin(dashboard: Dashboard, email: string): Promise<void> {
  await dashboard.gateway.cli("account", "set", await createUser(dashboard, email), "--role", "admin");
}

/** Creates an account with $20 and the key `app`; `ask` sends a chat with it. */
export async function createCaller(dashboard: Dashboard, email: string) {
  const { gateway } = dashboard;
  const id = await createUser(dashboard, email);
  await gateway.cli("wallet", "credit", "--account", email, "--usd", "20", "--note", "test");
  const { key } = await gateway.cli<{ key: string }>("key", "create", "--account", email, "--name", "app");
  const ask = (fields: object = {}, headers: Record<string, string> = {}): Promise<Response> => {
    const body = { model: "gpt-4.1", messages: [{ role: "user", content: "Hi" }], ...fields };
    return gateway.post("/chat/completions", body, { ...headers, authorization: `Bearer ${key}` });
  };
  return { id, ask };
}

export async function fillSignIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Cookies of the sessions that were begun, by email. */
const sessions = new Map<string, Cookie[]>();

/**
 * Signs in and opens a page, by default the first one: by the form, or by a session of an earlier test of the file that has not
 * ended.
 */
export async function signIn(page: Page, email: string, path = "/"): Promise<void> {
  const context = page.context();
  const cookies = sessions.get(email);
  if (cookies !== undefined) await context.addCookies(cookies);
  await page.goto(path);
  const signedIn = path === "/" ? firstPage(page) : page.locator("#content");
  if (cookies !== undefined) {
    const form = page.getByRole("button", { name: "Sign in", exact: true });
    await form.or(signedIn).first().waitFor();
    if (!(await form.isVisible())) return;
  }
  await fillSignIn(page, email, ownPassword);
  await signedIn.waitFor();
  sessions.set(email, await context.cookies());
}

export function seeHeading(page: Page, name: string): Promise<void> {
  return page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Opens the log of so many requests. A refusal is written a second after it, and a page has what was there when it was opened. */
export async function openRequests(page: Page, count: number): Promise<void> {
  await until(async () => {
    await page.goto("/requests");
    const rows = page.locator("main tbody tr");
    await rows.first().waitFor();
    return (await rows.count()) === count;
  });
}

/** Waits for where somebody lands: operators on the home page of the gateway, members on the overview of their account. */
export function seeFirstPage(page: Page): Promise<void> {
  return firstPage(page).waitFor();
}

const firstPage = (page: Page) => page.getByRole("heading", { level: 1, name: /^(Home|Overview)$/ });

/** The text of a file that the page had the browser save; the browser's own folder is another process's. */
export async function downloadedText(download: Download): Promise<string> {
  return await new Response((await download.createReadStream()) as never).text();
}

/** Signs in as the owner for the first time and changes the password, without the forms and their page loads. */
export async function signInFirst(page: Page, gateway: Gateway): Promise<void> {
  const context = page.context();
  const session = gateway.ownerSession ?? (await replaceFirstPassword(gateway));
  const at = session.indexOf("=");
  await context.addCookies([{ name: session.slice(0, at), value: session.slice(at + 1), url: gateway.origin }]);
  sessions.set(ownerEmail, await context.cookies());
  await page.goto("/");
  await seeFirstPage(page);
}

/** Signs in with the generated password, and loads the page again before it is replaced. */
export async function interruptFirstSignIn(page: Page, gateway: Gateway): Promise<void> {
  await page.goto("/");
  await fillSignIn(page, ownerEmail, firstPassword(gateway));
  await seeHeading(page, "Choose a new password");
  await page.reload();
}

/** Does the same as a person does it. */
export async function signInFirstByForm(page: Page, gateway: Gateway): Promise<void> {
  await page.goto("/");
  await fillSignIn(page, ownerEmail, firstPassword(gateway));
  await seeHeading(page, "Choose a new password");
  // It was typed a moment ago.
  expect(await page.getByLabel("Current password").count()).toBe(0);
  await page.getByLabel("New password").fill(ownPassword);
  await page.getByRole("button", { name: "Change password" }).click();
  await seeFirstPage(page);
}

/** The link of the navigation behind which a page is a tab. */
const linkOf: Readonly<Record<string, string>> = {
  Sessions: "Requests",
  "Live calls": "Requests",
  "My account": "Usage",
  "My usage": "Usage",
  "Models and prices": "Models",
  Status: "Providers",
  "All API keys": "API keys",
  "Admin keys": "API keys",
  Vouchers: "Billing",
  "Budgets and limits": "Accounts",
  Groups: "Accounts",
  "My team": "Accounts",
  Configuration: "Settings",
  "Audit log": "Settings",
};

/** Opens a page by the navigation, and by its tab where it is one. */
export async function goTo(page: Page, name: string): Promise<void> {
  const link = linkOf[name];
  const open = (within: string, text: string) =>
    page
      .locator(within)
      .getByRole("link", { name: text, exact: link !== undefined || text !== "Providers" })
      .click();
  await open(".nav", link ?? name);
  if (link !== undefined) await open(".tabs", name);
}

/** Shows another page of the dashboard as its links do, in the document that is there: to load one anew takes four times as much. */
export async function show(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => history.pushState(null, "", path), path);
  await page.locator("main h1").waitFor();
}

/** Every page of the navigation, with its tabs, each once: by its path, the path of its link. */
export async function listPages(page: Page): Promise<Map<string, string>> {
  const hrefs = (selector: string) =>
    page.locator(selector).evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
  const pages = new Map<string, string>();
  await page.locator(".side .nav a").first().waitFor({ state: "attached" });
  for (const link of new Set(await hrefs(".side .nav a"))) {
    await show(page, link);
    for (const path of [link, ...(await hrefs(".tabs a"))]) if (!pages.has(path)) pages.set(path, link);
  }
  return pages;
}
