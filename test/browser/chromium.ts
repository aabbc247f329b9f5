import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type axe from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Paths on Debian: the browser without its windows takes a third less CPU for the same pages, and is preferred. */
const installed = ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env.CHROMIUM ?? installed.find((path) => existsSync(path));

/** Without Chromium these tests are skipped with a message. */
export const hasChromium = executablePath !== undefined && existsSync(executablePath);
if (!hasChromium) {
  const places = executablePath ?? installed.join(" or ");
  console.log(`Skipped: no browser at ${places} (apt-get install chromium-headless-shell, or set CHROMIUM)`);
}

const quiet = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // No page of a test lives for long enough that optimized code would earn what its compilation takes, a quarter of the CPU.
  "--js-flags=--no-opt --no-maglev",
];

const launch = { ...(executablePath !== undefined && { executablePath }), args: quiet, headless: true };

let browser: Promise<Browser> | undefined;

/**
 * The browser of this process, which all of its files share and which ends with it. One that several processes shared would have
 * each message between them and it read and written twice more.
 */
export function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch(launch);
  return browser;
}

/** It is read anew in each document, so in its shorter form, which has less than half of the length. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run(options: axe.RunOptions): Promise<{ violations: axe.Result[] }>;
}

/** A tab that records its problems. */
export interface WatchedTab {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors (CSP violations included) and requests to other hosts. HTTP error statuses are not counted: the page shows them. */
  readonly problems: readonly string[];
  /** Drops the problems that a test made itself. */
  forgive(pattern: RegExp): void;
  /** Makes the tab as it was when it was opened: its only page, no cookies, nothing stored, no routes. The HTTP cache stays. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

const viewport = { width: 1280, height: 900 };
/** How long a click or a wait may take: only a hang ends there, also on a slow machine. */
const waitMsMax = 120_000;

/** Opens a tab in its own context, restricted to this origin and without animations. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedTab> {
  const context = await browser.newContext({ baseURL: origin, viewport, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(waitMsMax);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    const isStatus = message.text().startsWith("Failed to load resource: the server responded with a status");
    if (["error", "warning"].includes(message.type()) && !isStatus) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(`thrown: ${error.message}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) problems.push(`left the host: ${url}`);
  });
  // Requests still running at the end of a test must not fail it.
  const unroute = async () => {
    for (const each of context.pages()) await each.unrouteAll({ behavior: "ignoreErrors" });
  };
  const close = async () => {
    await unroute();
    await context.close();
  };
  const clear = async () => {
    await unroute();
    for (const other of context.pages()) if (other !== page) await other.close();
    page.removeAllListeners("dialog");
    await context.setOffline(false);
    await page.emulateMedia({ colorScheme: options.colorScheme ?? null });
    await page.setViewportSize(options.viewport ?? viewport);
    // A page of this origin, so that its storage can be reached, and one that stores nothing again.
    await page.goto(`${origin}/healthz`);
    await page.evaluate(() => {
      localStorage.clear();
      sessionStorage.clear();
    });
    await context.clearCookies();
    problems.length = 0;
  };
  const forgive = (pattern: RegExp) => {
    const others = problems.filter((problem) => !pattern.test(problem));
    problems.splice(0, problems.length, ...others);
  };
  return { context, page, problems, forgive, clear, close };
}

/** Violations that axe rates moderate or worse, as `rule: target`; by all rules, or the given ones. */
export async function findViolations(page: Page, rules?: string[]): Promise<string[]> {
  // Injected through the debugger protocol, which bypasses the CSP of the page.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  // Most findings are passes, and nobody reads them. Style sheets are read by a rule alone that is an experiment, and off.
  const options = {
    resultTypes: ["violations" as const],
    preload: { assets: ["media"] },
    ...(rules !== undefined && { runOnly: rules }),
  };
  const violations = await page.evaluate(
    async (options) => (await (globalThis as unknown as { axe: Axe }).axe.run(options)).violations,
    options,
  );
  return violations
    .filter(({ impact }) => impact !== "minor")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`));
}
