import { GatewayError } from "../contract/index.ts";

/** The last millisecond that a `Date` can name. */
const lastMs = 8.64e15;

/** @param at Milliseconds since 1970. @throws {GatewayError} `invalid_request` for an expiry that is no time, or past. */
export function validateExpiry(at: number, now: number): void {
  if (Number.isSafeInteger(at) && at > now && at <= lastMs) return;
  const shown = Math.abs(at) <= lastMs ? new Date(at).toISOString() : at;
  const sentence = `expires_at is ${shown}, expected a moment to come such as ${nextYear(now)}`;
  throw new GatewayError("invalid_request", sentence, { param: "expires_at" });
}

function nextYear(now: number): string {
  return `${new Date(now).getUTCFullYear() + 1}-01-31T00:00:00Z`;
}
