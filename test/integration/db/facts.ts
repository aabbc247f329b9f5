import type { CallEnded, CallOpened } from "../../../src/db/index.ts";

/** A hold of 15 nanodollars. */
export function openOf(callId: string, fields: Partial<CallOpened> = {}): CallOpened {
  return {
    kind: "open",
    callId,
    accountId: "acc_1",
    keyId: "key1",
    model: "model-1",
    capability: "chat",
    premium: true,
    openedAt: 7,
    quotaDay: null,
    holdNanodollars: 15,
    holdTokens: 0,
    priceVersion: "v1",
    periodStart: null,
    ...fields,
  };
}

/** A charge of 10 nanodollars. */
export function endOf(open: CallOpened, fields: Partial<CallEnded> = {}): CallEnded {
  return {
    kind: "end",
    open,
    state: "settled",
    settledAt: 99,
    meters: { inputToken: 3, outputToken: 4 },
    usageSource: "reported",
    costNanodollars: 10,
    chargedNanodollars: 10,
    quotaTokens: 0,
    route: "openai",
    status: 200,
    errorCode: null,
    firstByteMs: 11,
    durationMs: 22,
    ...fields,
  };
}

/** A call that was opened and charged. */
export function chargeOf(callId: string): [CallOpened, CallEnded] {
  const open = openOf(callId);
  return [open, endOf(open)];
}
