import { afterAll, beforeAll } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type Gateway, hookMsMax, startGateway } from "../support/gateway.ts";
import { openBrowser, openTab, type Watched } from "./chromium.ts";

/** What a test in a browser may take, also on a machine that has other work. */
export const testMsMax = 90_000;
export const ownPassword = "correct horse battery";

/** A gateway in sandbox mode and a browser, for the tests of one file. */
export interface Dashboard {
  gateway: Gateway;
  browser: Browser;
  /** Opens a tab, lets the test at it, and expects that nothing went wrong in it. */
  visit(work: (page: Page, tab: Watched) => Promise<void>, options?: BrowserContextOptions): Promise<void>;
}

/** Starts both before the tests of the calling `describe`, and ends them after; its members are there once tests run. */
export function useDashboard(env: Record<string, string> = {}): Dashboard {
  const shared = {} as Dashboard;
  beforeAll(async () => {
    shared.gateway = await startGateway({ env: { SANDBOX: "on", ...env } });
    shared.browser = await openBrowser();
    let visits = 0;
    shared.visit = async (work, options) => {
      visits += 1;
      // As if each came from a machine of its own: attempts to sign in are bounded by machine and minute.
      const extraHTTPHeaders = { "x-forwarded-for": `192.0.2.${visits}` };
      const tab = await openTab(shared.browser, shared.gateway.origin, { extraHTTPHeaders, ...options });
      try {
        await work(tab.page, tab);
        if (tab.readinessProblems.length > 0) throw new Error(`In the browser: ${tab.readinessProblems.join("\n")}`);
      } finally {
        await tab.close();
      }
    };
  }, hookMsMax);
  afterAll(async () => {
    await shared.browser?.close();
    await shared.gateway?.stop();
  }, hookMsMax);
  return shared;
}

/** The password that the first start printed. */
function firstPassword({ stdout }: Gateway): string {
  const [, password] = /Sign in {2,}\S+ with (\S+)/.exec(stdout()) ?? [];
  if (password === undefined) throw new Error(`The start printed no password:\n${stdout()}`);
  return password;
}

/** Makes an account with a password of its own; its e-mail is what it signs in with. */
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

export async function fillSignIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Signs in and waits for the overview. */
export async function signIn(page: Page, email: string): Promise<void> {
  await page.goto("/");
  await fillSignIn(page, email, ownPassword);
  await seeHeading(page, "Overview");
}

export function seeHeading(page: Page, name: string): Promise<void> {
  return page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Signs in as the owner for the first time, and changes the password. */
export async function enterFirst(page: Page, gateway: Gateway): Promise<void> {
  await page.goto("/");
  await fillSignIn(page, "owner@localhost", firstPassword(gateway));
  await seeHeading(page, "Choose your own password");
  await page.getByLabel("Current password").fill(firstPassword(gateway));
  await page.getByLabel("New password").fill(ownPassword);
  await page.getByRole("button", { name: "Change password" }).click();
  await seeHeading(page, "Overview");
}
