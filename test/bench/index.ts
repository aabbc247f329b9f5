/** `bun run bench`: what modelgate costs beside the barest proxy, in the same run. How to read it: docs/benchmarks.md. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { measureBooks } from "./books.ts";
import { isStreamed, type JobKind } from "./job.ts";
import { describeMachine } from "./machine.ts";
import { watchMemory } from "./memory.ts";
import { help, type Options, type Part, readOptions } from "./options.ts";
import { formatPeers, goalsOf, putInto } from "./peers/report.ts";
import { runPeers } from "./peers/run-peers.ts";
import { formatResults, type Results } from "./print.ts";
import { Processes } from "./processes.ts";
import { runRounds, warmUp } from "./rounds.ts";
import { measureStarts } from "./start-time.ts";
import { binaryFile, gateRoot, startBare, startGate, startUpstream, type Upstream } from "./subjects.ts";
import { measureLargeRequest, measureNative, measureTranslation } from "./translate.ts";

const pageFile = join(gateRoot, "docs/benchmarks.md");

/** What is measured in each part, and over how many connections. */
const plan: Partial<Record<Part, readonly (readonly [JobKind, number])[]>> = {
  json: [
    ["json", 1],
    ["json", 32],
    ["json", 256],
  ],
  stream: [
    ["burst", 1],
    ["burst", 32],
    ["burst", 256],
    ["paced", 100],
    ["paced", 500],
  ],
  prompts: [
    ["json30", 32],
    ["json300", 32],
  ],
  protocols: [
    ["responses", 32],
    ["responsesBurst", 32],
    ["messages", 32],
    ["messagesBurst", 32],
  ],
};

const say = (line: string) => process.stderr.write(`${line}\n`);

async function main(options: Options, processes: Processes): Promise<Results> {
  const results: Results = { machine: describeMachine(), rows: [] };
  if (options.parts.includes("translate")) {
    say("translate: streams of 100 chunks");
    results.translations = [...(await measureTranslation(options.rounds)), ...(await measureNative(options.rounds))];
    const { bytes, ...milliseconds } = await measureLargeRequest(200);
    say(`translate: a request of ${bytes} bytes on the native way, CPU in ms: ${JSON.stringify(milliseconds)}`);
  }
  if (options.parts.every((part) => part === "translate")) return results;
  const upstream = await startUpstream(processes, !options.plain);
  if (options.parts.includes("start")) {
    say("start: first answers");
    if (!existsSync(binaryFile))
      say("start: dist/modelgate is not there, so only the source is timed; bun run build makes it");
    results.starts = await measureStarts(processes, upstream);
  }
  if (options.parts.some((part) => plan[part] !== undefined)) {
    results.rows = await measureCalls(options, processes, upstream);
  }
  if (options.parts.includes("books")) results.books = await measureBooks(options, processes, { upstream, say });
  if (options.parts.includes("rss")) {
    say(`rss: ${options.rssCalls} calls`);
    const gate = await startGate(processes, upstream, { home: "rss" });
    results.memory = await watchMemory(processes, gate, options.rssCalls);
  }
  return results;
}

async function measureCalls(options: Options, processes: Processes, upstream: Upstream): Promise<Results["rows"]> {
  const bare = await startBare(processes, upstream);
  const gate = await startGate(processes, upstream, { home: "silent" });
  const logging = await startGate(processes, upstream, { home: "info", logLevel: "info" });
  for (const subject of [bare, gate, logging]) await warmUp(processes, subject);
  const rows: Results["rows"] = [];
  for (const [kind, connections] of options.parts.flatMap((part) => plan[part] ?? [])) {
    say(`${kind}: ${connections} connections`);
    const subjects = connections === 32 && !isStreamed(kind) ? [bare, gate, logging] : [bare, gate];
    const { rounds, roundSeconds: seconds } = options;
    rows.push(...(await runRounds(processes, subjects, { kind, connections, seconds, rounds })));
  }
  for (const { pid } of [bare, gate, logging]) await processes.end(pid);
  return rows;
}

async function benchOurs(options: Options, processes: Processes): Promise<string> {
  const results = await main(options, processes);
  return options.json ? jsonOf(results) : formatResults(results);
}

async function benchPeers(options: Options, processes: Processes): Promise<string> {
  const { rounds, roundSeconds, secondsMax } = options;
  const lengths = { rounds, closedSeconds: roundSeconds, openSeconds: roundSeconds * 3, secondsMax: secondsMax - 60 };
  const results = await runPeers(lengths, processes, say);
  const tables = formatPeers(results);
  if (options.write) await Bun.write(pageFile, putInto(await Bun.file(pageFile).text(), tables));
  for (const line of goalsOf(results)) say(line);
  return options.json ? jsonOf(results) : tables;
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function runBench(options: Options): Promise<number> {
  const processes = new Processes();
  const stop = async (sentence: string) => {
    await processes.endAll();
    say(sentence);
    process.exit(1);
  };
  const timer = setTimeout(() => stop(`The bench took longer than ${options.secondsMax} s`), options.secondsMax * 1000);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(`Ended by ${signal}`));
  try {
    process.stdout.write(await (options.peers ? benchPeers : benchOurs)(options, processes));
    return 0;
  } catch (error) {
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
