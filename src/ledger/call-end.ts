import { isAmount, type Meters, meterNames, type Settlement } from "../contract/index.ts";
import type { EndWrite, OpenWrite } from "../store/index.ts";

/**
 * Makes the record of a call's end. A premium call pays the list price, also beyond its hold; when that price is not
 * known it pays its hold, which is the most its owner was told. A released call pays nothing.
 *
 * @throws {RangeError} When a figure is no whole number from 0 to 2^53 − 1: a negative one would mint money.
 */
export function endOf(open: OpenWrite, settlement: Settlement, settledAt: number): EndWrite {
  const { costNanodollars: cost, outcome } = settlement;
  checkAmounts(settlement);
  const settled = outcome === "settled";
  const charge = cost === undefined ? open.holdNanodollars : cost;
  return {
    kind: "end",
    open,
    state: outcome,
    settledAt,
    meters: settlement.meters,
    usageSource: settlement.usageSource,
    costNanodollars: cost === undefined ? null : cost,
    chargedNanodollars: settled && open.premium ? charge : 0,
    quotaTokens: settled && !open.premium ? settlement.quotaTokens : 0,
    route: settlement.route ?? null,
    status: settlement.status,
    errorCode: settlement.errorCode ?? null,
    firstByteMs: settlement.firstByteMs === undefined ? null : Math.round(settlement.firstByteMs),
    durationMs: Math.round(settlement.durationMs),
  };
}

/**
 * The end of a call that was refused because its hold could not be written, and it is not known whether it was: it
 * would stand until this process ends, and nobody would ask for it.
 */
export function neverMade(open: OpenWrite): EndWrite {
  return {
    kind: "end",
    open,
    state: "released",
    settledAt: open.openedAt,
    meters: {},
    usageSource: "none",
    costNanodollars: null,
    chargedNanodollars: 0,
    quotaTokens: 0,
    route: null,
    status: 503,
    errorCode: "unavailable",
    firstByteMs: null,
    durationMs: 0,
  };
}

/** Tokens of all kinds, for the limit per minute; absent when the call was not metered in tokens. */
export function tokensOf(meters: Meters): number | undefined {
  const { inputToken, cacheReadToken, cacheWriteToken, outputToken } = meters;
  let tokens: number | undefined;
  for (const amount of [inputToken, cacheReadToken, cacheWriteToken, outputToken]) {
    if (amount !== undefined) tokens = tokens === undefined ? amount : tokens + amount;
  }
  return tokens;
}

function checkAmounts({ callId, costNanodollars, quotaTokens, meters }: Settlement): void {
  if (costNanodollars !== undefined) expectAmount(callId, "costNanodollars", costNanodollars);
  expectAmount(callId, "quotaTokens", quotaTokens);
  for (const name of meterNames) {
    const amount = meters[name];
    if (amount !== undefined) expectAmount(callId, name, amount);
  }
}

function expectAmount(callId: string, name: string, value: number): void {
  if (isAmount(value)) return;
  throw new RangeError(`Cannot settle call ${callId}: ${name} is ${value}, expected a whole number from 0 to 2^53 - 1`);
}
