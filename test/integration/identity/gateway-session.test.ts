import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { setOwnBudget } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let origin: string;
beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  origin = new URL(gateway.baseUrl).origin;
});
afterAll(() => gateway.stop());

const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(origin + path, { ...init, headers: { authorization: `Bearer ${gateway.key}`, ...headers } });

test("the budget of a key, otherwise of its account, is shown in cents by any base URL, and is 404 without one", async () => {
  for (const base of ["", "/api", "/api/v1", "/v1"]) expect((await ask(`${base}/api/oauth/usage`)).status).toBe(404);
  const { id: keyId } = { id: gateway.key.split("-")[2] as string };
  const owner = await gateway.app.accounts.findKeyOwner(keyId);
  const accountId = owner?.accountId as string;
  const set = (of: { keyId?: string }, usd: number, period: "day" | "month") =>
    gateway.store.change((db) =>
      setOwnBudget(db, { accountId, ...of }, { limitNanodollars: usd * 1_000_000_000, period }, Date.now()),
    );
  await set({}, 500, "month");
  expect(await (await ask("/api/oauth/usage")).json()).toEqual({
    extra_usage: { is_enabled: true, monthly_limit: 50_000, used_credits: 0, utilization: 0, currency: "USD" },
    limits: [
      {
        kind: "spend",
        group: "monthly",
        percent: 0,
        resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
        severity: "normal",
        is_active: true,
      },
    ],
  });
  await set({ keyId }, 2, "day");
  expect(await (await ask("/api/oauth/usage")).json()).toMatchObject({
    extra_usage: { monthly_limit: null, daily: { limit: 200, used_credits: 0, utilization: 0 } },
    limits: [{ group: "daily" }],
  });
  expect((await fetch(`${origin}/api/oauth/usage`)).status).toBe(401);
});

test("managed settings are those of the owner's file alone, with the client's checksum", async () => {
  expect((await ask("/managed/settings")).status).toBe(404);
  const file = join(gateway.home, "managed-settings.json");
  writeFileSync(file, JSON.stringify({ env: { B: "2", A: "1" }, allow: [{ z: 1, a: 2 }] }));
  const hash = createHash("sha256").update('{"allow":[{"a":2,"z":1}],"env":{"A":"1","B":"2"}}').digest("hex");
  const response = await ask("/managed/settings");
  expect(response.headers.get("etag")).toBe(`"sha256:${hash}"`);
  expect(await response.json()).toEqual({
    uuid: `sha256:${hash}`,
    checksum: `sha256:${hash}`,
    settings: { env: { B: "2", A: "1" }, allow: [{ z: 1, a: 2 }] },
  });
  for (const known of [`"sha256:${hash}"`, "*"]) {
    expect((await ask("/api/managed/settings", { "if-none-match": known })).status).toBe(304);
  }
  expect((await ask("/managed/settings", { "if-none-match": '"sha256:0"' })).status).toBe(200);
  expect((await fetch(`${origin}/managed/settings`)).status).toBe(401);
  writeFileSync(file, "{");
  expect((await ask("/managed/settings")).status).toBe(503);
  rmSync(file);
  expect((await ask("/managed/settings")).status).toBe(404);
});

test("what agents report by OTLP is taken and dropped, from callers with a key", async () => {
  for (const path of ["/v1/metrics", "/v1/logs", "/v1/traces", "/api/v1/logs"]) {
    const init = { method: "POST", body: JSON.stringify({ resourceLogs: [] }) };
    const json = { "content-type": "application/json" };
    expect((await ask(path, json, init)).status).toBe(200);
    expect((await fetch(origin + path, { ...init, headers: json })).status).toBe(401);
  }
});

test("each change of managed settings is in the audit log before it is served", async () => {
  const file = join(gateway.home, "managed-settings.json");
  const read = () =>
    gateway.store.db
      .selectFrom("audit")
      .select(["account_id", "subject", "detail"])
      .where("action", "=", "managed_settings.set")
      .orderBy("at")
      .execute();
  const before = (await read()).length;
  const etags: (string | null)[] = [];
  for (const settings of [{ a: 1 }, { a: 1 }, { a: 2 }]) {
    writeFileSync(file, JSON.stringify(settings));
    for (const _ of [1, 2]) etags.push((await ask("/managed/settings")).headers.get("etag"));
  }
  rmSync(file);
  expect((await ask("/managed/settings")).status).toBe(404);
  const entries = (await read()).slice(before);
  const [one, two] = [etags[0], etags.at(-1)].map((etag) => etag?.replaceAll('"', "") ?? "");
  expect(entries.map(({ account_id, subject, detail }) => [account_id, subject, JSON.parse(detail)])).toEqual([
    ["file", one, { checksum_before: "none" }],
    ["file", two, { checksum_before: one }],
    ["file", "none", { checksum_before: two }],
  ]);
});

test("managed settings that cannot be written into the audit log are not served", async () => {
  const file = join(gateway.home, "managed-settings.json");
  writeFileSync(file, JSON.stringify({ refused: true }));
  const { db } = gateway.store;
  await sql`create trigger refuse_audit before insert on audit begin select raise(abort, 'no'); end`.execute(db);
  expect((await ask("/managed/settings")).status).toBe(500);
  await sql`drop trigger refuse_audit`.execute(db);
  expect((await ask("/managed/settings")).status).toBe(200);
  rmSync(file);
});
