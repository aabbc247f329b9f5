import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type BudgetDraw, openStore, type Store } from "../../../src/db/index.ts";
import { openSessions } from "../../../src/identity/better-auth.ts";
import { readSessionUser } from "../../../src/identity/sessions.ts";
import { readLatestCalls, readRecentCalls } from "../../../src/reports/index.ts";
import { sessionCookieOf } from "../../support/session-cookie.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
const secret = "0123456789abcdef0123456789abcdef";
const prepare = DatabaseSync.prototype.prepare;
let database: DatabaseSync;
let store: Store;
let readSession: ReturnType<typeof openSessions>;

beforeAll(async () => {
  // The store keeps its connection to itself, so it is caught when it prepares its first statement.
  DatabaseSync.prototype.prepare = function (sql) {
    database = this;
    return prepare.call(this, sql);
  };
  store = await openStore({ file: join(folder, "modelgate.db") });
  readSession = openSessions({ store, secret, report: () => undefined });
});

afterAll(async () => {
  DatabaseSync.prototype.prepare = prepare;
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** How often SQLite asked for leave to do something, which it does while it plans a statement and at no other time. */
async function leavesAskedBy(ask: (turn: number) => unknown): Promise<number> {
  let asked = 0;
  database.setAuthorizer(() => {
    asked += 1;
    return 0;
  });
  // The first one is planned, also for having got an authorizer.
  await ask(0);
  asked = 0;
  await ask(1);
  await ask(2);
  database.setAuthorizer(null);
  return asked;
}

function drawOf(name: string, day: number): BudgetDraw {
  const budget = { id: name, subject: "key", name, limitNanodollars: 1, period: "day" } as const;
  return {
    budget,
    name,
    limitNanodollars: 1,
    sums: { subjectNo: day, name: "", from: day, until: day + 1, today: day },
  };
}

test.each<[string, (turn: number) => unknown]>([
  ["a session", (turn) => readSession(sessionCookieOf(`token${turn}`, secret))],
  ["who is signed in", (turn) => readSessionUser(store, { id: `session${turn}`, userId: `user${turn}` }, turn)],
  [
    "the latest calls",
    (turn) => readRecentCalls(store, `account${turn}`, { limit: 50 + turn, before: { at: turn, id: "" } }),
  ],
  ["whether they have changed", (turn) => readLatestCalls(store, `account${turn}`, { limit: 50 + turn, seen: "" })],
  ["a key", (turn) => store.readKey(`key${turn}`)],
  ["an account's money", (turn) => store.readBalance(`account${turn}`, turn)],
  [
    "a key's budget",
    (turn) => store.readBudgets({ accountId: `account${turn}`, keyId: "" }, [drawOf(`key${turn}`, turn)]),
  ],
])("the look-up of %s is planned once", async (_, ask) => {
  expect(await leavesAskedBy(ask)).toBe(0);
});

test("a statement that nobody has thought of is planned once, whatever is joined and limited", async () => {
  const ask = (turn: number) =>
    store.db
      .selectFrom("calls")
      .innerJoin("keys", "keys.id", "calls.key_id")
      .innerJoin("accounts", "accounts.id", "keys.account_id")
      .select(["calls.id", "accounts.email"])
      .where("keys.id", "=", `key${turn}`)
      .where("calls.opened_at", ">=", turn)
      .orderBy("calls.opened_at", "desc")
      .limit(turn)
      .execute();
  expect(await leavesAskedBy(ask)).toBe(0);
});

test("SQLite plans a join anew at each run where its parameter is bare", async () => {
  const bare = prepare.call(database, "select 1 from keys join accounts on accounts.id = account_id where keys.id = ?");
  expect(await leavesAskedBy((turn) => bare.all(`key${turn}`))).toBeGreaterThan(0);
});
