import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type DaySpan, type Period, readUsage, type UsageFigures, type UsageSums } from "../../billing/index.ts";
import { formatUsd, type QuotaState, type WalletState } from "../../contract/index.ts";
import { makeCallId } from "../../kernel/index.ts";
import { parseUrl } from "../dashboard-api/origin.ts";
import { readUser } from "../dashboard-api/session.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders } from "../middleware/security-headers.ts";
import { responses } from "./openapi.ts";
import { readUsageQuery } from "./usage-query.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;

const Figures = Type.Object({
  requests: Type.Integer(),
  failures: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  characters: Type.Integer(),
  images: Type.Integer(),
  audio_seconds: Type.Number(),
  quota_tokens: Type.Integer(),
  cost_usd: Type.String({ description: "List price of what was used" }),
  charged_usd: Type.String({ description: "What the wallet paid of it" }),
});
const ByModel = Type.Array(Type.Intersect([Type.Object({ model: Type.String() }), Figures]));
const UsageRecord = Type.Object({
  object: Type.Literal("usage"),
  period: Type.String(),
  start_date: Type.String(),
  end_date: Type.String(),
  quota: Type.Object({
    limit: Type.Integer(),
    used: Type.Integer(),
    remaining: Type.Integer(),
    resets_at: Type.String(),
  }),
  wallet: Type.Object({ balance_usd: Type.String(), held_usd: Type.String() }),
  totals: Type.Intersect([Figures, Type.Object({ by_model: ByModel })]),
  data: Type.Array(
    Type.Intersect([
      Type.Object({ start: Type.String(), end: Type.String() }),
      Figures,
      Type.Object({ by_model: ByModel }),
    ]),
  ),
});
const parameters = ["startDate", "endDate", "period"].map((name) => ({
  name,
  in: "query" as const,
  required: false,
  schema: { type: "string" as const },
}));

/** GET /usage: the usage of the user's account in UTC buckets. */
export function usageController(deps: HttpDeps) {
  const answer = async ({ request }: { request: Request }): Promise<Response> => {
    const { accountId, freeTokensPerDay = deps.config.freeTokensPerDay } = await readUser(deps, request);
    const asked = readUsageQuery(parseUrl(request).searchParams, deps.now());
    const [sums, quota, wallet] = await Promise.all([
      readUsage(deps.store, accountId, asked),
      deps.ledger.quotaOf({ accountId, freeTokensPerDay }),
      deps.ledger.walletOf(accountId),
    ]);
    const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
    return Response.json(toRecord(asked, sums, { quota, wallet }), { headers });
  };
  return new Elysia().get("/usage", answer, {
    detail: {
      summary: "Usage, quota and wallet of the account that is signed in",
      description:
        "Takes the cookie `session`, not an API key. `startDate` and `endDate` are UTC days, both counted (default: the " +
        "last 30 days); `period` is hourly, daily (default), weekly, monthly or yearly.",
      tags: ["Account"],
      parameters,
      security: [{ session: [] }],
      responses: responses({ "application/json": UsageRecord }, [400, 401, 403, 500, 503]),
    },
  });
}

function toRecord(
  { period, startDay, endDay }: DaySpan & { readonly period: Period },
  { totals, buckets }: UsageSums,
  { quota, wallet }: { quota: QuotaState; wallet: WalletState },
) {
  return {
    object: "usage",
    period,
    start_date: toDate(startDay * dayMs),
    end_date: toDate(endDay * dayMs),
    quota: {
      limit: quota.limitTokens,
      used: quota.usedTokens,
      remaining: Math.max(0, quota.limitTokens - quota.usedTokens - quota.heldTokens),
      resets_at: new Date(quota.resetsAt).toISOString(),
    },
    wallet: { balance_usd: formatUsd(wallet.balanceNanodollars), held_usd: formatUsd(wallet.heldNanodollars) },
    totals: { ...toFiguresJson(totals.figures), by_model: toModelsJson(totals.byModel) },
    data: buckets.map((bucket) => ({
      start: new Date(bucket.startHour * hourMs).toISOString(),
      end: new Date(bucket.endHour * hourMs).toISOString(),
      ...toFiguresJson(bucket.figures),
      by_model: toModelsJson(bucket.byModel),
    })),
  };
}

function toModelsJson(models: ReadonlyMap<string, UsageFigures>) {
  return [...models].map(([model, figures]) => ({ model, ...toFiguresJson(figures) }));
}

function toFiguresJson(figures: UsageFigures) {
  const prompt = figures.input_tokens + figures.cache_read_tokens + figures.cache_write_tokens;
  return {
    requests: figures.requests,
    failures: figures.failures,
    prompt_tokens: prompt,
    completion_tokens: figures.output_tokens,
    total_tokens: prompt + figures.output_tokens,
    characters: figures.characters,
    images: figures.images,
    audio_seconds: figures.audio_ms / 1000,
    quota_tokens: figures.quota_tokens,
    cost_usd: formatUsd(figures.cost_nanodollars),
    charged_usd: formatUsd(figures.charged_nanodollars),
  };
}

function toDate(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
