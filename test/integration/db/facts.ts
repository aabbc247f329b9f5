import type { EndedCall, OpenCall, Store } from "../../../src/db/index.ts";
import { addPayers } from "../../support/payers.ts";

/** The account and the key of {@link openOf}. */
export const addPayer = (store: Store) => addPayers(store, { acc_1: ["key1"] });

/** A hold of 15 nanodollars. */
export function openOf(callId: string, fields: Partial<OpenCall> = {}): OpenCall {
  return {
    kind: "open",
    callId,
    accountId: "acc_1",
    keyId: fields.accountId === undefined ? "key1" : `key1 of ${fields.accountId}`,
    model: "model-1",
    capability: "chat",
    premium: true,
    openedAt: 7,
    quotaDay: null,
    holdNanodollars: 15,
    holdTokens: 0,
    priceVersion: "v1",
    ...fields,
  };
}

/** A charge of 10 nanodollars. */
export function endOf(open: OpenCall, fields: Partial<EndedCall> = {}): EndedCall {
  return {
    kind: "end",
    open,
    outcome: "settled",
    settledAt: 99,
    meters: { inputToken: 3, outputToken: 4 },
    usageSource: "reported",
    costNanodollars: 10,
    chargedNanodollars: 10,
    quotaTokens: 0,
    plugin: "openai",
    status: 200,
    firstByteMs: 11,
    durationMs: 22,
    ...fields,
  };
}

/** A call that was opened and charged. */
export function chargeOf(callId: string): [OpenCall, EndedCall] {
  const open = openOf(callId);
  return [open, endOf(open)];
}
