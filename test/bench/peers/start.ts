import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { pathOf } from "../job.ts";
import { askOnce, runLoad } from "../load.ts";
import { coreOf, type Launched, type Processes } from "../processes.ts";
import { median } from "../rounds.ts";
import type { Subject, Upstream } from "../subjects.ts";
import { type Contender, key } from "./contender.ts";

/** One that runs, has answered rightly and is warm. */
export interface Runner extends Subject {
  /** From the start of the process to its first right answer; the median where it starts quickly enough to do it again. */
  startMs: number;
}

const startMsMax = 150_000;
const pollMs = 3;
const startsOfQuick = 3;
const quickMs = 2000;
const slowCallsPerSecond = 1000;

/** Starts it on the measured core, several times if that is quick, and leaves it running. */
export async function startRunner(processes: Processes, contender: Contender, provider: Upstream): Promise<Runner> {
  const folder = join(processes.folder, contender.name.replaceAll(/\W+/g, "-"));
  mkdirSync(folder);
  const times: number[] = [];
  while (true) {
    const { subject, startMs } = await startOnce(processes, contender, { provider, folder });
    times.push(startMs);
    if (startMs <= quickMs && times.length < startsOfQuick) {
      await processes.end(subject.pid);
      continue;
    }
    try {
      const callsPerSecond = await warmUp(processes, subject);
      return { ...subject, startMs: median(times), isSlow: callsPerSecond < slowCallsPerSecond };
    } catch (error) {
      await processes.end(subject.pid);
      throw error;
    }
  }
}

/** Lets it compile its hot paths, and sees how many calls a second it does. */
async function warmUp(processes: Processes, { url, key, asking }: Subject): Promise<number> {
  const run = (kind: "json" | "burst", seconds: number) =>
    runLoad(processes, { kind, url, key, ...asking?.("chat"), connections: 32, seconds, ownClient: true });
  await run("json", 2.5);
  await run("burst", 1.5);
  const { calls, seconds } = await run("json", 1);
  return calls / seconds;
}

async function startOnce(
  processes: Processes,
  contender: Contender,
  { provider, folder }: { provider: Upstream; folder: string },
): Promise<{ subject: Subject; startMs: number }> {
  const place = { port: await freePort(), provider: provider.origin, caFile: provider.caFile, folder };
  const { command, env = {} } = await contender.commandAt(place);
  const origin = `http://127.0.0.1:${place.port}`;
  const { name, lacks, asking } = contender;
  const startedAt = performance.now();
  const launched = processes.launch({ command, env, core: coreOf.subject });
  const subject: Subject = {
    name,
    pid: launched.pid,
    origin,
    url: origin + pathOf.chat,
    key,
    ...(lacks && { lacks }),
    ...(asking && { asking: (protocol) => asking(place, protocol) }),
  };
  try {
    await untilRight(contender, subject, launched);
    const startMs = performance.now() - startedAt;
    const { status } = await askOnce({ ...subject, kind: "json", key: unknownKey, ...subject.asking?.("chat") });
    if (contender.hasKeys && status < 400) throw new Error(`it answers an unknown key with ${status}`);
    return { subject, startMs };
  } catch (error) {
    await processes.end(launched.pid);
    const said = (await Bun.file(launched.logFile).text()).trim().slice(-300);
    throw new Error(`${(error as Error).message}${said === "" ? "" : `; it said: ${said}`}`);
  }
}

const unknownKey = "sk-mg-bench0002-0123456789abcdef0123456789abcdef";

async function untilRight({ makeKey }: Contender, subject: Subject, { exited }: Launched): Promise<void> {
  const deadline = performance.now() + startMsMax;
  let code: number | undefined;
  let last = "nothing";
  let hasKey = makeKey === undefined;
  exited.then((ended) => {
    code = ended;
  });
  while (performance.now() < deadline) {
    if (code !== undefined) throw new Error(`it ended with ${code}`);
    try {
      if (!hasKey && makeKey !== undefined) subject.key = await makeKey(subject.origin);
      hasKey = true;
      const { mistake } = await askOnce({ ...subject, kind: "json", ...subject.asking?.("chat") }, startMsMax);
      if (mistake === undefined) return;
      last = mistake;
    } catch (error) {
      last = String(error);
    }
    await Bun.sleep(pollMs);
  }
  throw new Error(`it did not answer rightly in ${startMsMax / 1000} s; last: ${last.slice(0, 200)}`);
}
