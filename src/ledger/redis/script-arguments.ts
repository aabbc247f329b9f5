import type { AdmissionRequest } from "../../contract/index.ts";
import { startOfDay } from "../../db/index.ts";
import type { Held } from "../call-record.ts";
import { callsExceeded, quotaExceeded, requestsExceeded, tokensExceeded } from "../limit-errors.ts";
import { type Backlogs, toBacklogs } from "../rate-limit.ts";

/** The arguments of `admit` after the time. */
export function toAdmitArguments(admission: AdmissionRequest, leaseMs: number): string[] {
  const { limits, keyLimits, keyId } = admission.caller;
  const ofAccount = toBacklogs(1, admission.limitTokens, limits);
  const ofKey = toBacklogs(1, admission.limitTokens, keyLimits ?? {});
  return [
    ...[admission.callId, String(leaseMs), keyId],
    ...[ofAccount.requestsMs, ofAccount.tokensMs, limits.concurrentCalls].map(toArgument),
    ...[ofKey.requestsMs, ofKey.tokensMs, keyLimits?.concurrentCalls].map(toArgument),
    ...toQuotaArguments(admission),
  ];
}

/** The arguments of `extend` after the time. */
export function toExtendArguments(admission: AdmissionRequest, moreTokens: number): string[] {
  const { limits, keyLimits, keyId } = admission.caller;
  return [
    ...[admission.callId, toArgument(toBacklogs(0, moreTokens, limits).tokensMs)],
    ...[keyId, toArgument(toBacklogs(0, moreTokens, keyLimits ?? {}).tokensMs)],
    ...toQuotaArguments(admission),
  ];
}

/** What `settle` adds to the rate limits of the account and of the key. */
export function toAddedArguments({ caller }: AdmissionRequest, requests: number, tokens: number): string[] {
  const ofAccount = toBacklogs(requests, tokens, caller.limits);
  const ofKey = toBacklogs(requests, tokens, caller.keyLimits ?? {});
  return [
    ...[ofAccount.requestsMs, ofAccount.tokensMs].map(toArgument),
    caller.keyId,
    ...[ofKey.requestsMs, ofKey.tokensMs].map(toArgument),
  ];
}

/** What a call draws from the free quota; empty for a premium call. */
function toQuotaArguments({ premium, holdTokens, minTokens, caller }: AdmissionRequest): string[] {
  return premium ? ["", "", ""] : [holdTokens, minTokens, caller.freeTokensPerDay].map(toArgument);
}

function toArgument(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

export function toHeld(holdTokens: number, quotaDay: number): Held {
  return { quotaDay, holdNanodollars: 0, holdTokens, periodStart: null };
}

/** Why the script refused a call, as the caller is told. */
export function toLimitError([limit, ...words]: string[], admission: AdmissionRequest, now: number): Error {
  const { limits, keyLimits, freeTokensPerDay } = admission.caller;
  const owner = words[0] === "key" ? "key" : "account";
  const bounds = owner === "key" ? (keyLimits ?? limits) : limits;
  const waitMs = Number(words[1]);
  switch (limit) {
    case "requests":
      return requestsExceeded(bounds.requestsPerMinute as number, waitMs, owner);
    case "tokens": {
      const tokens = { limit: bounds.tokensPerMinute as number, limitTokens: admission.limitTokens };
      return tokensExceeded(tokens, waitMs, owner);
    }
    case "calls":
      return callsExceeded(bounds.concurrentCalls as number, owner);
    case "quota": {
      const [usedTokens, heldTokens, day] = words.map(Number) as [number, number, number];
      const quota = { limitTokens: freeTokensPerDay, usedTokens, heldTokens, resetsAt: startOfDay(day + 1) };
      return quotaExceeded(admission, quota, now);
    }
    default:
      return new Error(`Redis answered ${limit} to an admission`);
  }
}

/** What a field `rate` has left by now; where Redis's clock differs from this one's it is off by as much. */
export function readBacklogs(field: string | null | undefined, now: number): Backlogs {
  const [requestsMs, tokensMs, drainedAt] = (field ?? "0 0 0").split(" ").map(Number) as [number, number, number];
  const elapsedMs = Math.max(0, now - drainedAt);
  return { requestsMs: Math.max(0, requestsMs - elapsedMs), tokensMs: Math.max(0, tokensMs - elapsedMs) };
}
