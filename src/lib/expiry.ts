import { GatewayError } from "../contract/index.ts";

/** The latest time that a `Date` can represent. */
export const latestTimeMs = 8.64e15;

/** @param at Milliseconds since 1970. @throws {GatewayError} `invalid_request` for an invalid or past time. */
export function validateExpiry(at: number, now: number): void {
  if (Number.isSafeInteger(at) && at > now && at <= latestTimeMs) return;
  const shown = Math.abs(at) <= latestTimeMs ? new Date(at).toISOString() : at;
  const message = `expires_at is ${shown}, expected a time in the future such as ${nextYear(now)}`;
  throw new GatewayError("invalid_request", message, { param: "expires_at" });
}

function nextYear(now: number): string {
  return `${new Date(now).getUTCFullYear() + 1}-01-31T00:00:00Z`;
}
