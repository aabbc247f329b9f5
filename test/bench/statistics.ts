/**
 * What the pages Gateway and Usage cost: `bun test/bench/statistics.ts` fills SQLite and PostgreSQL with the sums of a year
 * of ten million calls of a hundred accounts, which have four keys each and use four models (3.3 million sums, 2 GB below
 * the temporary folder), and times what the pages ask. All runs are printed, in milliseconds of the clock; CPU is that of
 * this process and of the server's processes for it, which must be on this machine. `--sqlite FILE` and `--postgres URL` use
 * these alone, and fill them unless they are full.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { figureColumns, openStore, type Store } from "../../src/db/index.ts";
import { readGroups, readTotals, type StatisticsFilter, type StatisticsGroup } from "../../src/reports/index.ts";
import { makeDatabase, newUrl, startPostgres } from "../support/postgres.ts";

const timesAsked = 5;
const dayHours = 24;
/** As the page asks. */
const groupsShown = { limit: 50, charted: 6 };
const endHour = Math.floor(Date.now() / 3_600_000 / dayHours) * dayHours;
/** How many buckets of each length stand there: the hours that a page may show, and the days. */
const filled = { 1: 192, 24: 366 } as const;
const callsOfDay = 27_400;
/** Of the times in /proc. */
const msOfTick = 10;

const asked: readonly [string, StatisticsGroup, StatisticsFilter][] = [
  ["all accounts, by account", "account", {}],
  ["all accounts, by key", "key", {}],
  ["all accounts, by model", "model", {}],
  ["all accounts, by plugin", "plugin", {}],
  ["all accounts, by status", "status", {}],
  ["all accounts, by session", "session", {}],
  ["all accounts, by tag", "tag", {}],
  ["all accounts, of one model, by account", "account", { model: "model-1" }],
  ["all accounts, of one plugin, by model", "model", { plugin: "plugin-1" }],
  ["one account, by key", "key", { accountId: "acc_7" }],
  ["one account, by model", "model", { accountId: "acc_7" }],
  ["one account, by session", "session", { accountId: "acc_7" }],
  ["one account, by tag", "tag", { accountId: "acc_7" }],
  ["one key, by model", "model", { accountId: "acc_7", keyId: "key_7" }],
];

/** Rows of a kind in one bucket, as SQL over `n`: how many, and their key from the account to the name. */
const kinds: readonly [kind: string, rows: number, key: string][] = [
  [
    "call",
    3200,
    "'acc_' || (n % 100), 'key_' || (n % 400), 'model-' || (n / 400 % 4), 'plugin-' || (n / 400 % 2), case when n / 1600 = 0 then 200 else 500 end, ''",
  ],
  ["call", 8, "'', '', 'model-' || (n % 4), 'plugin-' || (n % 2), case when n / 4 = 0 then 200 else 500 end, ''"],
  ["key", 400, "'acc_' || (n % 100), 'key_' || n, '', '', 0, ''"],
  ["session", 1000, "'acc_' || (n % 100), '', '', '', 0, 'session-' || n"],
  ["tag", 1300, "'acc_' || (n % 100), '', '', '', 0, 'tag-' || (n / 100)"],
  ["tag", 13, "'', '', '', '', 0, 'tag-' || n"],
];

async function fill({ db, shared }: Store): Promise<void> {
  if ((await db.selectFrom("usage").select("hour").limit(1).execute()).length > 0) return;
  for (const hours of [1, 24] as const) {
    for (const [kind, rows, key] of kinds) {
      if (kind === "key" && hours === 1) continue;
      const each = Math.ceil((callsOfDay * hours) / dayHours / rows);
      const numbers = (name: string, count: number) =>
        `${name}(n) as (select 0 union all select n + 1 from ${name} where n < ${count - 1})`;
      const figures = figureColumns.map(() => each).join(", ");
      await sql
        .raw(`insert into usage_rows with recursive ${numbers("row_numbers", rows)}, ${numbers("buckets", filled[hours])}
          select ${hours}, '${kind}', ${endHour} - (buckets.n + 1) * ${hours}, ${key.replaceAll(/\bn\b/g, "row_numbers.n")}, ${figures}
          from buckets, row_numbers`)
        .execute(db);
    }
  }
  // As its server would by itself within a minute.
  if (shared) await sql`analyze usage_rows`.execute(db);
}

/** CPU milliseconds of this process and of what works for it. */
async function readCpu(store: Store): Promise<number> {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  if (!store.shared) return own;
  const workers = sql<{ pid: number }>`select pid from pg_stat_activity where datname = current_database()`;
  const { rows } = await workers.execute(store.db);
  return rows.reduce((sum, { pid }) => {
    // Behind the name of the program, which may have spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * msOfTick;
  }, own);
}

async function measure(name: string, store: Store): Promise<void> {
  await fill(store);
  process.stdout.write(`${name}\n`);
  for (const [what, hours, buckets] of [
    ["30 days", 24, 30],
    ["90 days", 24, 90],
    ["366 days", 24, 366],
    ["7 days by the hour", 1, 168],
  ] as const) {
    const starts = Array.from({ length: buckets }, (_, place) => endHour - (place + 1) * hours);
    for (const [asks, group, filter] of asked) {
      const ms: number[] = [];
      let found: number | undefined;
      const cpu = await readCpu(store);
      for (let time = 0; time < timesAsked; time++) {
        const from = performance.now();
        const query = { filter, hours, starts } as const;
        await readTotals(store, query);
        found = (await readGroups(store, query, { group, rank: "cost", ...groupsShown })).count;
        ms.push(performance.now() - from);
      }
      const cpuMs = ((await readCpu(store)) - cpu) / timesAsked;
      const all = ms.map((each) => each.toFixed(0)).join(", ");
      process.stdout.write(`  ${what}, ${asks}: ${all} ms, CPU ${cpuMs.toFixed(0)} ms, ${found ?? "some"} groups\n`);
    }
  }
  await store.close();
}

async function measureBoth(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-statistics-"));
  try {
    await measure("SQLite", await openStore({ file: join(folder, "modelgate.db") }));
    const server = await startPostgres(["fsync=off", "shared_buffers=1GB"]);
    try {
      const url = newUrl(server);
      await makeDatabase(url);
      await measure("PostgreSQL", await openStore({ url }));
    } finally {
      await server.remove();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { sqlite, postgres } = parseArgs({
  options: { sqlite: { type: "string" }, postgres: { type: "string" } },
}).values;
if (sqlite !== undefined) await measure("SQLite", await openStore({ file: sqlite }));
if (postgres !== undefined) await measure("PostgreSQL", await openStore({ url: postgres }));
if (sqlite === undefined && postgres === undefined) await measureBoth();
process.exit(0);
