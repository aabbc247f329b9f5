import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Redis or Valkey server of the test's own. */
export interface TestRedis {
  url: string;
  port: number;
  pid: number;
  /** Runs a command by a connection of its own and returns what the server answered. */
  command(...words: string[]): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The server's program; absent when this machine has none. */
export const redisProgram = Bun.which("redis-server") ?? Bun.which("valkey-server");

if (redisProgram === null) {
  console.warn("Tests with Redis are skipped: there is no redis-server (Debian package redis-server)");
}

const startMsMax = 10_000;
/** The server ends with this process, however that ends. */
const untilDeath = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
const servers: TestRedis[] = [];
const folders: string[] = [];

/** Ends the servers that the calling file started, after its tests. */
export function useRedisServers(): void {
  afterAll(async () => {
    for (const server of servers.splice(0)) await server.stop("SIGKILL");
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
}

/** Starts one on a loopback port, which keeps nothing on disk; ended by {@link useRedisServers}. */
export async function startRedis(options: { port?: number; flags?: string[] } = {}): Promise<TestRedis> {
  const port = options.port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), "modelgate-redis-"));
  folders.push(folder);
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  // It ends with this process, however that ends, and holds none of its output open.
  const child = Bun.spawn([...untilDeath, redisProgram as string, ...flags, ...(options.flags ?? [])], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const server: TestRedis = {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    pid: child.pid,
    command: (...words) => ask(port, words),
    async stop(signal = "SIGTERM") {
      child.kill("SIGCONT");
      child.kill(signal);
      await child.exited;
    },
  };
  servers.push(server);
  await untilAnswers(server, () => child.exitCode);
  return server;
}

async function untilAnswers(server: TestRedis, exitCode: () => number | null): Promise<void> {
  const deadline = Date.now() + startMsMax;
  while (Date.now() < deadline) {
    if (exitCode() !== null) throw new Error(`redis-server ended with ${exitCode()} at its start`);
    if ((await server.command("PING").catch(() => "")).match(/^(\+PONG|-NOAUTH)/)) return;
    await Bun.sleep(10);
  }
  throw new Error(`redis-server did not answer within ${startMsMax} ms`);
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

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
