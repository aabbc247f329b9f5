import { clearTimeout, setTimeout } from "node:timers";
import type { Blobs } from "../blobs.ts";
import { LostConnection } from "./lost-connection.ts";

/** Files are put and got within calls, so they wait no longer than calls may. Pruning is nobody's wait. */
export function blobsWithTimeout(blobs: Blobs, patienceMs: number): Blobs {
  return {
    put: (blob) => within(patienceMs, blobs.put(blob)),
    get: (id) => within(patienceMs, blobs.get(id)),
    prune: (now) => blobs.prune(now),
  };
}

async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new LostConnection(`PostgreSQL did not answer within ${patienceMs} ms`, true)),
    patienceMs,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
