import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RateLimiter } from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../middleware/validation-errors.ts";
import { readBudget, readMoment } from "./read-fields.ts";
import { toKeyJson } from "./serializers.ts";
import { withSession } from "./session.ts";

const Budget = Type.String({ minLength: 1, maxLength: 30 });
const Limit = Type.Integer({ minimum: 1 });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Moment = Type.String({ maxLength: 40 });
const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 500 });
const NewKey = formBody({
  name: Name,
  expires_at: Type.Optional(Moment),
  allowed_models: Type.Optional(Models),
  budget_usd: Type.Optional(Budget),
  requests_per_minute: Type.Optional(Limit),
  tokens_per_minute: Type.Optional(Limit),
  concurrent_calls: Type.Optional(Limit),
});
/** `null` removes a limit; absent fields are unchanged. */
const KeyChange = formBody({
  name: Type.Optional(Name),
  expires_at: Type.Optional(Type.Union([Moment, Type.Null()])),
  allowed_models: Type.Optional(Type.Union([Models, Type.Null()])),
  budget_usd: Type.Optional(Type.Union([Budget, Type.Null()])),
  requests_per_minute: Type.Optional(Type.Union([Limit, Type.Null()])),
  tokens_per_minute: Type.Optional(Type.Union([Limit, Type.Null()])),
  concurrent_calls: Type.Optional(Type.Union([Limit, Type.Null()])),
});

/** Each change is written to the database and announced to all nodes. */
const changesPerMinuteMax = 60;

/** The API keys of the user's account. */
export function keysController(deps: HttpDeps) {
  const { accounts } = deps;
  const changes = new RateLimiter(changesPerMinuteMax, deps.now, { what: "key changes" });
  const expectOwn = async (accountId: string, id: string) => {
    const isOwn = (await accounts.listKeys(accountId)).some((key) => key.id === id);
    if (!isOwn) throw new GatewayError("not_found", "No API key of this account has this id");
  };
  return new Elysia({ prefix: "/keys" })
    .use(withSession(deps))
    .get("", async ({ user }) => ({ data: (await accounts.listKeys(user.accountId)).map(toKeyJson) }))
    .post(
      "",
      ({ user, body }) => {
        changes.take(user.accountId);
        return accounts.createKey({
          accountId: user.accountId,
          by: user.accountId,
          name: body.name,
          expiresAt: body.expires_at === undefined ? undefined : readMoment(body.expires_at, "expires_at"),
          allowedModels: body.allowed_models,
          bounds: {
            budgetNanodollars: body.budget_usd === undefined ? undefined : readBudget(body.budget_usd),
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
        await expectOwn(user.accountId, id);
        const { expires_at: expires, budget_usd: budget } = body;
        await accounts.changeKey(
          id,
          {
            name: body.name,
            expiresAt: typeof expires === "string" ? readMoment(expires, "expires_at") : expires,
            allowedModels: body.allowed_models,
            bounds: {
              budgetNanodollars: typeof budget === "string" ? readBudget(budget) : budget,
              requestsPerMinute: body.requests_per_minute,
              tokensPerMinute: body.tokens_per_minute,
              concurrentCalls: body.concurrent_calls,
            },
          },
          user.accountId,
        );
        return { id };
      },
      { body: KeyChange },
    )
    .delete("/:id", async ({ user, params: { id } }) => {
      changes.take(user.accountId);
      await expectOwn(user.accountId, id);
      await accounts.revokeKey(id, user.accountId);
      return { id };
    });
}
