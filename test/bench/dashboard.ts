/**
 * What the dashboard costs: `bun test/bench/dashboard.ts` fills a store with ten million calls of one account (some minutes,
 * 5 GB below the temporary folder), times the requests of its overview, and has 500 signed-in tabs refresh theirs as often
 * as the page does while calls are served. `--calls 100000` makes it a first look, `--rounds 9` a closer
 * one, `--rate 300` one on a smaller machine.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { percentile } from "./exchange.ts";
import { fillOverview, peopleOf } from "./fill-dashboard.ts";
import { fillStore, keyOfAccount } from "./fill-store.ts";
import { describeMachine } from "./machine.ts";
import { runOpenLoad } from "./open-load.ts";
import { formatMachine } from "./print.ts";
import { cpuUsBetween, readCpu } from "./process-stats.ts";
import { coreOf, Processes, type Server } from "./processes.ts";
import { type Subject, startGate, startUpstream } from "./subjects.ts";
import { runTabs } from "./tabs.ts";

const tabs = 500;
/** As in the dashboard. */
const refreshMs = 4000;
const roundSeconds = 7;
/** What was never asked before is slow for some seconds: it is compiled. */
const warmSeconds = 15;
const warmRefreshMs = 1000;
const asks = 20;
const refreshesTimed = 1000;
const secondsMax = 3600;

const say = (line: string) => process.stderr.write(`${line}\n`);
const median = (values: number[]) => {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]] as [number, number];
  return (low + high) / 2;
};
const ms = (value: number) => `${value.toFixed(1)} ms`;

/** Asked for with the stamp of the calls on the screen, again and again. */
const refreshPath = "/dashboard/api/me?calls=";

function usagePath(days: number, period: string): string {
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const from = dayOf(Date.now() - days * 86_400_000);
  return `/v1/usage?startDate=${from}&endDate=${dayOf(Date.now())}&period=${period}`;
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

/** What a refresh costs the gateway while nothing else runs: a figure of CPU, so that other work matters less. */
async function costOfRefresh({ origin, pid }: Subject, cookie: string): Promise<string> {
  const first = await fetch(`${origin}${refreshPath}`, { headers: { cookie } });
  const path = refreshPath + (await first.json()).calls.stamp;
  const refresh = async (times: number) => {
    for (let count = 0; count < times; count++) await ask(origin, path, cookie);
  };
  await refresh(300);
  const before = readCpu(pid);
  await refresh(refreshesTimed);
  const us = cpuUsBetween(before, readCpu(pid)) / refreshesTimed;
  const share = (us * tabs) / (refreshMs * 1000);
  return `CPU of a refresh that finds nothing new: ${us.toFixed(0)} µs, so ${tabs} tabs take ${(share * 100).toFixed(1)} % of a core`;
}

/** Nobody; tabs of a server that does nothing for them, which shows what they cost the machine; tabs of the gateway. */
const sides = ["alone", "still", "tabs"] as const;
type Side = (typeof sides)[number];

/** What 500 tabs do to the p99 of the calls beside them, by turns, so that whatever else the machine does falls on all. */
async function compare(processes: Processes, gate: Subject, cookies: string[]): Promise<string> {
  const usage = usagePath(29, "daily");
  const still = await startStill(processes, gate.origin, { cookie: cookies.at(-1) as string, usage });
  const tabsOf = (origin: string, seconds: number, everyMs = refreshMs) =>
    runTabs(processes, { origin, cookies, seconds, refreshMs: everyMs, path: refreshPath, usagePath: usage });
  const order = { kind: "json", url: gate.url, key: keyOfAccount(2), callsPerSecond } as const;
  const p99Of = async (seconds: number, seed: number) =>
    percentile((await runOpenLoad(processes, { ...order, seconds, seed })).wholeMs, 0.99);
  const measured: Record<Side, { p99Ms: number; cores: number }[]> = { alone: [], still: [], tabs: [] };
  await Promise.all([p99Of(warmSeconds, 0), tabsOf(gate.origin, warmSeconds, warmRefreshMs)]);
  let [refreshes, late] = [0, 0];
  for (let turn = 0; turn < rounds * sides.length; turn++) {
    // Another one begins each round.
    const round = Math.floor(turn / sides.length);
    const side = sides[(turn + round) % sides.length] as Side;
    const origin = side === "alone" ? undefined : side === "still" ? still.origin : gate.origin;
    const open = origin === undefined ? undefined : tabsOf(origin, refreshMs / 1000 + roundSeconds + 1);
    // Until all are open.
    if (open !== undefined) await Bun.sleep(refreshMs);
    const before = readCpu(gate.pid);
    const p99Ms = await p99Of(roundSeconds, round + 1);
    const cores = cpuUsBetween(before, readCpu(gate.pid)) / (roundSeconds * 1e6);
    measured[side].push({ p99Ms, cores });
    const closed = await open;
    if (side === "tabs" && closed !== undefined) {
      refreshes += closed.refreshes;
      late += closed.late;
    }
    say(`  ${side}: p99 ${ms(p99Ms)}, ${(cores * 100).toFixed(1)} % of a core`);
  }
  const p99 = (side: Side) => median(measured[side].map(({ p99Ms }) => p99Ms));
  const line = (side: Side, what: string) =>
    `  ${what}: p99 ${p99(side).toFixed(2)} ms (${measured[side].map(({ p99Ms }) => p99Ms.toFixed(2)).join(", ")}), ` +
    `gateway ${(median(measured[side].map(({ cores }) => cores)) * 100).toFixed(1)} % of a core`;
  const change = (side: Side) => `${((p99("tabs") / p99(side) - 1) * 100).toFixed(0)} %`;
  return [
    `${callsPerSecond} calls a second, medians of ${rounds} rounds of ${roundSeconds} s:`,
    line("alone", "no tabs"),
    line("still", `${tabs} tabs of a server that does nothing`),
    line("tabs", `${tabs} tabs of the gateway, ${refreshes} refreshes, ${late} left out`),
    `  change of p99: ${change("alone")} to no tabs, ${change("still")} to tabs of the other server`,
  ].join("\n");
}

/** A server with the gateway's answers to one tab, on the gateway's core. */
async function startStill(
  processes: Processes,
  origin: string,
  { cookie, usage }: { cookie: string; usage: string },
): Promise<Server> {
  const bodies: Record<string, string> = {};
  // Without a stamp no calls are told, as most often to a tab.
  for (const path of ["/dashboard/api/me", usage]) {
    const { pathname } = new URL(path, origin);
    bodies[pathname] = await (await fetch(`${origin}${path}`, { headers: { cookie } })).text();
  }
  const command = [process.execPath, join(import.meta.dir, "still.ts"), JSON.stringify(bodies)];
  return processes.serve({ command, core: coreOf.subject });
}

async function measure(processes: Processes, calls: number): Promise<string> {
  const upstream = await startUpstream(processes);
  const home = join(processes.folder, "dashboard");
  mkdirSync(home);
  say(`filling: ${calls} calls of one account, ${tabs} accounts beside it`);
  await fillStore(home, { accounts: 1, calls });
  await fillOverview(home);
  const cookies = await peopleOf(home, tabs + 1);
  const gate = await startGate(processes, upstream, { home: "dashboard" });
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
    const paths = ["/dashboard/api/me", refreshPath, usagePath(days, period)];
    lines.push(`  ${days + 1} days, ${period}: ${await timeOverview(gate.origin, large, paths)}`);
  }
  lines.push(await costOfRefresh(gate, others[0] as string));
  lines.push(await compare(processes, gate, others));
  return `${lines.join("\n")}\n`;
}

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "10000000" },
    rounds: { type: "string", default: "5" },
    /** Calls a second, well below what one core can do: what comes from above that is no question of the tabs. */
    rate: { type: "string", default: "1000" },
  },
});
const rounds = Number(values.rounds);
const callsPerSecond = Number(values.rate);
const processes = new Processes();
const timer = setTimeout(() => process.exit(1), secondsMax * 1000);
try {
  process.stdout.write(await measure(processes, Number(values.calls)));
} finally {
  clearTimeout(timer);
  await processes.endAll();
}
process.exit(0);
