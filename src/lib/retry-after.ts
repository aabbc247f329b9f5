/** The one text of a header, or `null`: what `Headers` offers. */
export interface HeaderReader {
  get(name: string): string | null;
}

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * When a provider said that a retry can succeed. Read from, in this order: `retry-after-ms`, `retry-after` (seconds or a
 * date), the body (Gemini's `retryDelay`, OpenAI's and Groq's "try again in 7.66s"), and the `x-ratelimit-reset-*` of
 * what is used up.
 *
 * @param body The answer's body as text, for the providers that say it there.
 * @returns Milliseconds from `nowMs`, whole, never negative; `undefined` when the provider did not say.
 *
 * @example
 * retryAfterMs(new Headers({ "retry-after": "7" })); // => 7000
 */
export function retryAfterMs(headers: HeaderReader, body = "", nowMs: number = Date.now()): number | undefined {
  const exact = readNumber(headers.get("retry-after-ms"), 1);
  return exact ?? readRetryAfter(headers.get("retry-after"), nowMs) ?? bodyDelayMs(body) ?? resetMs(headers);
}

/** Longer than any true one, and still exact as a number. */
const durationCharactersMax = 40;

/**
 * Reads a duration as Go writes it: `120ms`, `7.66s`, `6m0s`, `1h2m3.4s`.
 *
 * @returns Whole milliseconds rounded up, or `undefined` when the text is not a duration.
 *
 * @example
 * readDurationMs("1m7.5s"); // => 67500
 * readDurationMs("soon"); // => undefined
 */
export function readDurationMs(text: string): number | undefined {
  if (text.length > durationCharactersMax || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    sum += Number(amount) * (unitMs[unit as string] as number);
  }
  return Math.ceil(sum);
}

function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const ms = readNumber(text, 1000);
  if (ms !== undefined) return ms;
  const date = /[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? readDurationMs(text.trim()) : Math.max(0, date - nowMs);
}

function bodyDelayMs(body: string): number | undefined {
  const delay =
    /"retryDelay"\s*:\s*"([^"]{1,40})"/.exec(body)?.[1] ?? /try again in ([\dhms.]+\d?[hms])/i.exec(body)?.[1];
  return delay === undefined ? undefined : readDurationMs(delay);
}

function resetMs(headers: HeaderReader): number | undefined {
  let longest: number | undefined;
  for (const what of ["requests", "tokens"]) {
    if (headers.get(`x-ratelimit-remaining-${what}`)?.trim() !== "0") continue;
    const text = headers.get(`x-ratelimit-reset-${what}`)?.trim();
    const reset = text === undefined ? undefined : (readDurationMs(text) ?? readNumber(text, 1000));
    if (reset !== undefined && (longest === undefined || reset > longest)) longest = reset;
  }
  return longest;
}

/** A number of `unit` milliseconds, rounded up. */
function readNumber(text: string | null | undefined, unit: number): number | undefined {
  return text && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Math.ceil(Number(text) * unit) : undefined;
}
