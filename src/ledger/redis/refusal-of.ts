import { type Claim, GatewayError } from "../../contract/index.ts";
import { endOfMonth } from "../../store/index.ts";
import { startOfDay } from "../day.ts";
import {
  balanceExceeded,
  budgetExceeded,
  callsExceeded,
  quotaExceeded,
  requestsExceeded,
  tokensExceeded,
} from "../refusals.ts";

/** What the words mean by which an admission was refused. */
export function refusalOf(words: string[], claim: Claim, now: number): Error {
  const { limits, own, freeTokensPerDay } = claim.caller;
  const { limitTokens } = claim;
  const [first, second, third] = words.slice(1).map(Number) as [number, number, number];
  switch (words[0]) {
    case "requests":
      return requestsExceeded(limits.requestsPerMinute, first);
    case "tokens":
      return tokensExceeded({ limit: limits.tokensPerMinute, limitTokens }, first);
    case "calls":
      return callsExceeded(limits.concurrentCalls as number);
    case "key-requests":
      return requestsExceeded(own?.requestsPerMinute as number, first, "key");
    case "key-tokens":
      return tokensExceeded({ limit: own?.tokensPerMinute as number, limitTokens }, first, "key");
    case "key-calls":
      return callsExceeded(own?.concurrentCalls as number, "key");
    case "budget": {
      const limitNanodollars = own?.budgetNanodollars as number;
      const used = { spentNanodollars: first, heldNanodollars: second };
      return budgetExceeded({ limitNanodollars, ...used, resetsAt: endOfMonth(third) }, now);
    }
    case "balance":
      return balanceExceeded(claim.model, first, second);
    case "quota":
      return quotaExceeded({ limit: freeTokensPerDay, used: first, held: second }, startOfDay(third + 1), now);
    case "running":
      return new GatewayError("conflict", `Call ${claim.callId} is already running`);
    default:
      return new Error(`Redis answered ${words.join(" ")} to an admission`);
  }
}
