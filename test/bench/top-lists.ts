/**
 * What top lists over all accounts cost: `bun test/bench/top-lists.ts` fills an embedded store with sums of a month of
 * ten million calls of a million accounts (3 GB below the temporary folder, some minutes), and prints how long the list of a day takes
 * to be kept, how long a list of the month then takes, the first and the next time, and how long the event loop stood still
 * meanwhile. `--accounts 30000` makes it a first look.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { figureColumns, openStore } from "../../src/db/index.ts";
import { keepDayLists, readGroups } from "../../src/reports/index.ts";

const { values } = parseArgs({ options: { accounts: { type: "string", default: "1000000" } } });
const accounts = Number(values.accounts);
const days = 30;
/** Each account has calls on every third day. */
const everyDays = 3;
const lastDay = Math.floor(Date.now() / 86_400_000) * 24;
const starts = Array.from({ length: days }, (_, day) => lastDay - (days - 1 - day) * 24);

const folder = mkdtempSync(join(tmpdir(), "modelgate-top-lists-"));
const file = join(folder, "modelgate.db");
const store = await openStore({ file });
fill();
let cpu = process.cpuUsage();
let longestMs = 0;
let lastMs = performance.now();
setInterval(() => {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - lastMs);
  lastMs = now;
}, 1);
const now = (lastDay + 12) * 3_600_000;
for (let day = 1; day < days; day++) {
  longestMs = 0;
  cpu = process.cpuUsage();
  const begun = performance.now();
  await keepDayLists(store, now);
  const tookMs = performance.now() - begun;
  if (day % 10 === 1) print(`the lists of day ${day} before`, tookMs);
}
// A longer list is ranked by all sums.
for (const limit of [50, 201]) {
  for (const group of ["account", "key"] as const) {
    for (const time of ["first", "second"]) {
      await Bun.sleep(10);
      longestMs = 0;
      cpu = process.cpuUsage();
      const begun = performance.now();
      const wanted = { group, rank: "cost", limit, charted: 6 } as const;
      await readGroups(store, { filter: {}, hours: 24, starts }, wanted);
      const tookMs = performance.now() - begun;
      await Bun.sleep(10);
      print(`${days} days by ${group}, ${limit} of them, the ${time} time`, tookMs);
    }
  }
}
await store.close();
rmSync(folder, { recursive: true });
process.exit(0);

function print(list: string, tookMs: number): void {
  const cpuMs = process.cpuUsage(cpu).user / 1000;
  cpu = process.cpuUsage();
  process.stdout.write(
    `${list}: ${tookMs.toFixed(0)} ms, CPU ${cpuMs.toFixed(0)} ms, longest pause ${longestMs.toFixed(0)} ms\n`,
  );
}

function fill(): void {
  const database = new DatabaseSync(file);
  const sums: Partial<Record<string, number>> = { requests: 1, input_tokens: 300, output_tokens: 40 };
  const figures = figureColumns.map((name) =>
    name === "cost_nanodollars" ? "(n * 7919 + day) % 100003" : (sums[name] ?? 0),
  );
  const id = "'0f8fad5b-d9cb-469f-a165-' || printf('%012d', n)";
  database.exec(`
    pragma synchronous = off;
    begin;
    insert into accounts (id, email, created_at)
      with recursive a(n) as (values (1) union all select n + 1 from a where n < ${accounts})
      select ${id}, n || '@example.org', 0 from a;
    insert into usage_rows (hours, kind, hour, account_id, key_id, model, plugin, status, name, ${figureColumns})
      with recursive d(day) as (values (0) union all select day + 1 from d where day < ${days - 1}),
        a(n) as (values (1) union all select n + 1 from a where n < ${accounts})
      select 24, 'key', ${lastDay} - day * 24, ${id}, 'key-' || n, '', '', 0, '', ${figures}
      from d cross join a where n % ${everyDays} = day % ${everyDays};
    commit;
    pragma wal_checkpoint(truncate);`);
  database.close();
}
