import type { Config } from "../config/index.ts";
import { getLocalOrigin, toListenError } from "../config/index.ts";
import { getSelfCommand, watchSignals } from "./lib/process.bun.ts";

const readyMsMax = 30_000;
const pollMs = 50;
/** Delay before a worker that died is started again. */
const restartMs = 1000;

type Worker = Bun.Subprocess<"pipe", "inherit", "inherit">;

/**
 * Runs several worker processes on one port, between which the operating system distributes connections, and resolves
 * when a signal has ended them. The first worker prepares the shared store before the others start.
 */
export async function serveWorkers(config: Config, env: Record<string, string | undefined>): Promise<void> {
  checkPortIsFree(config);
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

/** Standard input is a pipe that closes when this process dies, which ends the worker. */
function spawn(index: number, env: Record<string, string | undefined>): Worker {
  return Bun.spawn(getSelfCommand(["serve"]), {
    env: { ...env, MODELGATE_WORKER: String(index) },
    stdin: "pipe",
    stdout: "inherit",
    stderr: "inherit",
  });
}

async function untilReady({ host, port }: Config, worker: Worker): Promise<void> {
  const origin = getLocalOrigin(host, port);
  const deadline = performance.now() + readyMsMax;
  while (performance.now() < deadline) {
    if (worker.exitCode !== null) throw new Error("The first worker did not start; its error is printed above");
    const isReady = await fetch(`${origin}/healthz`).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    await Bun.sleep(pollMs);
  }
  throw new Error(`The first worker did not answer within ${readyMsMax / 1000} s`);
}

/** Workers share their port, so another gateway on it would silently receive some of the calls. */
function checkPortIsFree({ host, port }: Config): void {
  try {
    Bun.listen({ hostname: host, port, socket: { data: () => undefined } }).stop(true);
  } catch (error) {
    throw toListenError(error, host, port);
  }
}
