import { type Config, getLocalOrigin, toListenError } from "../config/index.ts";
import type { Log } from "../kernel/index.ts";
import { getSelfCommand, signOfLifeMs, watchSignals } from "./lib/process.bun.ts";

const readyMsMax = 30_000;
const pollMs = 50;
/** Delay before a worker that died is started again. */
const restartMs = 1000;
/** Signs of life in a row that a worker may miss. They are counted and not timed: a machine that slept has missed none. */
const missedMax = 30;
/** Time for a worker to close, after its calls have ended or were aborted. */
const closeMsMax = 20_000;

type Worker = Bun.Subprocess<"pipe", "inherit", "inherit">;

/**
 * Runs several worker processes on one port, between which the operating system distributes connections, and resolves
 * when a signal has ended them. The first worker prepares the shared store before the others start. A worker that hangs gets its
 * share of the connections and answers none, so it is killed and replaced.
 */
export async function serveWorkers(
  config: Config,
  { env, log }: { env: Record<string, string | undefined>; log: Log },
): Promise<void> {
  checkPortIsFree(config);
  const workers = new Map<number, Worker>();
  const signals = watchSignals(() => {
    for (const worker of workers.values()) worker.kill("SIGKILL");
  });
  let isStopping = false;
  const start = (index: number) => {
    /** Absent until the worker has begun to serve. */
    let missed: number | undefined;
    const worker = spawn(index, env, () => {
      missed = 0;
    });
    workers.set(index, worker);
    const watch = setInterval(() => {
      if (missed === undefined || isStopping || ++missed <= missedMax) return;
      log.error("worker_hangs", { worker: index, seconds: (missedMax * signOfLifeMs) / 1000 });
      worker.kill("SIGKILL");
    }, signOfLifeMs);
    void worker.exited.then(() => {
      clearInterval(watch);
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
    const end = setTimeout(() => {
      log.error("worker_hangs", { workers: [...workers.keys()] });
      for (const worker of workers.values()) worker.kill("SIGKILL");
    }, toStopMsMax(config));
    await Promise.all([...workers.values()].map((worker) => worker.exited));
    clearTimeout(end);
    signals.stop();
  }
}

/** Time within which a worker stops that does not hang. */
function toStopMsMax({ drainNoticeSeconds, drainSeconds }: Config): number {
  return (drainNoticeSeconds + drainSeconds) * 1000 + closeMsMax;
}

/** Standard input is a pipe that closes when this process dies, which ends the worker. */
function spawn(index: number, env: Record<string, string | undefined>, onSignOfLife: () => void): Worker {
  return Bun.spawn(getSelfCommand(["serve"]), {
    env: { ...env, MODELGATE_WORKER: String(index) },
    ipc: onSignOfLife,
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
