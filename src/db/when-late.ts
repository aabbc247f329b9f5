import { setImmediate, setTimeout } from "node:timers";

/**
 * Calls `late` when an answer did not come in time. Where it was this process that stood still, the answer may lie unread: two more
 * turns of the event loop tell, so `late` asks once more whether it came.
 */
export function whenLate(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => setImmediate(late)), ms);
}
