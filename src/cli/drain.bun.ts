import type { App } from "../app.ts";
import type { Config } from "../config/index.ts";
import type { Log } from "../kernel/index.ts";

const pollMs = 10;
/** Time for aborted calls to settle, and for the last bytes to be sent. */
const settleMsMax = 5000;
const flushMsMax = 1000;

/**
 * Shuts a server down: announces it, rejects new calls, waits for running calls, and aborts those that take longer than
 * DRAIN_SECONDS. All calls are settled when this resolves.
 *
 * @returns How much of that time is left, in milliseconds.
 */
export async function drain({ loadShedder, http }: App, config: Config, log: Log): Promise<number> {
  const { server } = http;
  const { drainSeconds, drainNoticeSeconds } = config;
  log.info("stopping", { calls: loadShedder.size });
  loadShedder.announceShutdown();
  if (drainNoticeSeconds > 0) await Bun.sleep(drainNoticeSeconds * 1000);
  loadShedder.close();
  http.sockets?.drain();
  const deadlineMs = performance.now() + drainSeconds * 1000;
  let isStopped = server === null;
  server?.stop().then(() => {
    isStopped = true;
  });
  const isIdle = () => loadShedder.size === 0 && (server === null || server.pendingRequests === 0);
  if (!isIdle()) log.info("draining", { calls: loadShedder.size, seconds: drainSeconds });
  if (!(await waitUntil(isIdle, drainSeconds * 1000))) {
    loadShedder.cancelAll();
    const { streams, others } = loadShedder.cutCounts;
    log.warn("drain_timeout", { calls: streams + others, streams });
    await waitUntil(isIdle, settleMsMax);
  }
  await waitUntil(() => isStopped, flushMsMax);
  await server?.stop(true);
  log.info("stopped");
  return Math.max(0, deadlineMs - performance.now());
}

async function waitUntil(condition: () => boolean, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax;
  while (!condition()) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(pollMs);
  }
  return true;
}
