import { setImmediate, setTimeout } from "node:timers";

/**
 * Calls `late` when an answer does not arrive in time. If this process itself was blocked, the answer may have arrived
 * unread: `late` runs only two turns of the event loop later and checks once more whether the answer is there.
 */
export function whenLate(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => setImmediate(late)), ms);
}
