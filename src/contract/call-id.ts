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
