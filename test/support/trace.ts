import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";

/** A system call as strace tells it. */
export interface SystemCall {
  readonly name: string;
  /** Its arguments as text; of an open file with its path, of data the bytes. */
  readonly text: string;
  /** Where in the order of all events it began, and where it had returned; the same when nothing was between. */
  readonly begun: number;
  readonly returned: number;
}

/** A process that is looked at. */
export interface Trace {
  /** Ends the look, and says what it saw. The process goes on. */
  stop(): Promise<SystemCall[]>;
}

const traced = "fsync,fdatasync,pwrite64,write,writev,sendto,sendmsg,read,readv,recvfrom,recvmsg";
/** A page of SQLite is 4096 bytes. */
const textMax = 8192;

/** Why system calls cannot be traced here; `undefined` when they can. */
export const whyNoTrace: string | undefined = await findWhyNot();

async function findWhyNot(): Promise<string | undefined> {
  if (Bun.which("strace") === null) return "strace is not installed here: apt-get install strace";
  const sleeper = Bun.spawn(["sleep", "60"]);
  try {
    await (await traceProcess(sleeper.pid)).stop();
    return undefined;
  } catch (error) {
    return `strace may not attach to a process here: ${(error as Error).message}`;
  } finally {
    sleeper.kill();
  }
}

/** Looks at the system calls of a process and all its threads from now on. @throws When that is not allowed. */
export async function traceProcess(pid: number): Promise<Trace> {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-trace-"));
  const file = join(folder, "calls");
  const command = ["strace", "-f", "-y", "-s", String(textMax), "-e", `trace=${traced}`, "-o", file, "-p", String(pid)];
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe", env: { ...process.env, LC_ALL: "C" } });
  let said = "";
  const heard = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of child.stderr) said += decoder.decode(piece, { stream: true });
  })();
  await until(() => child.exitCode !== null || said.includes(`Process ${pid} attached`));
  if (child.exitCode !== null) {
    await heard;
    rmSync(folder, { recursive: true });
    throw new Error(said.trim());
  }
  return {
    async stop() {
      child.kill("SIGINT");
      await child.exited;
      const calls = existsSync(file) ? readCalls(readFileSync(file, "latin1")) : [];
      rmSync(folder, { recursive: true });
      return calls;
    },
  };
}

/** What another thread did meanwhile stands between the two halves of a call. */
function readCalls(text: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, { name: string; text: string; begun: number }>();
  for (const [index, line] of text.split("\n").entries()) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. (\w+) resumed>(.*)$/.exec(rest);
    const begun = /^(\w+)\((.*)$/.exec(rest);
    if (resumed !== null) {
      const first = unfinished.get(thread);
      unfinished.delete(thread);
      if (first !== undefined) calls.push({ ...first, text: first.text + resumed[2], returned: index });
    } else if (begun !== null) {
      const call = { name: begun[1] as string, text: begun[2] as string, begun: index };
      if (rest.endsWith("<unfinished ...>")) unfinished.set(thread, call);
      else calls.push({ ...call, returned: index });
    }
  }
  return calls;
}
