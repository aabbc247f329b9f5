import type { AdmissionRequest, Caller } from "../contract/index.ts";
import { toCallOpened } from "./call-record.ts";

/** A request that draws on the limit of requests alone: it holds nothing and counts as no concurrent call. */
export function rateLimitOnlyAdmission(callId: string, { limits, keyLimits, ...caller }: Caller, openedAt: number) {
  const admission: AdmissionRequest = {
    callId,
    caller: {
      ...caller,
      limits: { ...limits, concurrentCalls: undefined },
      keyLimits: keyLimits && { ...keyLimits, concurrentCalls: undefined },
    },
    model: "",
    capability: "chat",
    premium: true,
    holdNanodollars: 0,
    minNanodollars: 0,
    holdTokens: 0,
    minTokens: 0,
    limitTokens: 0,
    priceVersion: undefined,
    openedAt,
  };
  const open = toCallOpened(admission, { quotaDay: null, holdNanodollars: 0, holdTokens: 0, periodStart: null });
  return { admission, open };
}
