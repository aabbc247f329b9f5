import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

/** A Redis or Valkey server of one's own. */
export interface TestRedis {
  url: string;
  port: number;
  pid: number;
  /** Runs a command by a connection of its own and returns what the server answered. */
  command(...words: string[]): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Ends it and removes its folder. */
  remove(): Promise<void>;
}

export interface RedisOptions {
  port?: number;
  flags?: string[];
}

/** How a suite is run over another server than the one that is found: the path of its program. */
export const redisVariable = "MODELGATE_TEST_REDIS";

/** The server's program; `null` when this machine has none. */
export const redisProgram = process.env[redisVariable] ?? Bun.which("redis-server") ?? Bun.which("valkey-server");

const startMsMax = 60_000;
/** The server ends with this process, however that ends. */
const untilDeath = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];

/** Starts one on a loopback port, which keeps nothing on disk. */
export async function launchRedis({ port: given, flags: more = [] }: RedisOptions = {}): Promise<TestRedis> {
  const port = given ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), "modelgate-redis-"));
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  // It ends with this process, however that ends, and holds none of its output open.
  const log = join(folder, "log");
  const command = [...untilDeath, redisProgram as string, ...flags, "--logfile", log, ...more];
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "ignore" });
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill("SIGCONT");
    child.kill(signal);
    await child.exited;
  };
  const server: TestRedis = {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    pid: child.pid,
    command: (...words) => ask(port, words),
    stop,
    async remove() {
      await stop("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await untilReady(log, () => child.exitCode);
  return server;
}

/** Ready is who says so itself: on a port that is taken already, another may answer. */
async function untilReady(log: string, exitCode: () => number | null): Promise<void> {
  const deadline = Date.now() + startMsMax;
  while (true) {
    const ended = exitCode();
    const said = existsSync(log) ? readFileSync(log, "utf8") : "";
    if (said.includes("Ready to accept connections")) return;
    const last = said.trim().split("\n").slice(-2).join("; ");
    if (ended !== null) throw new Error(`redis-server ended with ${ended} at its start: ${last}`);
    if (Date.now() > deadline) throw new Error(`redis-server was not ready within ${startMsMax} ms: ${last}`);
    await Bun.sleep(10);
  }
}

/** One command and its answer, as they are on the wire. */
function ask(port: number, words: string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const text = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("");
  Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => void socket.write(`*${words.length}\r\n${text}`),
      data(socket, bytes) {
        resolve(bytes.toString());
        socket.end();
      },
      error: (_socket, error) => reject(error),
      connectError: (_socket, error) => reject(error),
      close: () => reject(new Error("The server closed the connection")),
    },
  }).catch(reject);
  return promise;
}
