import { getOwn, type Model } from "../../../contract/index.ts";
import { isRecord } from "../../json.ts";
import type { RequestOptions } from "./options.ts";

/**
 * Fields that change what the provider charges, or which model answers: tiers of service, sound in the answer, searches,
 * tools and other models of the provider's own. A row's price covers none of them unless the options `pass` them.
 */
const pricedFields = new Set(
  `service_tier modalities audio prediction web_search_options search_parameters search_settings best_of
  models model_fallbacks fallbacks route provider preset plugins transforms safety_model compound_custom`.split(/\s+/),
);

/** What of a call a request is made from. */
interface CheckInput {
  readonly request: object;
  readonly model: Model;
  warn(sentence: string, ignored?: string): void;
}

/** The body to send: the request with the provider's model name, without what it rejects. `null` counts as absent. */
export function toBody(call: CheckInput, options: RequestOptions): Record<string, unknown> {
  const { omit = [], rename = {}, values = {}, pass = [] } = options;
  const body: Record<string, unknown> = { ...options.extra };
  const renamed: [string, unknown][] = [];
  for (const [field, value] of Object.entries(call.request)) {
    if (value === null || value === undefined) continue;
    if (omit.includes(field)) {
      call.warn(`Left out ${field}: the provider does not take it`, field);
      continue;
    }
    const priced = pass.includes(field) ? value : toPriced(field, value);
    if (priced === undefined) {
      call.warn(`Left out ${field}: the price of this model does not cover it`, field);
      continue;
    }
    const sent = toValue(field, priced, values);
    const renamedTo = getOwn(rename, field);
    if (sent === null) call.warn(`Left out ${field} ${JSON.stringify(value)}: the provider has no such value`, field);
    else if (renamedTo === undefined) body[field] = sent;
    else renamed.push([renamedTo, sent]);
  }
  for (const [field, value] of renamed) if (call.request[field as never] == null) body[field] = value;
  body.model = call.model.upstreamId;
  return body;
}

/** The value that the price of the row covers: the field's own, another, or none. */
function toPriced(field: string, value: unknown): unknown {
  if (field === "cache_control") return withFiveMinutes({ [field]: value })[field];
  if (!pricedFields.has(field)) return value;
  // "auto" means what the operator's account is set to, which may be dearer.
  if (field === "service_tier") return value === "auto" || value === "default" ? "default" : undefined;
  return field === "modalities" && JSON.stringify(value) === '["text"]' ? value : undefined;
}

/** A client's cache mark as the five-minute kind: an hour's write costs more than the price says. */
export function withFiveMinutes<Holder extends object>(holder: Holder): Holder {
  const mark = (holder as { cache_control?: unknown }).cache_control;
  if (!isRecord(mark) || mark.ttl === undefined || mark.ttl === "5m") return holder;
  const { ttl: _, ...rest } = mark;
  return { ...holder, cache_control: rest };
}

function toValue(field: string, value: unknown, values: NonNullable<RequestOptions["values"]>): unknown {
  const names = getOwn(values, field);
  if (names === undefined || typeof value !== "string") return value;
  const name = getOwn(names, value);
  return name === undefined ? value : name;
}
