import { describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { readConfig } from "../../../src/config/index.ts";
import { helpPages } from "../../../src/dashboard/features/help/pages.ts";
import { openSite } from "../../../src/dashboard/open-site.bun.ts";
import { pagePaths } from "../../../src/http/lifecycle/static-assets.ts";
import { expectError } from "../../support/expect-error.ts";
import { httpOf } from "../../unit/http/support.ts";

/** What a page may load before anything is seen of it, compressed. */
const firstLoadBytesMax = 120_000;

const site = openSite();
const { app } = httpOf(undefined, { site });
const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  app.handle(new Request(new URL(path, "http://gateway.example"), { headers, method }));

async function linksOf(path: string): Promise<string[]> {
  const page = await (await get(path)).text();
  return [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link as string);
}

describe("the dashboard", () => {
  test("serves the same page at each of its paths", async () => {
    const page = await (await get("/")).text();
    expect(page).toContain('<div id="root">');
    for (const path of pagePaths) {
      const response = await get(path.replace("*", "accounts/acc_1"));
      expect([path, response.status]).toEqual([path, 200]);
      expect(await response.text()).toBe(page);
    }
  });

  test("does not shadow the API", async () => {
    await expectError(await get("/v1/nothing"), { status: 404, code: "not_found" });
    await expectError(await get("/api/v1/nothing"), { status: 404, code: "not_found" });
    await expectError(await get("/dashboard/api/nothing"), { status: 404, code: "not_found" });
    await expectError(await get("/assets/nothing.js"), { status: 404, code: "not_found", says: "reload the page" });
    const post = await app.handle(new Request("http://gateway.example/keys", { method: "POST" }));
    await expectError(post, { status: 405, code: "method_not_allowed" });
  });

  test("has a policy that allows only its own host", async () => {
    const response = await get("/");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const page = await response.text();
    expect(page).not.toMatch(/(?:https?:)?\/\/\w|<script(?![^>]* src=)| style=| on\w+=/);
    // The only inline style is the one that the policy names.
    const styles = [...page.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style]) => style as string);
    expect(page.match(/<style/g)).toHaveLength(1);
    const hash = new Bun.CryptoHasher("sha256").update(styles[0] as string).digest("base64");
    expect(policy.split("; ")).toContain(`style-src 'self' 'sha256-${hash}'`);
    for (const link of await linksOf("/")) {
      expect(link).toStartWith("/assets/");
      expect((await get(link)).status).toBe(200);
    }
    for (const [name, value] of [
      ["x-content-type-options", "nosniff"],
      ["x-frame-options", "DENY"],
      ["referrer-policy", "no-referrer"],
      ["cross-origin-opener-policy", "same-origin"],
    ] as const)
      expect([name, response.headers.get(name)]).toEqual([name, value]);
  });

  test("is the page of an address that does not exist, for a person", async () => {
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (const path of ["/nonsense", "/keys/nonsense"]) {
      const response = await get(path, { accept });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.text()).toContain('<div id="root">');
    }
    await expectError(await get("/nonsense"), { status: 404, code: "not_found" });
    await expectError(await get("/v1/nonsense", { accept }), { status: 404, code: "not_found" });
  });

  test("paints its frame before the stylesheet, which is behind it", async () => {
    const page = await (await get("/")).text();
    expect(page.indexOf('id="frame"')).toBeLessThan(page.indexOf('<link rel="stylesheet"'));
  });

  test("is revalidated each time, and its hashed assets are cached", async () => {
    const page = await get("/");
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const known = await get("/", { "if-none-match": page.headers.get("etag") ?? "" });
    expect([known.status, await known.text()]).toEqual([304, ""]);
    const [link = ""] = await linksOf("/");
    expect((await get(link)).headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  });

  test.each([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["br;q=1.0", "br"],
    ["identity", null],
    ["", null],
  ])("answers accept-encoding '%s' with %p", async (accepted, encoding) => {
    const link = (await linksOf("/")).find((name) => name.endsWith(".js")) ?? "";
    const plain = await (await get(link)).bytes();
    const response = await get(link, { "accept-encoding": accepted });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    expect(response.headers.get("vary")).toBe("accept-encoding");
    const bytes = await response.bytes();
    const unpacked = encoding === "br" ? brotliDecompressSync(bytes) : encoding === "gzip" ? gunzipSync(bytes) : bytes;
    expect(Buffer.from(unpacked).equals(Buffer.from(plain))).toBe(true);
  });

  test("loads less than 120 kB, also with gzip", async () => {
    for (const encoding of ["br", "gzip"]) {
      const headers = { "accept-encoding": encoding };
      const paths = ["/", ...(await linksOf("/"))];
      const sizes = await Promise.all(paths.map(async (path) => (await (await get(path, headers)).bytes()).length));
      const sum = sizes.reduce((total, size) => total + size, 0);
      expect([encoding, sum < firstLoadBytesMax, sum > 20_000]).toEqual([encoding, true, true]);
    }
  });
});

describe("the documentation for programs", () => {
  const linksIn = (text: string) =>
    [...text.matchAll(/\]\((\/[^)#]*)(?:#[^)]*)?\)/g)].map(([, link]) => link as string);

  test("is an index by the convention of llms.txt: a title, a summary, and sections of links", async () => {
    const response = await get("/llms.txt");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    const text = await response.text();
    expect(text).toMatch(/^# modelgate\n\n> .+/);
    const lines = text.split("\n").slice(text.split("\n").findIndex((line) => line.startsWith("## ")));
    for (const line of lines) expect(line).toMatch(/^$|^## .+|^- \[[^\]]+\]\(\/[^)]+\): .+/);
    expect(linksIn(text)).toContain("/help/api.md");
    const pages = linksIn(text).filter((link) => link.startsWith("/help/"));
    expect(pages).toHaveLength(helpPages.length);
  });

  test("has no link that leads nowhere, in the index and in the pages", async () => {
    const index = linksIn(await (await get("/llms.txt")).text());
    const pages = index.filter((link) => link.endsWith(".md"));
    const texts = await Promise.all(pages.map(async (page) => (await get(page)).text()));
    const links = new Set([...index, ...texts.flatMap(linksIn)]);
    for (const link of links) {
      const response = await get(link);
      expect([link, response.status]).toEqual([link, 200]);
      const mediaType = link.endsWith(".md") ? "text/markdown; charset=utf-8" : expect.any(String);
      expect(response.headers.get("content-type")).toEqual(mediaType);
    }
    // A page that is not served is a link to the repository, and no page has a link to a file beside it.
    for (const text of texts) expect(text).not.toMatch(/\]\((?!https?:|\/|#|mailto:)[^()\s]+\)/);
  });

  test("has each page, and all of them in one file", async () => {
    const page = await (await get("/help/billing.md")).text();
    expect(page).toStartWith("# ");
    const full = await get("/llms-full.txt");
    expect(full.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await full.text()).toContain(page.trimEnd());
    await expectError(await get("/help/nothing.md"), { status: 404, code: "not_found" });
    expect(await (await get("/help/billing")).text()).toContain('<div id="root">');
  });

  test.each(["/llms.txt", "/llms-full.txt", "/help/api.md"])("%s is revalidated, and answers HEAD", async (path) => {
    const whole = await get(path);
    expect(whole.headers.get("cache-control")).toBe("no-cache");
    const again = await get(path, { "if-none-match": whole.headers.get("etag") ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await get(path, {}, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("content-type")).toBe(whole.headers.get("content-type"));
  });

  test.each(["/", "/v1/gate"])("is at the root of the host, whatever the base path of the API is: %s", async (base) => {
    const other = httpOf(undefined, { config: readConfig({ BASE_PATH: base }), site });
    const { status, headers } = await other.app.handle(new Request("http://gateway.example/help/api.md"));
    expect([status, headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
    expect((await other.app.handle(new Request("http://gateway.example/llms.txt"))).status).toBe(200);
  });
});
