import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { figureColumns, openStore, type Store, toPayerNumber } from "../../src/db/index.ts";
import { createAccounts } from "../../src/keys/index.ts";
import { createUser } from "../../src/tenants/users.ts";
import { sessionCookieOf } from "../support/session-cookie.ts";
import { addNames, insertCalls, keyOfAccount } from "./fill-store.ts";

const hours = 365 * 24;
const models = 30;
const weekMs = 604_800_000;
/** As many as a page shows. */
const callsOfEach = 50;
const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };

/** Hourly sums of the first account for a year, thirty models in every hour: more than any true account has. */
export async function fillOverview(home: string): Promise<void> {
  const database = new DatabaseSync(join(home, "modelgate.db"));
  const from = Math.floor(Date.now() / 3_600_000) - hours;
  const sums: Partial<Record<string, number>> = {
    requests: 40,
    failures: 1,
    input_tokens: 14_000,
    output_tokens: 4_800,
  };
  const account = toPayerNumber("scale0000001");
  const figures = figureColumns.map((name) => sums[name] ?? 0);
  database.exec(`
    pragma synchronous = off;
    begin;
    insert into usage_rows (hours, kind, hour, account_id, key_id, model, plugin, status, name, ${figureColumns})
      with recursive h(n) as (values (1) union all select n + 1 from h where n < ${hours}),
        m(k) as (values (1) union all select k + 1 from m where k < ${models}),
        l(hours) as (values (1), (24))
      select hours, 'call', ${from} - ${from} % 24 + n, 'scale0000001', 'scale', 'model-' || k, 'openai', 200, '', ${figures}
      from h, m, l where n % hours = 0;
    insert into payers (no, id, account_no) values (${account}, 'scale0000001', ${account}) on conflict do nothing;
    insert into wallet_rows (account_id, balance_nanodollars) values (${account}, 0);
    commit;
    pragma wal_checkpoint(truncate);`);
  database.close();
}

/** Signs so many people in, the first of them to the first account, each with calls to show, and returns their cookies. */
export async function peopleOf(home: string, count: number): Promise<string[]> {
  const file = join(home, "modelgate.db");
  const store = await openStore({ file });
  try {
    const secret = await store.setting("session_secret", () => crypto.getRandomValues(new Uint8Array(32)).toHex());
    const accounts = createAccounts({ store, defaults });
    const cookies = [await signedIn(store, secret, "scale0000001")];
    for (let number = 2; number <= count; number++) {
      const { id } = await accounts.create({ email: `tab${number}@example.org` });
      if (number === 2) await accounts.createKey({ accountId: id, name: "load", key: keyOfAccount(2) });
      cookies.push(await signedIn(store, secret, id));
    }
    giveCalls(file);
    return cookies;
  } finally {
    await store.close();
  }
}

/** Gives every account that has none its latest calls. */
function giveCalls(file: string): void {
  const database = new DatabaseSync(file);
  const facts = {
    id: "cast(printf('tab_%s_%d', accounts.id, n) as blob)",
    account: "accounts.id",
    at: `${Date.now() - 86_400_000} + n`,
  };
  addNames(database);
  database.exec(`
    with recursive c(n) as (values (1) union all select n + 1 from c where n < ${callsOfEach})
    ${insertCalls(facts)} from accounts, c where not exists (select 1 from calls where account_id = accounts.id)`);
  database.close();
}

async function signedIn(store: Store, secret: string, accountId: string): Promise<string> {
  const now = Date.now();
  const at = new Date(now).toISOString();
  const token = crypto.randomUUID();
  await store.db.transaction().execute(async (db) => {
    const { userId: user_id } = await createUser(db, { accountId, role: "member", emailVerified: true }, now);
    const times = { expires_at: new Date(now + weekMs).toISOString(), created_at: at, updated_at: at };
    await db
      .insertInto("sessions")
      .values({ id: crypto.randomUUID(), token, user_id, ip_address: null, user_agent: null, ...times })
      .execute();
  });
  return sessionCookieOf(token, secret);
}
