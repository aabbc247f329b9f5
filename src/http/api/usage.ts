import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  type DaySpan,
  type Period,
  periods,
  readUsage,
  spanDaysMax,
  type UsageFigures,
  type UsageSums,
} from "../../billing/index.ts";
import { formatUsd, GatewayError, type QuotaState, quoteValue, type WalletState } from "../../contract/index.ts";
import { makeCallId } from "../../kernel/index.ts";
import { parseUrl } from "../dashboard-api/origin.ts";
import { readUser } from "../dashboard-api/session.ts";
import type { HttpDeps } from "../deps.ts";
import { jsonForPage } from "../middleware/compress.ts";
import { dataHeaders } from "../middleware/security-headers.ts";
import { responses } from "./openapi.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The length of the span without `startDate`. */
const daysDefault = 30;

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
  cost_usd: Type.String({ description: "Cost by list price" }),
  charged_usd: Type.String({ description: "What the wallet paid" }),
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
    const query = readUsageQuery(parseUrl(request).searchParams, deps.now());
    const [sums, quota, wallet] = await Promise.all([
      readUsage(deps.store, accountId, query),
      deps.ledger.readQuotaState({ accountId, freeTokensPerDay }),
      deps.ledger.readWalletState(accountId),
    ]);
    const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
    return jsonForPage(request, toRecord(query, sums, { quota, wallet }), headers);
  };
  return new Elysia().get("/usage", answer, {
    detail: {
      summary: "Usage, quota and wallet of the signed-in account",
      description:
        "Takes the cookie `session`, not an API key. `startDate` and `endDate` are UTC days, inclusive (default: the " +
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
  const written = figures.cache_write_tokens + figures.cache_write_1h_tokens;
  const prompt = figures.input_tokens + figures.audio_input_tokens + figures.cache_read_tokens + written;
  const completion = figures.output_tokens + figures.audio_output_tokens + figures.image_output_tokens;
  return {
    requests: figures.requests,
    failures: figures.failures,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
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

/**
 * Reads the query of GET /usage.
 *
 * @throws {GatewayError} `invalid_request` naming the parameter.
 */
export function readUsageQuery(query: URLSearchParams, now: number): DaySpan & { readonly period: Period } {
  const period = readPeriod(query.get("period"));
  const end = query.get("endDate");
  const start = query.get("startDate");
  const startGiven = start === null || start === "" ? undefined : readDay("startDate", start);
  const today = Math.floor(now / dayMs);
  const endDay = end === null || end === "" ? Math.max(today, startGiven ?? today) : readDay("endDate", end);
  const startDay = startGiven ?? Math.max(0, endDay - daysDefault + 1);
  if (endDay < startDay) throw invalidParameter("endDate", `endDate ${end} is before startDate ${start}`);
  const days = endDay - startDay + 1;
  const max = spanDaysMax[period];
  if (days > max) {
    throw invalidParameter(
      "startDate",
      `The span has ${days} days, but at most ${max} are allowed for ${period}; ask for fewer days or a longer period`,
    );
  }
  return { period, startDay, endDay };
}

function readPeriod(text: string | null): Period {
  if (text === null || text === "") return "daily";
  const period = periods.find((known) => known === text);
  if (period !== undefined) return period;
  throw invalidParameter("period", `period is ${quoteValue(text)}, expected one of ${periods.join(", ")}`);
}

/** A day as `2026-11-21`, or a time with its zone as `2026-11-21T12:00:00Z`. */
function readDay(param: string, text: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = isDay || isMoment ? Date.parse(text) : Number.NaN;
  // Date.parse reads the 31st of November as the 1st of December.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (exists && at >= 0) return Math.floor(at / dayMs);
  throw invalidParameter(param, `${param} is ${quoteValue(text)}, expected a date from 1970-01-01 such as 2026-11-21`);
}

function invalidParameter(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
