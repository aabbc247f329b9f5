import { expect, test } from "bun:test";
import { zstdDecompressSync } from "node:zlib";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";

test("the dashboard's API and GET /usage compress long answers, and keep their headers", async () => {
  const { enter, accounts, send } = await dashboardHttp();
  const { account, cookie } = await enter("ada@example.org");
  for (let key = 0; key < 12; key++) await accounts.createKey({ accountId: account.id, name: `key ${key}` });
  for (const path of ["/dashboard/api/keys", "/v1/usage"]) {
    const plain = await send(path, { headers: { cookie } });
    const response = await send(path, { headers: { cookie, "accept-encoding": "gzip, deflate, br, zstd" } });
    expect([path, plain.headers.get("content-encoding")]).toEqual([path, null]);
    expect([path, response.headers.get("content-encoding")]).toEqual([path, "zstd"]);
    for (const name of ["cache-control", "content-security-policy", "x-content-type-options"]) {
      expect([name, response.headers.get(name)]).toEqual([name, plain.headers.get(name) as string]);
    }
    expect(response.headers.get("x-request-id")).toMatch(/\w/);
    const text = new TextDecoder().decode(zstdDecompressSync(await response.bytes()));
    expect(JSON.parse(text)).toEqual(await plain.json());
  }
});
