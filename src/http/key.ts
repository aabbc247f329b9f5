import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Caller, formatUsd, type LimitState, type QuotaState, type WalletState } from "../contract/index.ts";
import { answers } from "./describe.ts";
import { endpoint } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { limitHeaders } from "./headers.ts";
import { dataHeaders } from "./security-headers.ts";

const Amount = Type.Integer();
const KeyObject = Type.Object({
  object: Type.Literal("key"),
  id: Type.String(),
  account: Type.String(),
  allowed_models: Type.Union([Type.Array(Type.String()), Type.Null()]),
  limits: Type.Object({
    requests_per_minute: Type.Object({ limit: Amount, remaining: Amount, resets_in_seconds: Type.Number() }),
    tokens_per_minute: Type.Object({ limit: Amount, remaining: Amount, resets_in_seconds: Type.Number() }),
  }),
  quota: Type.Object({ limit: Amount, used: Amount, held: Amount, remaining: Amount, resets_at: Type.String() }),
  wallet: Type.Object({ balance_usd: Type.String(), held_usd: Type.String(), available_usd: Type.String() }),
});

/** GET /key: what the calling key may do, and how much of it is left. */
export function keyController(ground: HttpGround) {
  const answer = endpoint(ground, async ({ request, caller, progress }) => {
    const [limits, quota, wallet] = await Promise.all([
      ground.ledger.limitsOf(caller),
      ground.ledger.quotaOf(caller),
      ground.ledger.walletOf(caller.accountId),
    ]);
    const headers = { ...dataHeaders(request), ...limitHeaders(limits), "x-request-id": progress.id };
    return Response.json(toObject(caller, { limits, quota, wallet }), { headers });
  });
  return new Elysia().get("/key", answer, {
    detail: {
      summary: "Limits, quota and balance of the calling key",
      tags: ["Account"],
      responses: answers(KeyObject),
    },
  });
}

interface KeyState {
  limits: LimitState;
  quota: QuotaState;
  wallet: WalletState;
}

function toObject(caller: Caller, { limits, quota, wallet }: KeyState): Static<typeof KeyObject> {
  const { balanceNanodollars: balance, heldNanodollars: held } = wallet;
  return {
    object: "key",
    id: caller.keyId,
    account: caller.accountId,
    allowed_models: caller.allowedModels === undefined ? null : [...caller.allowedModels],
    limits: {
      requests_per_minute: {
        limit: limits.limitRequests,
        remaining: limits.remainingRequests,
        resets_in_seconds: limits.resetRequestsMs / 1000,
      },
      tokens_per_minute: {
        limit: limits.limitTokens,
        remaining: limits.remainingTokens,
        resets_in_seconds: limits.resetTokensMs / 1000,
      },
    },
    quota: {
      limit: quota.limitTokens,
      used: quota.usedTokens,
      held: quota.heldTokens,
      remaining: Math.max(0, quota.limitTokens - quota.usedTokens - quota.heldTokens),
      resets_at: new Date(quota.resetsAt).toISOString(),
    },
    wallet: {
      balance_usd: formatUsd(balance),
      held_usd: formatUsd(held),
      available_usd: formatUsd(Math.max(0, balance - held)),
    },
  };
}
