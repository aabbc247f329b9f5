/** Crockford's base 32 in lower case: characters sort in the order of their values. */
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

const timeMax = 2 ** 48 - 1;
const timeDigits = 12;
const randomBytes = 10;

/** Prefix of the ids of calls of this millisecond: `req_` and 12 hexadecimal digits of time. Later ones sort later. */
export function callIdPrefix(ms: number): string {
  const time = Math.min(Math.max(0, Math.floor(ms)), timeMax);
  return `req_${time.toString(16).padStart(timeDigits, "0")}`;
}

const poolSize = 4096;
const pool = Buffer.alloc(poolSize);
let used = poolSize;
let stampedAt = -1;
let stamp = "";

/** Takes random bytes from a pool that is refilled 4 kB at a time. Returns where they begin. */
function takeRandom(count: number): number {
  if (used + count > poolSize) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += count;
  return used - count;
}

/** Random characters of 5 bits each. */
export function randomText(count: number): string {
  const start = takeRandom(count);
  let text = "";
  for (let i = start; i < start + count; i++) text += idAlphabet[(pool[i] as number) & 31];
  return text;
}

/**
 * Makes the id of a call: `req_` and 32 hexadecimal digits, 12 of time and 20 random ones (80 bits). Ids of later
 * milliseconds sort later, so rows are appended at the end of the index. The database stores the id as 16 bytes.
 */
export function makeCallId(nowMs: number): string {
  if (nowMs !== stampedAt) {
    stampedAt = nowMs;
    stamp = callIdPrefix(nowMs);
  }
  const start = takeRandom(randomBytes);
  return stamp + pool.toString("hex", start, start + randomBytes);
}
