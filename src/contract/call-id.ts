/** Crockford's base 32 in lower case, whose order is that of the digits. */
export const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

const timeMax = 2 ** 50 - 1;

/** What the ids of calls of this millisecond begin with: `req_` and 10 characters of time. Later ones sort later. */
export function callIdPrefix(ms: number): string {
  let rest = Math.min(Math.max(0, Math.floor(ms)), timeMax);
  let text = "";
  for (let i = 0; i < 10; i++) {
    text = (idAlphabet[rest % 32] as string) + text;
    rest = Math.floor(rest / 32);
  }
  return `req_${text}`;
}

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
