import { describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { openSite } from "../../../src/dashboard/open-site.bun.ts";
import { pagePaths } from "../../../src/http/lifecycle/static-assets.ts";
import { expectError } from "../../support/expect-error.ts";
import { httpOf } from "../../unit/http/support.ts";

/** What a page may load before anything is seen of it, compressed. */
const firstLoadBytesMax = 120_000;

const { app } = httpOf(undefined, { site: openSite() });
const get = (path: string, headers: Record<string, string> = {}) =>
  app.handle(new Request(new URL(path, "http://gateway.example"), { headers }));

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
