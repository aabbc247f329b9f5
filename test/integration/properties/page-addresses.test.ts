import { expect, test } from "bun:test";
import { origin, withAdmin } from "../../unit/http/dashboard-http.ts";

const junk = [
  "",
  "\0",
  "a\0b",
  "%",
  "%00",
  "'",
  "\\",
  "*",
  "_",
  "🦄",
  "x".repeat(5000),
  "__proto__",
  "constructor",
  "-1",
  "0",
  "1e9",
  "NaN",
  "2026-01-01T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
];
const api = "/dashboard/api";
/** What may be asked behind a question mark, each in its right form. */
const queries: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [`${api}/me`]: { calls: "0" },
  [`${api}/entries`]: { page: "1" },
  [`${api}/calls`]: { before: "2026-01-01T00:00:00Z", before_id: "req_1" },
  [`${api}/admin/accounts`]: { search: "a", after: "a@example.org" },
  "/v1/organization/vouchers": { limit: "20", after: "vch_ABCDEFGH" },
  [`${api}/admin/audit`]: { before: "2026-01-01T00:00:00Z", before_id: "1" },
  [`${api}/admin/audit.csv`]: { actor: "cli", action: "key", subject: "1", from: "2026-01-01T00:00:00Z" },
  "/api/v1/usage": { startDate: "2026-01-01", endDate: "2026-01-02", period: "daily" },
  "/api/auth/get-session": { disableCookieCache: "true" },
};
const ids = [
  ["PATCH", `${api}/keys/`],
  ["DELETE", `${api}/keys/`],
  ["DELETE", `${api}/sessions/`],
  ["POST", "/v1/organization/projects/", "/credits"],
  ["POST", "/v1/organization/vouchers/", "/void"],
] as const;

test("an address of the page's API with anything in it is answered, or refused in our form", async () => {
  const { send, admin, log } = await withAdmin();
  const headers = { origin, cookie: admin.cookie, "content-type": "application/json" };
  const expectAnswer = async (path: string, init: RequestInit = { headers }) => {
    const response = await send(path, init);
    const told = await response.text();
    expect({ path, told, isOurs: response.status >= 500 }).toEqual({ path, told, isOurs: false });
    if (response.status >= 400) expect(JSON.parse(told).error).toHaveProperty("message");
  };
  for (const text of junk) {
    for (const [path, query] of Object.entries(queries)) {
      for (const name of Object.keys(query))
        await expectAnswer(`${path}?${new URLSearchParams({ ...query, [name]: text })}`);
    }
    for (const [method, path, rest = ""] of ids) {
      const body = method === "DELETE" ? null : JSON.stringify({ name: "x", usd: "5", note: "n", reference: "r" });
      await expectAnswer(`${path}${encodeURIComponent(text)}${rest}`, { method, headers, body });
    }
    const cookie = encodeURIComponent(text);
    for (const whole of [cookie, `${cookie}.${cookie}`]) {
      await expectAnswer(`${api}/me`, { headers: { cookie: `session=${whole}` } });
    }
  }
  expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
});
