import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import type { Question } from "../exchange.ts";
import { askOnce } from "../load.ts";
import { coreOf, type Launched, type Processes, type Server } from "../processes.ts";
import { median } from "../rounds.ts";
import { type Contender, key, path } from "./contender.ts";

/** One that runs and has answered rightly. */
export interface Runner {
  contender: Contender;
  /** Absent: the provider itself, asked without anything between. */
  pid?: number;
  question: Omit<Question, "kind">;
  /** From the start of the process to its first right answer; the median where it starts quickly enough to do it again. */
  startMs?: number;
}

const startMsMax = 150_000;
const pollMs = 3;
const startsOfQuick = 3;
const quickMs = 2000;

/** Starts it on the measured core, several times if that is quick, and leaves it running. */
export async function startRunner(processes: Processes, contender: Contender, provider: Server): Promise<Runner> {
  const folder = join(processes.folder, contender.name.replaceAll(/\W+/g, "-"));
  mkdirSync(folder);
  const times: number[] = [];
  while (true) {
    const { pid, startMs, question } = await startOnce(processes, contender, { provider, folder });
    times.push(startMs);
    if (startMs > quickMs || times.length === startsOfQuick) {
      return { contender, pid, question, startMs: median(times) };
    }
    await processes.end(pid);
  }
}

async function startOnce(
  processes: Processes,
  contender: Contender,
  { provider, folder }: { provider: Server; folder: string },
) {
  const place = { port: await freePort(), provider: provider.origin, folder };
  const { command, env = {} } = await contender.commandAt(place);
  const question = { url: `http://127.0.0.1:${place.port}${path}`, key, ...contender.asking?.(place) };
  const startedAt = performance.now();
  const launched = processes.launch({ command, env, core: coreOf.subject });
  try {
    await untilRight({ kind: "json", ...question }, launched);
    const startMs = performance.now() - startedAt;
    const { mistake } = await askOnce({ kind: "burst", ...question });
    if (mistake !== undefined) throw new Error(`its stream is wrong: ${mistake}`);
    return { pid: launched.pid, startMs, question };
  } catch (error) {
    await processes.end(launched.pid);
    const said = (await Bun.file(launched.logFile).text()).trim().slice(-300);
    throw new Error(`${(error as Error).message}${said === "" ? "" : `; it said: ${said}`}`);
  }
}

async function untilRight(question: Question, { exited }: Launched): Promise<void> {
  const deadline = performance.now() + startMsMax;
  let code: number | undefined;
  let last = "nothing";
  exited.then((ended) => {
    code = ended;
  });
  while (performance.now() < deadline) {
    if (code !== undefined) throw new Error(`it ended with ${code}`);
    try {
      const { mistake } = await askOnce(question, startMsMax);
      if (mistake === undefined) return;
      last = mistake;
    } catch (error) {
      last = String(error);
    }
    await Bun.sleep(pollMs);
  }
  throw new Error(`it did not answer rightly in ${startMsMax / 1000} s; last: ${last.slice(0, 200)}`);
}
