import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's; on a machine without it these tests say so and are skipped. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const hasChromium = existsSync(executablePath);
if (!hasChromium) console.log(`Skipped: no browser at ${executablePath} (apt-get install chromium, or set CHROMIUM)`);

const quiet = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: quiet, headless: true });
}

interface Axe {
  run(options: axe.RunOptions): Promise<{ violations: axe.Result[] }>;
}

/** A tab that keeps what went wrong in it. */
export interface Watched {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the console, breaches of the policy among them, and requests to any other host. Statuses that are told to the person are no errors. */
  readonly readinessProblems: readonly string[];
  close(): Promise<void>;
}

/** Opens a tab of a browser of its own, which goes to this origin alone. Nothing moves in it, so that what is looked at stands. */
export async function openTab(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const viewport = { width: 1280, height: 900 };
  const context = await browser.newContext({ baseURL: origin, viewport, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const readinessProblems: string[] = [];
  page.on("console", (message) => {
    const isStatus = message.text().startsWith("Failed to load resource: the server responded with a status");
    if (["error", "warning"].includes(message.type()) && !isStatus) readinessProblems.push(message.text());
  });
  page.on("pageerror", (error) => readinessProblems.push(`thrown: ${error.message}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) readinessProblems.push(`left the host: ${url}`);
  });
  const close = async () => {
    // What a page still asks for when its test is over is nobody's failure.
    for (const each of context.pages()) await each.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };
  return { context, page, readinessProblems, close };
}

/** What axe finds that is serious or worse, as `rule: where`; by all of its rules, or by these. */
export async function seriousFaults(page: Page, rules?: string[]): Promise<string[]> {
  // By the debugger's protocol, which the page's policy does not bind.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (options) => (globalThis as unknown as { axe: Axe }).axe.run(options),
    rules === undefined ? {} : { runOnly: rules },
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`));
}
