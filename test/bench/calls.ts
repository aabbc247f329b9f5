import { chunkCount, chunkIntervalMs, type JobKind, jobs } from "./job.ts";
import type { Options, Part } from "./options.ts";
import type { Processes } from "./processes.ts";
import { type Row, runRounds } from "./rounds.ts";
import type { Subject } from "./subjects.ts";

/** What is measured in each part, and over how many connections. */
const plan: Partial<Record<Part, readonly (readonly [JobKind, number])[]>> = {
  json: [["json", 32]],
  stream: [
    ["burst", 32],
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
/** A paced stream that takes so many times as long as through the first subject shows one that cannot do with more. */
const lateTimes = 2;

/** A subject without a figure in a workload, and why. */
export interface Gap {
  kind: JobKind;
  connections: number;
  subject: string;
  reason: string;
}

export interface Found {
  rows: Row[];
  gaps: Gap[];
}

/** Every workload over all subjects, each in turn and alone at work; what is found is added to `found`. */
export async function measureCalls(
  options: Options,
  processes: Processes,
  { subjects, found, say }: { subjects: readonly Subject[]; found: Found; say: (line: string) => void },
): Promise<void> {
  const { rows, gaps } = found;
  for (const [kind, connections] of options.parts.flatMap((part) => plan[part] ?? [])) {
    const left = options.secondsMax - performance.now() / 1000;
    say(`${kind}: ${connections} connections (${left.toFixed(0)} s left)`);
    const isPaced = kind === "paced";
    const leave = ({ name }: Subject, error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      gaps.push({ kind, connections, subject: name, reason });
      say(`${name} has no figure: ${reason}`);
    };
    const able = subjects.filter(({ name, lacks }) => {
      if (lacks?.includes(jobs[kind].protocol)) leave({ name } as Subject, "it does not have this protocol");
      else if (isPaced && isLate(rows, name)) leave({ name } as Subject, "with 100 of them it did not keep up");
      else return true;
      return false;
    });
    const order = {
      kind,
      connections,
      // Two streams, one after the other.
      seconds: isPaced ? (chunkCount * chunkIntervalMs * 1.25) / 1000 : options.roundSeconds,
      rounds: isPaced ? Math.min(2, options.rounds) : options.rounds,
      ...(!isPaced && { warmSeconds: 2 }),
    };
    rows.push(...(await runRounds(processes, able, order, leave)));
  }
}

function isLate(rows: readonly Row[], name: string): boolean {
  const paced = rows.filter(({ kind }) => kind === "paced");
  const found = paced.find(({ subject }) => subject === name);
  return found !== undefined && found.p50Ms > lateTimes * (paced[0] as Row).p50Ms;
}
