import { type Static, Type } from "@sinclair/typebox";
import {
  type Budget,
  type BudgetState,
  budgetPeriods,
  budgetSubjects,
  type Caller,
  type CallsState,
  formatUsd,
  GatewayError,
  type LimitState,
  type LimitsUsage,
  nullable,
  type QuotaState,
  quoteValue,
  type RateLimits,
  type WalletState,
} from "../../contract/index.ts";
import { ownBudgetId } from "../../db/index.ts";
import { getDisplayName, getNames } from "../../provider/index.ts";
import { explainCharge, readRequest } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf } from "../forms/read-fields.ts";
import { RequestDetailObject, toRequestDetailObject } from "../forms/request-json.ts";
import { readSessionJson, sessionFields } from "../forms/session-json.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { limitHeaders } from "../lifecycle/respond.ts";
import { responses } from "./openapi.ts";

const Amount = Type.Integer();
const Usd = Type.String({ description: "US dollars, exact decimal text" });
const resetsIn = Type.Number({ description: "Seconds until all of it is free again" });
const PerMinute = (what: string) =>
  Type.Object(
    { limit: Amount, used: Amount, remaining: Amount, resets_in_seconds: resetsIn },
    { description: `${what} per minute, of the key or its account, whichever has fewer left` },
  );

const BudgetView = (description: string) =>
  Type.Union(
    [
      Type.Object({
        limit_usd: Usd,
        used_usd: Usd,
        held_usd: Usd,
        remaining_usd: Usd,
        resets_at: Type.String({ format: "date-time" }),
      }),
      Type.Null(),
    ],
    { description },
  );

const KeyObject = Type.Object({
  object: Type.Literal("key"),
  id: Type.String(),
  account: Type.String(),
  allowed_models: Type.Union([Type.Array(Type.String()), Type.Null()], { description: "`null`: all" }),
  account_allowed_models: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: "Of the account; a model must be in both lists. `null`: all",
  }),
  limits: Type.Object({
    requests_per_minute: PerMinute("Requests"),
    tokens_per_minute: PerMinute("Tokens"),
    concurrent_calls: Type.Object(
      {
        limit: nullable(Amount),
        used: Amount,
        remaining: nullable(Amount),
        resets_in_seconds: Type.Null({ description: "A call is free again when a running one has ended" }),
      },
      { description: "Concurrent calls, of the key or its account; `limit` is `null` when there is no limit" },
    ),
    models: Type.Array(
      Type.Object({
        model: Type.String(),
        of: Type.Union([Type.Literal("key"), Type.Literal("account")]),
        requests_per_minute: nullable(Amount),
        tokens_per_minute: nullable(Amount),
        concurrent_calls: nullable(Amount),
      }),
      { description: "Limits of single models, beside the others" },
    ),
  }),
  quota: Type.Object(
    { limit: Amount, used: Amount, held: Amount, remaining: Amount, resets_at: Type.String({ format: "date-time" }) },
    { description: "Free tokens of the account on this UTC day" },
  ),
  budget: BudgetView("What paid calls of this key may cost in this UTC day, week or month; `null` without a budget"),
  account_budget: BudgetView("The same of all keys of the account; `null` without a budget"),
  budgets: Type.Array(
    Type.Object({
      subject: Type.Union(budgetSubjects.map((subject) => Type.Literal(subject))),
      name: Type.Union([Type.String(), Type.Null()], { description: "`null`: each by itself" }),
      period: Type.Union(budgetPeriods.map((period) => Type.Literal(period))),
      limit_usd: Usd,
      used_usd: nullable(Usd),
      held_usd: nullable(Usd),
      remaining_usd: nullable(Usd),
      resets_at: nullable(Type.String({ format: "date-time" })),
    }),
    {
      description:
        "What paid calls of this key may cost by end user, tag, session, model, key or account. Figures are `null` where " +
        "each subject has its own",
    },
  ),
  wallet: Type.Object(
    {
      balance_usd: Usd,
      held_usd: Usd,
      available_usd: Usd,
      limit_usd: Usd,
      used_usd: Usd,
      remaining_usd: Usd,
      resets_at: Type.Null({ description: "A wallet is filled by credits alone" }),
    },
    {
      description: "The account's money: `limit` is the balance, `used` is held by running calls, `remaining` is free",
    },
  ),
});

/** GET /key: the limits of the calling key, and how much of them is left. */
export function keyController(deps: HttpDeps) {
  return [...keyStateController(deps), ...keyRequestController(deps), ...keySessionController(deps)];
}

function keyStateController(deps: HttpDeps) {
  const { ledger } = deps;
  return [
    keyRoute(deps, {
      method: "GET",
      path: "/key",
      detail: {
        summary: "Limits, quota, budget and balance of the calling key",
        tags: ["Account"],
        responses: responses({ "application/json": KeyObject }, [401, 429, 500, 503]),
      },
      answer: async ({ call: { id, httpRequest, caller } }) => {
        const [limits, bounds, quota, wallet] = await Promise.all([
          ledger.readLimitState(caller),
          ledger.readLimitsUsage(caller),
          ledger.readQuotaState(caller),
          ledger.readWalletState(caller.accountId),
        ]);
        const headers = { ...dataHeaders(httpRequest), ...limitHeaders(limits), "x-request-id": id };
        return Response.json(toKeyJson(deps, caller, { limits, bounds, quota, wallet }), { headers });
      },
    }),
  ];
}

/** GET /key/requests/{request_id}: what a request of the calling key used and cost, by the id that its answer had. */
function keyRequestController(deps: HttpDeps) {
  return [
    keyRoute(deps, {
      method: "GET",
      path: "/key/requests/:request_id",
      detail: {
        summary: "A request of the calling key: what it used and cost, and why it failed",
        description: "Also one that runs or was refused. Without prompt and answer.",
        tags: ["Account"],
        responses: responses({ "application/json": RequestDetailObject }, [401, 404, 429, 500, 503]),
      },
      answer: async ({ call: { id, httpRequest, caller }, params: { request_id: requestId } }) => {
        const request = await readRequest(deps.store, requestId, caller.accountId);
        if (request === undefined || request.key_id !== caller.keyId) {
          throw new GatewayError("not_found", `This API key has made no request ${quoteValue(requestId)}`);
        }
        const headers = { ...dataHeaders(httpRequest), "x-request-id": id };
        const charge = await explainCharge(deps.store, request);
        const nameOfModel = (model: string) => displayNameOf(deps, model);
        return Response.json(toRequestDetailObject(request, charge, nameOfModel), { headers });
      },
    }),
  ];
}

const KeySession = Type.Object({ object: Type.Literal("key.session"), ...sessionFields });

/** GET /key/sessions/{session}: what a session cost, as far as the calling key made its calls. */
function keySessionController(deps: HttpDeps) {
  return [
    keyRoute(deps, {
      method: "GET",
      path: "/key/sessions/:session",
      detail: {
        summary: "A session of the calling key: what it cost, by agent and model",
        description: "Calls of other keys in a session of the same name are not in it.",
        tags: ["Account"],
        responses: responses({ "application/json": KeySession }, [401, 404, 429, 500, 503]),
      },
      answer: async ({ call: { id, httpRequest, caller }, params: { session } }) => {
        const { accountId, keyId } = caller;
        const json = await readSessionJson(deps, { accountId, keyId, session }, toSeconds);
        const headers = { ...dataHeaders(httpRequest), "x-request-id": id };
        return Response.json({ object: "key.session", ...json }, { headers });
      },
    }),
  ];
}

const toSeconds = (at: number) => Math.floor(at / 1000);

interface KeyState {
  limits: LimitState;
  bounds: LimitsUsage;
  quota: QuotaState;
  wallet: WalletState;
}

/** The names of the models of a list that clients may write, in the order of GET /models; `null`: all models. */
function toNames({ registry }: HttpDeps["kernel"], list: ReadonlySet<string> | undefined): string[] | null {
  if (list === undefined) return null;
  const entries = [...list].map((id) => {
    const entry = registry.byName(id);
    const names = entry === undefined ? [id] : getNames(entry.model);
    const isCode = entry !== undefined && getDisplayName(entry.model) !== id;
    return isCode ? { names: names.slice(0, -1), codes: names.slice(-1) } : { names, codes: [] };
  });
  return [...entries.flatMap(({ names }) => names), ...entries.flatMap(({ codes }) => codes)];
}

function toKeyJson(
  { kernel, now }: HttpDeps,
  caller: Caller,
  { limits, bounds, quota, wallet }: KeyState,
): Static<typeof KeyObject> {
  const { balanceNanodollars: balance, heldNanodollars: holds } = wallet;
  return {
    object: "key",
    id: caller.keyId,
    account: caller.accountId,
    allowed_models: toNames(kernel, caller.allowedModels),
    account_allowed_models: toNames(kernel, caller.accountModels),
    limits: {
      requests_per_minute: {
        limit: limits.limitRequests,
        used: limits.limitRequests - limits.remainingRequests,
        remaining: limits.remainingRequests,
        resets_in_seconds: limits.resetRequestsMs / 1000,
      },
      tokens_per_minute: {
        limit: limits.limitTokens,
        used: limits.limitTokens - limits.remainingTokens,
        remaining: limits.remainingTokens,
        resets_in_seconds: limits.resetTokensMs / 1000,
      },
      concurrent_calls: toCallsJson(bounds.calls),
      models: [...(caller.modelLimits ?? [])].flatMap(([id, { key, account }]) => {
        const entry = kernel.registry.byName(id);
        const model = entry === undefined ? id : getDisplayName(entry.model);
        return [
          ...(key === undefined ? [] : [toModelLimitsJson(model, "key", key)]),
          ...(account === undefined ? [] : [toModelLimitsJson(model, "account", account)]),
        ];
      }),
    },
    quota: {
      limit: quota.limitTokens,
      used: quota.usedTokens,
      held: quota.heldTokens,
      remaining: Math.max(0, quota.limitTokens - quota.usedTokens - quota.heldTokens),
      resets_at: new Date(quota.resetsAt).toISOString(),
    },
    budget: toViewJson(bounds.budgets, caller.keyId),
    account_budget: toViewJson(bounds.budgets, caller.accountId),
    budgets: (caller.budgets ?? []).map((budget) => toBudgetJson(budget, bounds.budgets, now())),
    wallet: {
      balance_usd: formatUsd(balance),
      held_usd: formatUsd(holds),
      available_usd: formatUsd(Math.max(0, balance - holds)),
      limit_usd: formatUsd(balance),
      used_usd: formatUsd(holds),
      remaining_usd: formatUsd(Math.max(0, balance - holds)),
      resets_at: null,
    },
  };
}

function toModelLimitsJson(
  model: string,
  owner: "key" | "account",
  { requestsPerMinute, tokensPerMinute, concurrentCalls }: RateLimits,
) {
  return {
    model,
    of: owner,
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute ?? null,
    concurrent_calls: concurrentCalls ?? null,
  };
}

function toCallsJson({ limit, running }: CallsState) {
  const remaining = limit === undefined ? null : Math.max(0, limit - running);
  return { limit: limit ?? null, used: running, remaining, resets_in_seconds: null };
}

/** The own budget of a key or an account. */
function toViewJson(states: readonly BudgetState[], ownerId: string) {
  const state = states.find(({ budget }) => budget.id === ownBudgetId(ownerId));
  if (state?.resetsAt === undefined) return null;
  return { ...toFigures(state), resets_at: new Date(state.resetsAt).toISOString() };
}

function toBudgetJson(budget: Budget, states: readonly BudgetState[], now: number) {
  const { subject, name = null, period, limitNanodollars, raise } = budget;
  const state = states.find((one) => one.budget.id === budget.id);
  const raised = raise !== undefined && now < raise.until ? raise.nanodollars : 0;
  const common = { subject, name, period };
  if (state !== undefined) {
    return {
      ...common,
      ...toFigures(state),
      resets_at: state.resetsAt === undefined ? null : new Date(state.resetsAt).toISOString(),
    };
  }
  const none = { used_usd: null, held_usd: null, remaining_usd: null, resets_at: null };
  return { ...common, limit_usd: formatUsd(limitNanodollars + raised), ...none };
}

function toFigures({ limitNanodollars, spentNanodollars, heldNanodollars }: BudgetState) {
  return {
    limit_usd: formatUsd(limitNanodollars),
    used_usd: formatUsd(spentNanodollars),
    held_usd: formatUsd(heldNanodollars),
    remaining_usd: formatUsd(Math.max(0, limitNanodollars - spentNanodollars - heldNanodollars)),
  };
}
