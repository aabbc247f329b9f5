/** `bun run bench`: what modelgate costs beside the barest proxy and other gateways. How to read it: docs/benchmarks.md. */
import { join } from "node:path";
import { measureAccounts } from "./accounts.ts";
import { type Found, measureCalls } from "./calls.ts";
import { measureLatency } from "./latency.ts";
import { describeMachine } from "./machine.ts";
import { watchMemory, watchOpenStreams } from "./memory.ts";
import { help, type Options, type Part, readOptions } from "./options.ts";
import { formatTables, putInto } from "./page.ts";
import { key } from "./peers/contender.ts";
import { contendersOfRates, startField } from "./peers/contenders.ts";
import { Processes } from "./processes.ts";
import { profileRates, profileWorkloads } from "./profile.ts";
import { measureColdRates, measureRates } from "./rates.ts";
import type { Results } from "./results.ts";
import { gateRoot, startFloor, startGate, startUpstream, type Upstream } from "./subjects.ts";
import { measureLargeRequest, measureNative, measureTranslation } from "./translate.ts";

const page = join(gateRoot, "docs/benchmarks.md");
const partsOfField: readonly Part[] = ["json", "stream", "prompts", "protocols", "latency", "rates"];
/** A median of fewer rounds means little where each has a few hundred calls. */
const roundsOfRates = 5;

const say = (line: string) => process.stderr.write(`${line}\n`);

async function measure(options: Options, processes: Processes, results: Results): Promise<void> {
  const has = (part: Part) => options.parts.includes(part);
  if (has("translate")) {
    say("translate: streams of 100 chunks");
    results.translations = [...(await measureTranslation(options.rounds)), ...(await measureNative(options.rounds))];
    const { bytes, ...milliseconds } = await measureLargeRequest(200);
    say(`translate: a request of ${bytes} bytes on the native way, CPU in ms: ${JSON.stringify(milliseconds)}`);
  }
  if (options.parts.every((part) => part === "translate")) return;
  const upstream = await startUpstream(processes, !options.plain);
  if (options.parts.some((part) => partsOfField.includes(part))) {
    await measureField(options, processes, { upstream, results });
  }
  const others: Partial<Record<Part, () => Promise<void>>> = {
    async accounts() {
      results.accounts = await measureAccounts(options, processes, { upstream, say });
    },
    async profile() {
      results.profiles = await profileWorkloads(processes, { upstream, say });
    },
    memory: () => measureMemory(options, processes, { upstream, results }),
  };
  for (const [part, work] of Object.entries(others)) {
    if (has(part as Part)) await work().catch((error) => fail(results, part, error));
  }
}

/** What the other parts found is kept. */
function fail(results: Results, part: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  say(`${part} failed: ${reason}`);
  results.failures = [...(results.failures ?? []), { part, reason }];
}

interface Target {
  upstream: Upstream;
  results: Results;
}

async function measureField(options: Options, processes: Processes, { upstream, results }: Target): Promise<void> {
  const onlyRates = options.parts.every((part) => part === "rates");
  const { runners, described, leftOut } = await startField(processes, upstream, {
    withPeers: options.peers,
    among: onlyRates ? contendersOfRates : undefined,
    say,
  });
  const found: Found = { rows: [], gaps: [] };
  results.field = { described, leftOut, ...found };
  await measureCalls(options, processes, { subjects: runners, found, say });
  if (options.parts.includes("latency")) {
    say("latency: calls at a fixed rate");
    const direct = await startUpstream(processes);
    const asked = [{ name: "the provider itself", origin: direct.origin, key }, ...runners];
    results.latency = await measureLatency(processes, asked, { seconds: options.roundSeconds * 3, say });
  }
  if (options.parts.includes("rates")) {
    say(`rates: ${options.rates.join(", ")} calls a second`);
    const order = { rates: options.rates, rounds: roundsOfRates, say };
    const floor = await startFloor(processes, upstream);
    const subjects = [...runners.filter(({ isSlow }) => !isSlow), floor];
    results.rates = await measureRates(processes, subjects, order);
    for (const { pid } of subjects) await processes.end(pid);
    say("rates: cold");
    const cold = await measureColdRates(processes, (home) => startGate(processes, upstream, { home }), order);
    results.rates.push(...cold);
    results.profiles = await profileRates(processes, { upstream, rates: options.rates, say });
  }
  for (const { pid } of runners) await processes.end(pid);
}

async function measureMemory(options: Options, processes: Processes, { upstream, results }: Target): Promise<void> {
  const { memoryCalls, openStreams } = options;
  say(`memory: ${memoryCalls} calls, ${openStreams} open streams`);
  const gate = await startGate(processes, upstream, { home: "memory" });
  results.memory = await watchMemory(processes, gate, memoryCalls);
  await processes.end(gate.pid);
  // Memory is what is measured: on a machine with other work the event loop is late now and then, and calls are refused.
  const env = { OVERLOAD_LAG_MS: "0" };
  const subject = await startGate(processes, upstream, { home: "open-streams", env });
  results.openStreams = await watchOpenStreams(processes, { subject, upstream }, openStreams);
  await processes.end(subject.pid);
}

async function report(options: Options, results: Results): Promise<void> {
  if (options.saveTo !== undefined) await Bun.write(options.saveTo, jsonOf(results));
  const tables = formatTables(results);
  if (options.write) await Bun.write(page, putInto(await Bun.file(page).text(), tables));
  process.stdout.write(options.json ? jsonOf(results) : `${[...tables.values()].join("\n\n")}\n`);
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function runBench(options: Options): Promise<number> {
  const { readFrom, secondsMax } = options;
  const processes = new Processes();
  const results: Results =
    readFrom === undefined
      ? { day: new Date().toISOString().slice(0, 10), machine: describeMachine() }
      : await Bun.file(readFrom).json();
  let stopping: Promise<never> | undefined;
  const end = async (reason: string): Promise<never> => {
    fail(results, "the rest", reason);
    await report(options, results);
    await processes.endAll();
    process.exit(1);
  };
  const stop = (reason: string) => {
    stopping ??= end(reason);
  };
  const timer = setTimeout(() => stop(`it took longer than ${secondsMax} s`), secondsMax * 1000);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(`ended by ${signal}`));
  try {
    if (readFrom === undefined) {
      await measure(options, processes, results);
      await stopping;
      results.seconds = performance.now() / 1000;
    }
    clearTimeout(timer);
    await report(options, results);
    return results.failures === undefined ? 0 : 1;
  } catch (error) {
    await stopping;
    say(`The bench failed: ${error instanceof Error ? error.message : error}`);
    return 1;
  } finally {
    clearTimeout(timer);
    await processes.endAll();
  }
}

async function start(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== "help") return await runBench(options);
    process.stdout.write(`${help}\n`);
    return 0;
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n\n${help}`);
    return 2;
  }
}

process.exit(await start());
