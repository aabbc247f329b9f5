/**
 * What a page of the request log costs: `bun test/bench/requests.ts` fills SQLite and PostgreSQL with ten million calls of
 * a hundred accounts (some minutes, 12 GB below the temporary folder), and times the filters. `--calls 100000` makes it a
 * first look.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import { openStore, type Store, toPayerNumber } from "../../src/db/index.ts";
import { type RequestFilter, readRequests } from "../../src/reports/index.ts";
import { makeDatabase, newUrl, startPostgres } from "../support/postgres.ts";

const accounts = 100;
const timesAsked = 5;
const day = 86_400_000;
const from = Date.now() - 80 * day;

/** The names that calls repeat. */
const repeated = [
  "rare",
  "famA-4o-mini",
  "chat",
  "settled",
  "reported",
  "v1",
  "groq",
  "openai",
  "upstream_error",
  "messages",
];
const numberOf = (name: string) => `(select id from names where name = ${name})`;
const payerOf = (id: string) => `(select no from payers where id = ${id})`;

/** An id as the gateway makes them, as bytes in SQL: 6 of its time, and the number of the call. */
const idOf = {
  sqlite: (at: string) => `unhex(printf('%012x%020x', ${at}, n))`,
  postgres: (at: string) => `decode(lpad(to_hex((${at})::bigint), 12, '0') || lpad(to_hex(n), 20, '0'), 'hex')`,
};

function insertNames(): string[] {
  const payers = Array.from({ length: accounts * 4 }, (_, n) => {
    const account = `acc_${n % accounts}`;
    return (n < accounts ? [account, `key_${n}`] : [`key_${n}`]).map(
      (id) => `(${toPayerNumber(id)}, '${id}', ${toPayerNumber(account)})`,
    );
  });
  return [
    `insert into names (name) values ${repeated.map((name) => `('${name}')`).join(", ")} on conflict (name) do nothing`,
    `insert into payers (no, id, account_no) values ${payers.flat().join(", ")}`,
  ];
}

/**
 * One in 50 calls failed, one in 10 has a session, one in 4 a tag, one in 5 an id of its client, and the 20 oldest have a
 * rare model.
 */
function insertCalls(engine: "sqlite" | "postgres", calls: number, numbers: string): string {
  const at = `${from} + n * ${Math.floor((79 * day) / calls)}`;
  const status = "case when n % 50 = 7 then 500 else 200 end";
  return `insert into call_rows (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at,
    quota_day, hold_nanodollars, hold_tokens, input_tokens, output_tokens, usage_source, cost_nanodollars,
    charged_nanodollars, quota_tokens, price_version, plugin, status, error_code, duration_ms, session, protocol,
    client_request_id, detail, tag)
    select ${idOf[engine](at)}, ${payerOf(`'acc_' || (n % ${accounts})`)}, ${payerOf(`'key_' || (n % ${accounts * 4})`)},
    ${numberOf("case when n <= 20 then 'rare' else 'famA-4o-mini' end")}, ${numberOf("'chat'")}, 0, ${numberOf("'settled'")},
    ${at}, ${at} + 900, 20000, 0, 900, 350, 120, ${numberOf("'reported'")}, 83000, 0, 470, ${numberOf("'v1'")},
    ${numberOf("case when n % 3 = 0 then 'groq' else 'openai' end")}, ${status},
    ${numberOf("case when n % 50 = 7 then 'upstream_error' end")}, 900,
    case when n % 10 = 3 then 'session-' || (n % 10007) end,
    ${numberOf("case when n % 7 = 0 then 'messages' else 'chat' end")}, case when n % 5 = 2 then 'mine-' || n end,
    '{"finish":["stop"]}', case when n % 4 = 3 then 'tag-' || (n % 13) end from ${numbers}`;
}

/** Indexes are made in one go afterwards, which is the same index and takes minutes less. */
async function fill(run: (sql: string) => Promise<Record<string, unknown>[]>, indexes: string, insert: string) {
  const made = await run(indexes);
  for (const { name } of made) await run(`drop index ${name}`);
  await run(insert);
  for (const { sql } of made) await run(String(sql));
  await run("analyze call_rows");
}

async function fillSqlite(file: string, calls: number): Promise<Store> {
  await (await openStore({ file })).close();
  const database = new DatabaseSync(file);
  database.exec("pragma synchronous = off; pragma cache_size = -500000");
  const numbersTo = (most: number) =>
    `(with recursive c(n) as (values (1) union all select n + 1 from c where n < ${most}) select n from c)`;
  const indexes = "select name, sql from sqlite_master where tbl_name = 'call_rows' and sql like 'create index%'";
  // The plans must be good without statistics: the gateway makes none.
  const run = async (sql: string) => (sql.startsWith("analyze") ? [] : database.prepare(sql).all());
  for (const insert of insertNames()) await run(insert);
  await fill(run, indexes, insertCalls("sqlite", calls, numbersTo(calls)));
  database.exec("pragma wal_checkpoint(truncate)");
  database.close();
  return openStore({ file });
}

async function fillPostgres(url: string, calls: number): Promise<Store> {
  await makeDatabase(url);
  await (await openStore({ url })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const indexes = `select indexname as name, indexdef as sql from pg_indexes
    where tablename = 'call_rows' and indexname not in ('call_rows_pkey', 'call_rows_id_key')`;
  const run = async (sql: string) => (await client.query(sql)).rows;
  const numbersTo = (most: number) => `generate_series(1::bigint, ${most}) as c(n)`;
  for (const insert of insertNames()) await run(insert);
  await fill(run, indexes, insertCalls("postgres", calls, numbersTo(calls)));
  await client.end();
  return openStore({ url });
}

const filters: readonly [string, RequestFilter][] = [
  ["all accounts", {}],
  ["one account", { accountId: "acc_7" }],
  ["an hour a month ago", { from: from + 50 * day, until: from + 50 * day + 3_600_000 }],
  ["one key", { keyId: "key_7", accountId: "acc_7" }],
  ["one session", { session: "session-33" }],
  ["one session of one account", { session: "session-33", accountId: "acc_7" }],
  ["one tag", { tag: "tag-3" }],
  ["one tag of one account", { tag: "tag-3", accountId: "acc_7" }],
  ["a tag that there is none of", { tag: "nowhere" }],
  ["failed", { status: "failed" }],
  ["failed, of one account", { status: "failed", accountId: "acc_7" }],
  ["failed, of an account without failures", { status: "failed", accountId: "acc_8" }],
  ["status 403, which there is none of", { status: { from: 403, to: 403 } }],
  ["a plugin and a protocol", { plugin: "groq", protocol: "messages" }],
  ["a rare model", { model: "rare" }],
  ["a rare model of one account", { model: "rare", accountId: "acc_7" }],
  ["a client's id", { text: "mine-102" }],
  ["a text in no id", { text: "nowhere" }],
];

async function measure(name: string, store: Store): Promise<void> {
  process.stdout.write(`${name}\n`);
  for (const [what, filter] of filters) {
    const ms: number[] = [];
    let rows = 0;
    for (let time = 0; time < timesAsked; time++) {
      const begun = performance.now();
      rows = (await readRequests(store, filter, { limit: 50 })).requests.length;
      ms.push(performance.now() - begun);
    }
    const [first = 0] = ms;
    const median = ms.toSorted((one, other) => one - other)[timesAsked >> 1] ?? 0;
    process.stdout.write(`  ${what}: first ${first.toFixed(1)} ms, median ${median.toFixed(1)} ms, ${rows} rows\n`);
  }
  await store.close();
}

const { values } = parseArgs({ options: { calls: { type: "string", default: "10000000" } } });
const calls = Number(values.calls);
const folder = mkdtempSync(join(tmpdir(), "modelgate-requests-"));
try {
  await measure(`SQLite, ${calls} calls`, await fillSqlite(join(folder, "modelgate.db"), calls));
  const server = await startPostgres(["fsync=off", "shared_buffers=1GB", "maintenance_work_mem=512MB"]);
  try {
    await measure(`PostgreSQL, ${calls} calls`, await fillPostgres(newUrl(server), calls));
  } finally {
    await server.remove();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
