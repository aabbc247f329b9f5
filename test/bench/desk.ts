/**
 * What the dashboard costs: `bun test/bench/desk.ts` fills a store with ten million calls of one account (some minutes,
 * 5 GB below the temporary folder), times the requests of its overview, and has 500 signed-in tabs refresh theirs every
 * five seconds while calls are served. `--calls 100000` makes it a first look.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { percentile } from "./exchange.ts";
import { fillOverview, peopleOf } from "./fill-desk.ts";
import { fillStore, keyOfAccount } from "./fill-store.ts";
import { describeMachine } from "./machine.ts";
import { runOpenLoad } from "./peers/open-load.ts";
import { formatMachine } from "./print.ts";
import { cpuUsBetween, readCpu } from "./process-stats.ts";
import { Processes } from "./processes.ts";
import { type Subject, startGate, startUpstream } from "./subjects.ts";

const tabs = 500;
const refreshMs = 5000;
/** Once a minute. */
const usageEvery = 12;
/** Well below what one core can do: what comes from above that is no question of the tabs. */
const callsPerSecond = 1000;
const rounds = 5;
const roundSeconds = 10;
const asks = 20;
const refreshesTimed = 1000;
const secondsMax = 3600;

const say = (line: string) => process.stderr.write(`${line}\n`);
const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number;
const ms = (value: number) => `${value.toFixed(1)} ms`;

/** What the overview asks for, and again while it is shown. */
function overviewPaths(days: number, period: string): string[] {
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const from = dayOf(Date.now() - days * 86_400_000);
  const usage = `/v1/usage?startDate=${from}&endDate=${dayOf(Date.now())}&period=${period}`;
  return ["/dashboard/api/me", usage, "/dashboard/api/calls"];
}

async function ask(origin: string, path: string, cookie: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`${origin}${path}`, { headers: { cookie } });
  const { length } = await response.text();
  if (!response.ok || length === 0) throw new Error(`${path} answered ${response.status}`);
  return performance.now() - begun;
}

/** Median and worst of the three requests after one another, as the client sees them. */
async function timeOverview(origin: string, cookie: string, paths: string[]): Promise<string> {
  const sums: number[] = [];
  for (let round = 0; round < asks; round++) {
    let sum = 0;
    for (const path of paths) sum += await ask(origin, path, cookie);
    sums.push(sum);
  }
  return `median ${ms(median(sums))}, worst ${ms(Math.max(...sums))} of ${asks}`;
}

/**
 * Tabs that refresh until they are told to stop; spread over the five seconds, as those of people are. As the page does,
 * each asks for balance and latest calls, and once a minute for the usage, which has not changed.
 */
function openTabs(origin: string, cookies: string[]): { stop(): Promise<number> } {
  let isOpen = true;
  let refreshes = 0;
  const [me, usage, calls] = overviewPaths(29, "daily") as [string, string, string];
  const tab = async (cookie: string, index: number) => {
    await Bun.sleep((index * refreshMs) / cookies.length);
    for (let turn = index; isOpen; turn++) {
      const begun = performance.now();
      const paths = turn % usageEvery === 0 ? [me, calls, usage] : [me, calls];
      await Promise.all(paths.map((path) => ask(origin, path, cookie)));
      refreshes += 1;
      await Bun.sleep(Math.max(0, refreshMs - (performance.now() - begun)));
    }
  };
  const running = cookies.map(tab);
  return {
    async stop() {
      isOpen = false;
      await Promise.all(running);
      return refreshes;
    },
  };
}

/** What a refresh costs the gateway while nothing else runs: a figure of CPU, so that other work matters less. */
async function costOfRefresh({ origin, pid }: Subject, cookie: string): Promise<string> {
  const paths = overviewPaths(29, "daily");
  const refresh = async (times: number) => {
    for (let count = 0; count < times; count++) await Promise.all(paths.map((path) => ask(origin, path, cookie)));
  };
  await refresh(300);
  const before = readCpu(pid);
  await refresh(refreshesTimed);
  const us = cpuUsBetween(before, readCpu(pid)) / refreshesTimed;
  const share = (us * tabs) / (refreshMs * 1000);
  return `CPU of a refresh of a small account: ${us.toFixed(0)} µs, so ${tabs} tabs take ${(share * 100).toFixed(1)} % of a core`;
}

async function compare(processes: Processes, gate: Subject, cookies: string[]): Promise<string> {
  const order = { kind: "json", url: gate.url, key: keyOfAccount(2), callsPerSecond, seconds: roundSeconds } as const;
  const p99Of = async (seed: number) => percentile((await runOpenLoad(processes, { ...order, seed })).wholeMs, 0.99);
  await p99Of(0);
  const without: number[] = [];
  const withTabs: number[] = [];
  let refreshes = 0;
  for (let round = 1; round <= rounds; round++) {
    without.push(await p99Of(round));
    const open = openTabs(gate.origin, cookies);
    await Bun.sleep(refreshMs);
    withTabs.push(await p99Of(round));
    refreshes += await open.stop();
  }
  const change = (median(withTabs) / median(without) - 1) * 100;
  return [
    `p99 of ${callsPerSecond} calls a second: ${ms(median(without))} alone, ${ms(median(withTabs))} with ${tabs} tabs (${change.toFixed(0)} %)`,
    `  alone ${without.map(ms).join(", ")}; with tabs ${withTabs.map(ms).join(", ")}; ${refreshes} refreshes`,
  ].join("\n");
}

async function measure(processes: Processes, calls: number): Promise<string> {
  const upstream = await startUpstream(processes);
  const home = join(processes.folder, "desk");
  mkdirSync(home);
  say(`filling: ${calls} calls of one account, ${tabs} accounts beside it`);
  await fillStore(home, { accounts: 1, calls });
  await fillOverview(home);
  const cookies = await peopleOf(home, tabs + 1);
  const gate = await startGate(processes, upstream, { home: "desk" });
  const [large = "", ...others] = cookies;
  say("measuring");
  const lines = [
    ...formatMachine(describeMachine()),
    `Overview of an account with ${calls} calls, three requests after one another:`,
  ];
  for (const [days, period] of [
    [29, "daily"],
    [6, "hourly"],
    [365, "monthly"],
  ] as const) {
    const paths = overviewPaths(days, period);
    lines.push(`  ${days + 1} days, ${period}: ${await timeOverview(gate.origin, large, paths)}`);
  }
  lines.push(await costOfRefresh(gate, others[0] as string));
  lines.push(await compare(processes, gate, others));
  return `${lines.join("\n")}\n`;
}

const { values } = parseArgs({ options: { calls: { type: "string", default: "10000000" } } });
const processes = new Processes();
const timer = setTimeout(() => process.exit(1), secondsMax * 1000);
try {
  process.stdout.write(await measure(processes, Number(values.calls)));
} finally {
  clearTimeout(timer);
  await processes.endAll();
}
process.exit(0);
