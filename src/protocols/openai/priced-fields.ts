import type { Call, ChatRequest, Message, Model } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { toServiceTier } from "../service-tier.ts";
import type { ChatOptions } from "./options.ts";

/**
 * Fields that change what the provider charges, or which model answers: tiers of service, sound in the answer, searches,
 * tools and other models of the provider's own, a summary of the conversation, and other names of the output limit, which
 * the hold is made by. A row's price covers none of them unless the options `pass` them.
 */
const pricedFields = new Set(
  `service_tier modalities audio prediction web_search_options search_parameters search_settings best_of
  n_predict n_cmpl max_new_tokens max_output_tokens max_length min_tokens use_beam_search
  models model_fallbacks fallbacks route provider preset plugins transforms context_management safety_model compound_custom`.split(
    /\s+/,
  ),
);

/** The value that the price of the row covers: the field's own, another, or none. */
export function toPriced(field: string, value: unknown, model?: Model): unknown {
  if (field === "cache_control") return withFiveMinutes({ [field]: value })[field];
  if (!pricedFields.has(field)) return value;
  if (field === "service_tier") return toServiceTier(value, model);
  if (field === "audio") return hasSound(model) ? value : undefined;
  if (field !== "modalities" || !Array.isArray(value)) return undefined;
  return value.every((kind) => kind === "text" || (kind === "audio" && hasSound(model))) ? value : undefined;
}

const hasSound = (model: Model | undefined) => model?.price?.audioOutputToken !== undefined;

/** A client's cache mark as the five-minute kind: an hour's write costs more than the price says. */
export function withFiveMinutes<Holder extends object>(holder: Holder): Holder {
  const mark = (holder as { cache_control?: unknown }).cache_control;
  if (!isRecord(mark) || mark.ttl === undefined || mark.ttl === "5m") return holder;
  const { ttl: _, ...rest } = mark;
  return { ...holder, cache_control: rest };
}

/** A message whose cache marks the price of the row covers; one without marks is not copied. */
export function withPricedMarks(message: Message): Message {
  const marked = withFiveMinutes(message);
  const { content } = marked;
  if (!Array.isArray(content)) return marked;
  const parts = content.map(withFiveMinutes);
  return parts.some((part, index) => part !== content[index]) ? { ...marked, content: parts } : marked;
}

/** The tiers that cost more than the standard one, as OpenAI and Groq call them. */
const costlierTiers: readonly unknown[] = ["priority", "fast", "performance"];

/** The operator's account with the provider may be set to a tier that the caller did not ask for. */
export function warnOfTier(
  tier: unknown,
  { warn, model, request }: Pick<Call<ChatRequest>, "warn" | "model" | "request">,
  { pass = [] }: ChatOptions,
): void {
  const { service_tier: requested } = request as { service_tier?: unknown };
  const isSold = requested !== "default" && requested !== "auto" && toServiceTier(requested, model) !== undefined;
  if (!costlierTiers.includes(tier) || pass.includes("service_tier") || isSold) return;
  warn(`The provider answered by its service tier ${tier}, which costs more than the price of this model says`);
}
