import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { hasChromium, openBrowser } from "./chromium.ts";

/** Serves a page on another origin that uses the official client. */
async function servePage() {
  const entry = join(import.meta.dir, "page-elsewhere.ts");
  const { outputs } = await Bun.build({ entrypoints: [entry], target: "browser", format: "esm" });
  const script = await outputs[0]?.text();
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === "/script.js"
        ? new Response(script, { headers: { "content-type": "text/javascript" } })
        : new Response('<!doctype html><script type="module" src="/script.js"></script>', {
            headers: { "content-type": "text/html" },
          }),
  });
}

describe.skipIf(!hasChromium)("the official client in a page of another origin", () => {
  let server: Awaited<ReturnType<typeof servePage>>;
  let browser: Browser;
  const gateways: Gateway[] = [];
  beforeAll(async () => {
    server = await servePage();
    browser = await openBrowser();
    for (const CORS_ORIGINS of [server.url.origin, "https://another.example"]) {
      gateways.push(await startGateway({ env: { SANDBOX: "on", CORS_ORIGINS } }));
    }
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    await server?.stop(true);
  });

  /** The results of a call, a stream and an error, as the page sees them. */
  async function callFrom(gateway: Gateway | undefined): Promise<unknown> {
    const page: Page = await browser.newPage();
    await page.goto(server.url.href);
    await page.waitForFunction(() => "callGateway" in globalThis);
    const given = { baseURL: gateway?.baseUrl, apiKey: gateway?.key };
    const seen = await page.evaluate((options) => (globalThis as never as CallGateway).callGateway(options), given);
    await page.close();
    return seen;
  }

  test("calls, streams, and reads headers and errors if its origin is allowed", async () => {
    const text = expect.stringContaining("Hello");
    const requestId = expect.stringMatching(/^req_/);
    expect(await callFrom(gateways[0])).toEqual({ whole: text, stream: text, requestId, refusal: 400 });
  });

  test("is blocked by the browser if it is not", async () => {
    expect(await callFrom(gateways[1])).toEqual({ failure: "Connection error." });
  });
});

interface CallGateway {
  callGateway(options: object): Promise<unknown>;
}
