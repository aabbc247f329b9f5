import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  type ApiKey,
  emailsOf,
  graceSecondsDefault,
  graceSecondsMax,
  RateLimiter,
  type SessionUser,
} from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { readBudget, readMoment } from "./read-fields.ts";
import { toKeyJson } from "./serializers.ts";
import { withSession } from "./session.ts";

const Budget = Type.String({ minLength: 1, maxLength: 30 });
const Period = Type.Union([Type.Literal("day"), Type.Literal("week"), Type.Literal("month")]);
const Limit = Type.Integer({ minimum: 1 });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Moment = Type.String({ maxLength: 40 });
/** A list of models of a key or an account. */
export const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 500 });
/** Addresses and CIDR ranges of a key. */
export const Networks = Type.Array(Type.String({ minLength: 1, maxLength: 50 }), { minItems: 1, maxItems: 100 });
const Rotation = formBody({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: graceSecondsMax })) });
const NewKey = formBody({
  name: Name,
  expires_at: Type.Optional(Moment),
  allowed_models: Type.Optional(Models),
  allowed_networks: Type.Optional(Networks),
  budget_usd: Type.Optional(Budget),
  budget_period: Type.Optional(Period),
  requests_per_minute: Type.Optional(Limit),
  tokens_per_minute: Type.Optional(Limit),
  concurrent_calls: Type.Optional(Limit),
});
/** `null` removes a limit; absent fields are unchanged. */
const KeyChange = formBody({
  name: Type.Optional(Name),
  expires_at: Type.Optional(Type.Union([Moment, Type.Null()])),
  allowed_models: Type.Optional(Type.Union([Models, Type.Null()])),
  allowed_networks: Type.Optional(Type.Union([Networks, Type.Null()])),
  budget_usd: Type.Optional(Type.Union([Budget, Type.Null()])),
  budget_period: Type.Optional(Period),
  requests_per_minute: Type.Optional(Type.Union([Limit, Type.Null()])),
  tokens_per_minute: Type.Optional(Type.Union([Limit, Type.Null()])),
  concurrent_calls: Type.Optional(Type.Union([Limit, Type.Null()])),
});

/** Each change is written to the database and announced to all nodes. */
const changesPerMinuteMax = 60;

/** Keys with the e-mails of those who made them, as far as these are people. */
export async function toKeysJson(store: Store, keys: readonly ApiKey[]) {
  const emails = await emailsOf(
    store,
    keys.flatMap(({ createdBy }) => createdBy ?? []),
  );
  return keys.map((key) => ({ ...toKeyJson(key), created_by: emails.get(key.createdBy ?? "") ?? null }));
}

/** The API keys of the user's account. */
export function keysController(deps: HttpDeps) {
  const { accounts } = deps;
  const changes = new RateLimiter(changesPerMinuteMax, deps.now, { what: "key changes" });
  /** Members of a team change the keys that they made, and its admins all of them. */
  const expectOwn = async ({ accountId, ownAccountId, teamRole }: SessionUser, id: string) => {
    const found = await accounts.findKeyOwner(id);
    if (found?.accountId !== accountId) throw new GatewayError("not_found", "No API key of this account has this id");
    if (teamRole === "admin" || found.createdBy === ownAccountId) return;
    throw new GatewayError("forbidden", "Somebody else made this key; an admin of the team can change or revoke it");
  };
  return new Elysia({ prefix: "/keys" })
    .use(withSession(deps))
    .get("", async ({ user }) => {
      const { keys, hasMore } = await accounts.listShownKeys(user.accountId);
      return { data: await toKeysJson(deps.store, keys), has_more: hasMore };
    })
    .post(
      "",
      ({ user, body }) => {
        changes.take(user.accountId);
        return accounts.createKey({
          accountId: user.accountId,
          by: user.ownAccountId,
          name: body.name,
          expiresAt: body.expires_at === undefined ? undefined : readMoment(body.expires_at, "expires_at"),
          allowedModels: body.allowed_models,
          allowedNetworks: body.allowed_networks,
          bounds: {
            budgetNanodollars: body.budget_usd === undefined ? undefined : readBudget(body.budget_usd),
            budgetPeriod: body.budget_period,
            requestsPerMinute: body.requests_per_minute,
            tokensPerMinute: body.tokens_per_minute,
            concurrentCalls: body.concurrent_calls,
          },
        });
      },
      { body: NewKey },
    )
    .patch(
      "/:id",
      async ({ user, params: { id }, body }) => {
        changes.take(user.accountId);
        await expectOwn(user, id);
        const { expires_at: expires, budget_usd: budget } = body;
        await accounts.changeKey(
          id,
          {
            name: body.name,
            expiresAt: typeof expires === "string" ? readMoment(expires, "expires_at") : expires,
            allowedModels: body.allowed_models,
            allowedNetworks: body.allowed_networks,
            bounds: {
              budgetNanodollars: typeof budget === "string" ? readBudget(budget) : budget,
              budgetPeriod: body.budget_period,
              requestsPerMinute: body.requests_per_minute,
              tokensPerMinute: body.tokens_per_minute,
              concurrentCalls: body.concurrent_calls,
            },
          },
          user.ownAccountId,
        );
        return { id };
      },
      { body: KeyChange },
    )
    .post(
      "/:id/rotate",
      async ({ user, params: { id }, body: { grace_seconds: graceSeconds = graceSecondsDefault } }) => {
        changes.take(user.accountId);
        await expectOwn(user, id);
        const { key, previousUntil } = await accounts.rotateKey(id, graceSeconds, user.ownAccountId);
        return { id, key, previous_until: new Date(previousUntil).toISOString() };
      },
      { body: Rotation },
    )
    .delete("/:id", async ({ user, params: { id } }) => {
      changes.take(user.accountId);
      await expectOwn(user, id);
      await accounts.revokeKey(id, user.ownAccountId);
      return { id };
    });
}
