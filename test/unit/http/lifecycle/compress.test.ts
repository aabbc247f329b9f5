import { describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { chooseEncoding, jsonForPage } from "../../../../src/http/lifecycle/headers.ts";

const rows = Array.from({ length: 200 }, (_, place) => ({ model: `model-${place}`, requests: place }));
const answer = (accepted: string | undefined, value: unknown = rows) => {
  const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
  return jsonForPage(new Request("http://gateway.example/", { headers }), value, { "cache-control": "no-store" });
};

describe("JSON for a page", () => {
  test.each([
    ["gzip, deflate, br, zstd", "zstd", zstdDecompressSync],
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip;q=0.5, br;q=0", "gzip", gunzipSync],
  ] as const)("is compressed for '%s' with %s", async (accepted, encoding, unpack) => {
    const response = answer(accepted);
    const bytes = await response.bytes();
    expect(response.headers.get("content-encoding")).toBe(encoding);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(bytes.length).toBeLessThan(JSON.stringify(rows).length / 3);
    expect(JSON.parse(new TextDecoder().decode(unpack(bytes)))).toEqual(rows);
  });

  test("is plain for a client that accepts no encoding, and where it is small", async () => {
    for (const response of [answer(undefined), answer("identity"), answer("gzip", { id: 1 })]) {
      expect(response.headers.get("content-encoding")).toBeNull();
      expect(response.headers.get("content-type")).toStartWith("application/json");
      expect(await response.json()).toBeDefined();
    }
  });

  test("takes no encoding whose name only begins like one", () => {
    expect(chooseEncoding("brotli, xgzip", ["br", "gzip"])).toBeUndefined();
    expect(chooseEncoding("GZIP ; q=0.000", ["gzip"])).toBeUndefined();
    expect(chooseEncoding(" Gzip ;q=0.001", ["gzip"])).toBe("gzip");
  });
});
