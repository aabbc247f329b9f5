import { join } from "node:path";
import { describeMachine } from "../machine.ts";
import type { Processes } from "../processes.ts";
import { startUpstream } from "../subjects.ts";
import { bifrost } from "./bifrost.ts";
import { type Contender, key, path } from "./contender.ts";
import { litellm } from "./litellm.ts";
import { figuresOf, findMost, type Limits, measureOnce, type Plan, type Seen, warmUp } from "./measure.ts";
import { nginx } from "./nginx.ts";
import { bareProxy, builtGate, sourceGate } from "./ours.ts";
import { portkey } from "./portkey.ts";
import type { PeerResults } from "./report.ts";
import { type Runner, startRunner } from "./start.ts";

interface Entry {
  runner: Runner;
  limits: Limits;
  seen: Seen[];
}

type Say = (line: string) => void;
type LeftOut = PeerResults["leftOut"];

export interface PeerOptions {
  rounds: number;
  closedSeconds: number;
  openSeconds: number;
  /** No round is begun that would end later than this after the start of the bench. */
  secondsMax: number;
}

const connections = 32;
/** Of what the slowest can do. */
const openShare = 0.5;
const [callsMost, streamsMost] = [200, 50];

/** The same job for modelgate, its peers and its limits: round by round, each in turn and alone at work. */
export async function runPeers(options: PeerOptions, processes: Processes, say: Say): Promise<PeerResults> {
  const machine = describeMachine();
  const leftOut: LeftOut = [];
  const contenders = await prepareAll(processes, leftOut, say);
  const provider = await startUpstream(processes);
  const direct: Runner = {
    contender: { name: "direct", version: "", without: "", commandAt: () => Promise.reject(new Error("It runs")) },
    question: { url: `${provider.origin}${path}`, key },
  };
  const entries: Entry[] = [{ runner: direct, limits: await warmUp(processes, direct, connections), seen: [] }];
  for (const contender of contenders) {
    say(`start and warm up: ${contender.name}`);
    await orLeaveOut(contender, leftOut, say, async () => {
      const runner = await startRunner(processes, contender, provider);
      const limits = await orEnd(processes, runner, () => warmUp(processes, runner, connections));
      entries.push({ runner, limits, seen: [] });
    });
  }
  const plan = planFor(options, entries);
  const roundsDone = await measureAll(processes, { entries, plan, leftOut, say }, options.secondsMax);
  const [first, ...others] = entries as [Entry, Entry, ...Entry[]];
  say("most calls on one core");
  const most = await findMost(processes, others[0].runner, plan);
  return {
    machine,
    day: new Date().toISOString().slice(0, 10),
    plan,
    roundsDone,
    most,
    direct: figuresOf(first.seen),
    rows: others.map(({ runner: { contender, startMs }, seen }) => ({ contender, startMs, figures: figuresOf(seen) })),
    leftOut,
  };
}

/** Nothing is measured yet, so all are installed at once. */
async function prepareAll(processes: Processes, leftOut: LeftOut, say: Say): Promise<Contender[]> {
  say("install Portkey, LiteLLM and Bifrost, build modelgate: up to four minutes the first time");
  const makers: [string, () => Promise<Contender>][] = [
    ["modelgate", () => builtGate(join(processes.folder, "built-binary"))],
    ["modelgate from source", sourceGate],
    ["Bifrost", bifrost],
    ["Portkey", portkey],
    ["LiteLLM", litellm],
    ["bare Bun proxy", bareProxy],
    ["nginx", nginx],
  ];
  const made = await Promise.all(
    makers.map(async ([name, make]) => {
      try {
        return await make();
      } catch (error) {
        leave({ name, isOurs: name.startsWith("modelgate") }, leftOut, say, error);
        return undefined;
      }
    }),
  );
  return made.filter((contender) => contender !== undefined);
}

/** The same rates for all, so that the slowest can keep up. */
function planFor({ rounds, closedSeconds, openSeconds }: PeerOptions, entries: readonly Entry[]): Plan {
  const slowest = (read: (limits: Limits) => number) => Math.min(...entries.map(({ limits }) => read(limits)));
  return {
    rounds,
    closedSeconds,
    openSeconds,
    connections,
    callsPerSecond: Math.max(2, Math.min(callsMost, Math.floor(slowest(({ calls }) => calls) * openShare))),
    streamsPerSecond: Math.max(1, Math.min(streamsMost, Math.floor(slowest(({ streams }) => streams) * openShare))),
  };
}

interface Field {
  entries: Entry[];
  plan: Plan;
  leftOut: LeftOut;
  say: Say;
}

/** Returns how many rounds there was time for; the first is always made. */
async function measureAll(processes: Processes, field: Field, secondsMax: number): Promise<number> {
  const { entries, plan, leftOut, say } = field;
  let longestMs = 0;
  for (let round = 0; round < plan.rounds; round++) {
    const startedAt = performance.now();
    if (round > 0 && startedAt + longestMs > secondsMax * 1000) {
      say(`no time for more than ${round} rounds`);
      return round;
    }
    say(
      `round ${round + 1} of ${plan.rounds}: ${plan.callsPerSecond} calls and ${plan.streamsPerSecond} streams a second`,
    );
    for (const entry of [...entries]) {
      const { runner, limits, seen } = entry;
      await orLeaveOut(runner.contender, leftOut, say, async () => {
        const once = () => measureOnce(processes, runner, limits, { ...plan, seed: round + 1 });
        seen.push(await orEnd(processes, runner, () => again(once, say)));
      });
      if (seen.length <= round) entries.splice(entries.indexOf(entry), 1);
    }
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  }
  return plan.rounds;
}

/** One wrong answer in ten minutes may be the machine's fault. */
async function again<T>(work: () => Promise<T>, say: Say): Promise<T> {
  try {
    return await work();
  } catch (error) {
    say(`once more, after: ${error instanceof Error ? error.message : error}`);
    return await work();
  }
}

/** One that failed must not be at work beside the others. */
async function orEnd<T>(processes: Processes, { pid }: Runner, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (pid !== undefined) await processes.end(pid);
    throw error;
  }
}

async function orLeaveOut(contender: Contender, leftOut: LeftOut, say: Say, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    leave(contender, leftOut, say, error);
  }
}

/** One that cannot be measured is named with the reason; without our own there is nothing to say. */
function leave({ name, isOurs }: Pick<Contender, "name" | "isOurs">, leftOut: LeftOut, say: Say, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  if (isOurs || name === "direct") throw new Error(`${name}: ${reason}`);
  leftOut.push({ name, reason });
  say(`left out: ${name}: ${reason}`);
}
