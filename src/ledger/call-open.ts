import { type Claim, isAmount } from "../contract/index.ts";
import type { OpenWrite } from "../store/index.ts";
import type { Taken } from "./account-book.ts";
import { budgetOf } from "./key-book.ts";

/** Makes the record of an admitted call. */
export function openWriteOf(claim: Claim, taken: Taken, guarded = false): OpenWrite {
  return {
    kind: "open",
    callId: claim.callId,
    accountId: claim.caller.accountId,
    keyId: claim.caller.keyId,
    model: claim.model,
    capability: claim.capability,
    premium: claim.premium,
    openedAt: claim.openedAt,
    quotaDay: taken.quotaDay,
    holdNanodollars: taken.holdNanodollars,
    holdTokens: taken.holdTokens,
    priceVersion: claim.priceVersion ?? null,
    budgetMonth: taken.budgetMonth,
    partial: taken.partial,
    guard: guarded ? guardOf(claim) : undefined,
  };
}

function guardOf(claim: Claim): NonNullable<OpenWrite["guard"]> {
  return { quotaLimit: claim.caller.freeTokensPerDay, budgetLimit: budgetOf(claim) };
}

/** @throws {RangeError} When a figure is no whole number from 0 to 2^53 − 1: a negative one would mint money. */
export function checkClaim({ callId, holdNanodollars, holdTokens, limitTokens }: Claim): void {
  if (isAmount(holdNanodollars) && isAmount(holdTokens) && isAmount(limitTokens)) return;
  throw new RangeError(
    `Cannot admit call ${callId}: a hold of ${holdNanodollars} nanodollars, ${holdTokens} tokens and ${limitTokens} tokens of the minute's limit is not in whole numbers from 0 to 2^53 - 1`,
  );
}
