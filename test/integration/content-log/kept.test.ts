import { describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import type { Caller } from "../../../src/contract/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { createContentLog } from "../../../src/modules/content-log/content-log.ts";
import { createRedact } from "../../../src/modules/content-log/redact.ts";
import { errorOf } from "../../support/error-of.ts";
import { chatCall, chatModel, runOf } from "../../unit/kernel/support.ts";
import { engine, temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;
const env = { CONTENT_LOG: "selected", SECRETS_KEY: "a key of these tests, long enough".replaceAll(" ", "-") };

/** Ends a call that was admitted, and keeps its text where that is switched on. */
async function end(
  { keeper }: ReturnType<typeof createContentLog>,
  about: { id: string; openedAt: number; caller: Caller },
  content: string,
  answer: () => Promise<unknown>,
): Promise<void> {
  const call = chatCall({ messages: [{ role: "user", content }] }, about);
  runOf(call, { model: chatModel, compiledPrice: undefined, routes: [] }).hold = {} as never;
  const copy = keeper?.copy(call.request);
  const whole = await answer().catch(() => undefined);
  if (copy !== undefined) keeper?.keep(call, copy, whole);
}

async function start(more: Record<string, string> = {}, waitingBytesMax = 2 ** 20) {
  const store = await temporaryStore();
  const clock = { now: 100 * dayMs };
  const now = () => clock.now;
  const warned: unknown[] = [];
  const log = { warn: (event: string, fields: unknown) => void warned.push([event, fields]) };
  const config = readConfig({ ...env, ...more });
  const contentLog = createContentLog({ config, store, log, now, waitingBytesMax }, await createRedact(undefined));
  const accounts = createAccounts({ store, defaults: config, now });
  await accounts.prepare();
  const { id: accountId } = await accounts.create({ email: "ada@example.org" });
  const { id: keyId, key } = await accounts.createKey({ accountId, name: "app" });
  const authenticate = async (): Promise<Caller> => await accounts.authenticate(key);
  let calls = 0;
  const keep = async (content = "Hi", answer: () => Promise<unknown> = async () => ({ choices: [] })) => {
    calls += 1;
    const id = `req_${calls}`;
    await end(contentLog, { id, openedAt: clock.now, caller: await authenticate() }, content, answer);
    await contentLog.keeper?.flush();
    return id;
  };
  return { store, clock, warned, contentLog, accountId, keyId, authenticate, keep };
}

describe(`content over ${engine}`, () => {
  test("is kept for an account or a key from the moment at which it is switched on, until it is off", async () => {
    const { store, contentLog, accountId, keyId, authenticate, keep } = await start();
    const own = { accountId, personId: accountId, seesAll: false };
    expect((await authenticate()).keepsContent).toBeUndefined();
    for (const change of [{ accountId }, { accountId, keyId }]) {
      await contentLog.setSwitch({ ...change, on: true, by: "admin" });
      expect((await authenticate()).keepsContent).toBe(true);
      expect(await contentLog.view(own, await keep())).toMatchObject({ request: [{ role: "user", text: "Hi" }] });
      await contentLog.setSwitch({ ...change, on: false, by: "admin" });
      expect((await authenticate()).keepsContent).toBeUndefined();
      expect(await contentLog.has(own, await keep())).toBe(false);
    }
    const other = await errorOf<{ code: string }>(
      contentLog.setSwitch({ accountId: "another", keyId, on: true, by: "admin" }),
    );
    expect(other.code).toBe("not_found");
    const entries = await store.db
      .selectFrom("audit")
      .select("detail")
      .where("action", "=", "content.switch")
      .execute();
    expect(entries.length).toBe(4);
  });

  test("is shown to another only together with an audit entry, and not at all without", async () => {
    const { store, contentLog, accountId, keep } = await start({ CONTENT_LOG: "all" });
    const id = await keep();
    const admin = { accountId: "admin", personId: "admin", seesAll: true };
    await contentLog.view(admin, `${id}-2`);
    const [entry] = await store.db.selectFrom("audit").selectAll().where("action", "=", "content.view").execute();
    expect(entry).toMatchObject({ account_id: "admin", subject: accountId, detail: JSON.stringify({ request: id }) });
    await store.db.schema.alterTable("audit").renameTo("audit_gone").execute();
    expect((await errorOf(contentLog.view(admin, id))).message).toContain("audit");
  });

  test("ends after CONTENT_LOG_DAYS, and with the row in the request log at the latest", async () => {
    for (const more of [{ CONTENT_LOG_DAYS: "3" }, { CONTENT_LOG_DAYS: "30", CALL_RETENTION_DAYS: "3" }]) {
      const { clock, contentLog, accountId, keep } = await start({ CONTENT_LOG: "all", ...more });
      const own = { accountId, personId: accountId, seesAll: false };
      const old = await keep();
      clock.now += 3 * dayMs;
      const young = await keep();
      expect(await contentLog.prune()).toBe(0);
      clock.now += 1;
      expect(await contentLog.prune()).toBe(1);
      expect([await contentLog.has(own, old), await contentLog.has(own, young)]).toEqual([false, true]);
    }
  });

  test("that cannot be written neither fails nor delays a call, and is told of", async () => {
    const { store, warned, contentLog, accountId, keep } = await start({ CONTENT_LOG: "all" });
    await store.db.schema.alterTable("contents").renameTo("contents_gone").execute();
    let answered = false;
    await keep("Hi", async () => {
      answered = true;
      return { choices: [] };
    });
    expect(answered).toBe(true);
    expect(warned).toEqual([["content_not_kept", { calls: 1, error: expect.anything() }]]);
    await store.db.schema.alterTable("contents_gone").renameTo("contents").execute();
    const cyclic: Record<string, unknown> = { message: {} };
    cyclic.message = { content: [cyclic] };
    expect(
      await contentLog.has(
        { accountId, personId: accountId, seesAll: false },
        await keep("Hi", async () => ({ choices: [cyclic] })),
      ),
    ).toBe(true);
  });

  test("waits for being written in bounded memory", async () => {
    const { warned, contentLog, authenticate, accountId } = await start({ CONTENT_LOG: "all" }, 100_000);
    const caller = await authenticate();
    for (let at = 0; at < 30; at++) {
      const about = { id: `req_${at}`, openedAt: 0, caller };
      await end(contentLog, about, `${at} ${"word ".repeat(2000)}`, async () => ({ choices: [] }));
    }
    await contentLog.keeper?.flush();
    const { records } = await contentLog.describe(accountId);
    expect(records).toBe(9);
    expect(warned).toEqual([["content_not_kept", { calls: 21, error: expect.any(Error) }]]);
  });
});
