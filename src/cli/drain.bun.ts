import type { App } from "../app.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../kernel/index.ts";

/** How often it is looked whether all calls have ended. */
const pollMs = 10;
/** What calls that were cut have for settling, and last bytes for leaving. */
const settleMsMax = 5000;
const flushMsMax = 1000;

/**
 * Ends a server so that nobody loses anything: says that it leaves, takes no more, lets calls at work come to their end
 * and ends those that do not in time with an error of their own. Everything is settled when this resolves.
 */
export async function drain({ loadShedder, http }: App, config: Config, log: Log): Promise<void> {
  const { server } = http;
  const { drainSeconds, drainNoticeSeconds } = config;
  loadShedder.announceShutdown();
  if (drainNoticeSeconds > 0) await Bun.sleep(drainNoticeSeconds * 1000);
  loadShedder.close();
  const stopped = server?.stop();
  const isQuiet = () => loadShedder.size === 0 && (server === null || server.pendingRequests === 0);
  if (!isQuiet()) log.info("draining", { calls: loadShedder.size, seconds: drainSeconds });
  if (!(await until(isQuiet, drainSeconds * 1000))) {
    log.warn("drain_timeout", { calls: loadShedder.size });
    loadShedder.cancelAll();
    await until(isQuiet, settleMsMax);
  }
  await Promise.race([stopped, Bun.sleep(flushMsMax)]);
  await server?.stop(true);
}

async function until(holds: () => boolean, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax;
  while (!holds()) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(pollMs);
  }
  return true;
}
