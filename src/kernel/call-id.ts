import { callIdPrefix, idAlphabet } from "../contract/index.ts";

const poolSize = 4096;
const pool = new Uint8Array(poolSize);
let used = poolSize;
let stampedAt = -1;
let stamp = "";

/** Random characters of 5 bits each, from a pool that is refilled 4 kB at a time. */
export function randomText(count: number): string {
  if (used + count > poolSize) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let text = "";
  for (let i = 0; i < count; i++) text += idAlphabet[(pool[used++] as number) & 31];
  return text;
}

/**
 * The id of a call: `req_`, 10 characters of time, 16 random ones (80 bits). Ids of later milliseconds sort later, so
 * that rows are appended at the end of the index.
 */
export function makeCallId(nowMs: number): string {
  if (nowMs !== stampedAt) {
    stampedAt = nowMs;
    stamp = callIdPrefix(nowMs);
  }
  return stamp + randomText(16);
}
