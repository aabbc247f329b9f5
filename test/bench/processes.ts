import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { treeOf } from "./process-stats.ts";

const startMsMax = 20_000;
/** In front of a command that is to end with this process, however that ends. */
export const untilDeath = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
const hasTaskset = Bun.which("taskset") !== null;
const cores = availableParallelism();

/** Where each process runs: what is measured has the first core to itself, the rest share the others. */
export const coreOf = {
  subject: 0,
  upstream: Math.min(1, cores - 1),
  load: Math.min(2, cores - 1),
} as const;

export const isPinned = hasTaskset && cores > 1;

function pinned(core: number, command: string[]): string[] {
  return isPinned ? ["taskset", "-c", String(core), ...command] : command;
}

/** A server in a process of its own. */
export interface Server {
  pid: number;
  origin: string;
}

export interface ServerCommand {
  command: string[];
  core: number;
  env?: Record<string, string>;
}

/** A process that was started, and the file of what it says. */
export interface Launched {
  pid: number;
  logFile: string;
  /** Resolves when it has ended. */
  exited: Promise<number>;
}

/** All that the bench has started, so that it can end all of it. */
export class Processes {
  readonly #children = new Set<Bun.Subprocess>();
  readonly folder = mkdtempSync(join(tmpdir(), "modelgate-bench-"));
  #logs = 0;

  /** Starts a server that says on its standard output where it listens. */
  async serve({ command, core, env = {} }: ServerCommand): Promise<Server> {
    const logFile = this.#newLog();
    const child = this.#spawn(pinned(core, command), { env, stdout: "pipe", stderr: openSync(logFile, "w") });
    const port = await portFrom(child.stdout as ReadableStream<Uint8Array>);
    if (port !== undefined) return { pid: child.pid, origin: `http://127.0.0.1:${port}` };
    throw new Error(`${command.join(" ")} did not start: ${(await Bun.file(logFile).text()).slice(-2000)}`);
  }

  /** Starts a program that knows nothing of the bench; it ends with the bench all the same. */
  launch({ command, core, env = {} }: ServerCommand): Launched {
    const logFile = this.#newLog();
    const log = openSync(logFile, "w");
    const child = this.#spawn([...untilDeath, ...pinned(core, command)], { env, stdout: log, stderr: log });
    closeSync(log);
    return { pid: child.pid, logFile, exited: child.exited };
  }

  #newLog(): string {
    return join(this.folder, `server-${this.#logs++}.log`);
  }

  #spawn(
    command: string[],
    { env, ...output }: { env: Record<string, string>; stdout: "pipe" | number; stderr: number },
  ): Bun.Subprocess {
    const child = Bun.spawn(command, {
      env: { PATH: process.env.PATH ?? "", HOME: this.folder, ...env },
      cwd: this.folder,
      stdin: "pipe",
      ...output,
    });
    this.#children.add(child);
    return child;
  }

  /** Runs a command to its end. */
  async run(command: string[], core: number): Promise<string> {
    const child = Bun.spawn(pinned(core, command), { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    this.#children.add(child);
    const [output, complaint] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    const code = await child.exited;
    this.#children.delete(child);
    if (code !== 0) throw new Error(`${command.slice(0, 3).join(" ")} ended with ${code}: ${complaint}${output}`);
    return output;
  }

  async end(pid: number): Promise<void> {
    for (const child of this.#children) {
      if (child.pid !== pid) continue;
      killTree(child.pid);
      await child.exited;
      this.#children.delete(child);
    }
  }

  /** Asks a process to end and waits until it has done what it does then. */
  async stop(pid: number): Promise<void> {
    for (const child of this.#children) {
      if (child.pid !== pid) continue;
      child.kill("SIGTERM");
      await child.exited;
      this.#children.delete(child);
    }
  }

  async endAll(): Promise<void> {
    for (const child of this.#children) if (child.exitCode === null) killTree(child.pid);
    await Promise.all([...this.#children].map((child) => child.exited));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A child that has ended in the same instant needs no signal. */
function killTree(pid: number): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** The first port named in what a server prints, which is read to its end so that the server never waits for us. */
function portFrom(output: ReadableStream<Uint8Array>): Promise<number | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), startMsMax);
    const read = async () => {
      let text = "";
      for await (const bytes of output) {
        if (text.length < 10_000) text += Buffer.from(bytes).toString();
        const port = /(?:listening on |127\.0\.0\.1:)(\d+)/.exec(text)?.[1];
        if (port !== undefined) resolve(Number(port));
      }
      resolve(undefined);
      clearTimeout(timer);
    };
    read();
  });
}
