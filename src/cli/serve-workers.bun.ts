import type { Config } from "../config/index.ts";
import { toListenError } from "../config/index.ts";
import { selfCommand } from "./own-command.bun.ts";
import { watchSignals } from "./signals.ts";

const readyMsMax = 30_000;
const pollMs = 50;
/** A worker that dies is started again, but never in a hurry. */
const restartMs = 1000;

type Worker = Bun.Subprocess<"pipe", "inherit", "inherit">;

/**
 * Runs several processes of this program on one port, among which the kernel of the machine deals connections, and
 * resolves when a signal has ended them all. The first prepares what the others share, so it is ready before they start.
 */
export async function serveWorkers(config: Config, env: Record<string, string | undefined>): Promise<void> {
  expectFreePort(config);
  const workers = new Map<number, Worker>();
  const signals = watchSignals(() => {
    for (const worker of workers.values()) worker.kill("SIGKILL");
  });
  let isStopping = false;
  const start = (index: number) => {
    const worker = spawn(index, env);
    workers.set(index, worker);
    void worker.exited.then(() => {
      workers.delete(index);
      if (!isStopping) setTimeout(() => !isStopping && start(index), restartMs);
    });
    return worker;
  };
  const first = start(1);
  try {
    await Promise.race([untilReady(config, first), signals.first]);
    for (let index = 2; index <= config.workers; index++) start(index);
    await signals.first;
  } finally {
    isStopping = true;
    for (const worker of workers.values()) worker.kill("SIGTERM");
    await Promise.all([...workers.values()].map((worker) => worker.exited));
    signals.stop();
  }
}

/** Its input is a pipe that ends with this process, however that dies; a worker ends itself then. */
function spawn(index: number, env: Record<string, string | undefined>): Worker {
  return Bun.spawn(selfCommand(["serve"]), {
    env: { ...env, MODELGATE_WORKER: String(index) },
    stdin: "pipe",
    stdout: "inherit",
    stderr: "inherit",
  });
}

async function untilReady({ host, port }: Config, worker: Worker): Promise<void> {
  const shown = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;
  const deadline = Date.now() + readyMsMax;
  while (Date.now() < deadline) {
    if (worker.exitCode !== null) throw new Error("The first worker did not start: its reason stands above");
    const answers = await fetch(`http://${shown}:${port}/healthz`).then(
      (response) => response.ok,
      () => false,
    );
    if (answers) return;
    await Bun.sleep(pollMs);
  }
  throw new Error(`The first worker did not answer within ${readyMsMax / 1000} s`);
}

/** Workers share the port with whoever shares it, so another gateway there would get half of the calls unseen. */
function expectFreePort({ host, port }: Config): void {
  try {
    Bun.listen({ hostname: host, port, socket: { data: () => undefined } }).stop(true);
  } catch (error) {
    throw toListenError(error, host, port);
  }
}
