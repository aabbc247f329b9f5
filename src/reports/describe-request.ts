import { formatPercent, formatUsd, type PolicyDetail, usageColumns } from "../contract/index.ts";
import { describeCharge, type ExplainedCharge } from "./explain-charge.ts";
import { type LoggedRequest, type RequestDetail, readDetail } from "./requests.ts";

/** The API and the command line show a request alike, but for its times and the names of its owners. */
export function describeRequest(request: LoggedRequest) {
  const figures = usageColumns.flatMap((name) => (request[name] ? [[name, request[name]] as const] : []));
  return {
    state: request.state ?? "refused",
    status: request.status,
    error_code: request.error_code,
    model: request.model,
    requested_model: readDetail(request).requested ?? null,
    provider: request.plugin,
    capability: request.capability,
    protocol: request.protocol,
    session: request.session,
    tag: request.tag,
    end_user: request.end_user,
    agent: request.agent,
    parent_agent: request.parent_agent,
    client_request_id: request.client_request_id,
    duration_ms: request.duration_ms,
    first_byte_ms: request.first_byte_ms,
    requests: request.requests ?? 1,
    premium: request.premium === null ? null : request.premium !== 0,
    usage: Object.fromEntries(figures),
    usage_source: request.usage_source,
    quota_tokens: request.quota_tokens,
    cost_usd: toUsd(request.cost_nanodollars),
    charged_usd: toUsd(request.charged_nanodollars),
    cache_saved_usd: toUsd(request.cache_saved_nanodollars),
    cache_miss: describeMiss(request),
  };
}

/** The earnings of a request and the markup on its price, also where the free quota paid. For operators alone. */
export function describeMargin(
  request: Pick<
    RequestDetail,
    "state" | "charged_nanodollars" | "provider_cost_nanodollars" | "provider_price_version" | "markup_basis_points"
  >,
) {
  const { state, charged_nanodollars: charged, provider_cost_nanodollars: cost, markup_basis_points: markup } = request;
  const isEnded = state === "settled" && cost !== null;
  return {
    provider_cost_usd: toUsd(cost),
    provider_price_version: request.provider_price_version,
    markup_percent: state === null ? null : formatPercent(markup ?? 0),
    earned_usd: isEnded ? formatUsd((charged ?? 0) - cost) : null,
  };
}

/** The version of the rates that were paid: that of the price itself would tell what they are without a markup. */
export function toShownVersion(
  { price_version: version, markup_basis_points: markup }: RequestDetail,
  charge: ExplainedCharge | undefined,
): string | null {
  return markup === null ? version : (charge?.price.version ?? null);
}

/** Why less was read from a cache than promised, where that is known. */
export function describeMiss(request: LoggedRequest) {
  const { cache_miss: kind, cache_miss_place: place, cache_missed_tokens: tokens } = request;
  if (kind === null) return null;
  return { kind, place, tokens: tokens ?? 0, lost_usd: toUsd(request.cache_lost_nanodollars) };
}

/** Without the words of providers, which may repeat a part of the prompt. Times of the charge are as `toTime` writes them. */
export function describeRequestDetail<Time>(
  request: RequestDetail,
  charge: ExplainedCharge | undefined,
  toTime: (at: number) => Time,
) {
  const { attempts = [], error, stream, finish = [], cache_marks = null, cache, policies = [] } = readDetail(request);
  return {
    ...describeRequest(request),
    error: request.message ?? error ?? null,
    price_version: toShownVersion(request, charge),
    charge: describeCharge(charge, toTime),
    hold_usd: toUsd(request.hold_nanodollars),
    hold_tokens: request.hold_tokens,
    stream: stream ?? false,
    finish_reasons: [...finish],
    cache_marks,
    cache_report: cache ?? null,
    policies: policies.map(toPolicyResult),
    failed_attempts: attempts.map(({ plugin, status = null, error: kind, duration_ms }) => ({
      provider: plugin,
      status,
      error: kind,
      duration_ms,
    })),
  };
}

/** A result of a policy, without any text. */
export function toPolicyResult({ policy, phase, result, label, count }: PolicyDetail) {
  return { policy, phase, result, label: label ?? null, count };
}

function toUsd(nanodollars: number | null): string | null {
  return nanodollars === null ? null : formatUsd(nanodollars);
}
