import {
  type Call,
  type ChatRequest,
  type ContentPart,
  getOwn,
  type Message,
  type Model,
} from "../../contract/index.ts";
import { isRecord, mapChanged } from "../../lib/json.ts";
import { toServiceTier } from "../service-tier.ts";
import type { ChatOptions, RequestOptions } from "./options.ts";

/** What of a call a request is made from. */
interface RequestInput {
  readonly request: object;
  readonly model: Model;
  warn(sentence: string, ignored?: string): void;
}

/** The body to send: the request with the provider's model name, without what it rejects. `null` counts as absent. */
export function toBody(call: RequestInput, options: RequestOptions): Record<string, unknown> {
  const { rename = {}, values = {}, pass = [] } = options;
  const body: Record<string, unknown> = { ...options.extra };
  const renamed: [string, unknown][] = [];
  for (const [field, value] of Object.entries(call.request)) {
    if (value === null || value === undefined) continue;
    if (isLeftOut(field, options)) {
      call.warn(`Left out ${field}: the provider does not take it`, field);
      continue;
    }
    const priced = pass.includes(field) ? value : toPriced(field, value, call.model);
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

/** What a request is of: no provider refuses it. */
const essential: readonly string[] = "model messages input prompt query documents stream stream_options".split(" ");

/** Whether a request field is not sent to a provider. */
function isLeftOut(field: string, { omit, fields }: Pick<RequestOptions, "omit" | "fields">): boolean {
  if (omit?.includes(field) === true) return true;
  return fields !== undefined && !fields.includes(field) && !essential.includes(field);
}

/** What of a chat request a provider does not get: all that it rejects, and of the other fields those that bound the output. */
export function listLeftOut(options: Pick<RequestOptions, "omit" | "fields">): readonly string[] {
  const limits = ["max_tokens", "max_completion_tokens"].filter((name) => isLeftOut(name, options));
  return [...new Set([...(options.omit ?? []), ...limits])];
}

function toValue(field: string, value: unknown, values: NonNullable<RequestOptions["values"]>): unknown {
  const names = getOwn(values, field);
  if (names === undefined || typeof value !== "string") return value;
  const name = getOwn(names, value);
  return name === undefined ? value : name;
}

const reasoningFields = ["reasoning_content", "reasoning", "reasoning_details"];
const reasoningFieldsKept = ["reasoning", "reasoning_details"];
/** For calls of a client that does not send back what the model reasoned: the least that is taken. */
const unknownReasoning = " ";
const mark = "cache_control";

/** The messages as the provider takes them. What needs no change, a message or the whole list, is passed on, not copied. */
export function toMessages(messages: readonly Message[], options: ChatOptions): readonly Message[] {
  const sent: Message[] = [];
  const media: ContentPart[] = [];
  const sendMedia = () => {
    if (media.length > 0) sent.push({ role: "user", content: media.splice(0) });
  };
  for (const message of messages) {
    if (message.role !== "tool") sendMedia();
    sent.push(toMessage(message.role === "tool" ? toToolMessage(message, media) : message, options));
  }
  sendMedia();
  const isPriced = options.cacheControl !== true || options.pass?.includes(mark) === true;
  const priced = isPriced ? sent : mapChanged(sent, withPricedMarks);
  const isSame = priced.length === messages.length && priced.every((message, index) => message === messages[index]);
  return isSame ? messages : priced;
}

/** Takes out Anthropic's cache marks, which other providers refuse. A list without any is returned as it is. */
export function withoutMarks<Member extends object>(list: readonly Member[]): Member[] {
  if (!list.some((member) => mark in member)) return list as Member[];
  return list.map((member) => {
    const { [mark]: _, ...rest }: Member & { cache_control?: unknown } = member;
    return rest as Member;
  });
}

function toMessage(given: Message, options: ChatOptions): Message {
  const { keepsReasoning, systemRole, cacheControl } = options;
  const messageOmit = options.messageOmit ?? (keepsReasoning ? reasoningFieldsKept : reasoningFields);
  const isBare = keepsReasoning === true && Array.isArray(given.tool_calls) && !given.reasoning_content;
  const message = isBare ? { ...given, reasoning_content: unknownReasoning } : given;
  const role = toRole(message.role, systemRole);
  const omit = cacheControl === true ? messageOmit : [...messageOmit, mark];
  const { content, tool_calls: calls } = message;
  const hasMarks = cacheControl !== true && (hasMark(content) || hasMark(calls));
  const isKept = (key: string) => !omit.includes(key) && (message[key as keyof Message] !== null || key === "content");
  const keys = Object.keys(message);
  if (role === message.role && !hasMarks && keys.every(isKept)) return message;
  const kept = keys.filter(isKept);
  const copy: Record<string, unknown> = {};
  for (const key of kept) {
    const value: unknown = message[key as keyof Message];
    copy[key] = hasMarks && Array.isArray(value) ? withoutMarks(value) : value;
  }
  copy.role = role;
  return copy as Message;
}

const hasMark = (list: unknown) => Array.isArray(list) && list.some((member: object) => mark in member);

/**
 * A result as text, which is all that this dialect takes there: what else it holds goes into a user message after the
 * results, and one that a client of the Messages protocol marked as failed says so.
 */
function toToolMessage(message: Message & { is_error?: unknown }, media: ContentPart[]): Message {
  const { is_error: isError, content, ...rest } = message;
  const others = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
  if (isError === undefined && others.length === 0) return message;
  media.push(...others);
  let texts = Array.isArray(content) ? content.filter(({ type }) => type === "text") : (content ?? "");
  if (Array.isArray(texts) && texts.length === 0) texts = "The result is in the next message.";
  if (isError !== true) return { ...rest, content: texts };
  return { ...rest, content: Array.isArray(texts) ? [{ type: "text", text: "Error:" }, ...texts] : `Error: ${texts}` };
}

function toRole(role: Message["role"], systemRole: ChatOptions["systemRole"]): Message["role"] {
  return systemRole !== undefined && (role === "system" || role === "developer") ? systemRole : role;
}

/**
 * Fields that change what the provider charges, or which model answers: tiers of service, sound in the answer, searches,
 * tools and other models of the provider's own, a summary of the conversation, and other names of the output limit, which
 * the hold is made by. A row's price covers none of them unless the options `pass` them.
 */
const pricedFields = new Set(
  `service_tier modalities audio prediction web_search_options search_parameters search_settings best_of
  n_predict n_cmpl max_new_tokens max_output_tokens max_length min_tokens use_beam_search
  models model_fallbacks fallbacks route provider preset plugins transforms context_management safety_model compound_custom
  svg frame_count frame_duration_ms complexity markup`.split(/\s+/),
);

/** The value that the price of the row covers: the field's own, another, or none. */
function toPriced(field: string, value: unknown, model?: Model): unknown {
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
function withPricedMarks(message: Message): Message {
  const marked = withFiveMinutes(message);
  const { content } = marked;
  if (!Array.isArray(content)) return marked;
  const parts = content.map(withFiveMinutes);
  return parts.some((part, index) => part !== content[index]) ? { ...marked, content: parts } : marked;
}

/** The tiers that cost more than the standard one, as OpenAI and Groq call them. */
const costlierTiers: readonly unknown[] = ["priority", "fast", "performance", "ultrafast"];

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

const effortsRising = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Brings `reasoning_effort` to what the model takes, and takes out what it rejects beside it. */
export function fitReasoning(
  body: Record<string, unknown>,
  call: Pick<Call<ChatRequest>, "request" | "warn">,
  options: ChatOptions,
): void {
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  if (hasTools) body.reasoning_effort ??= options.toolEffortDefault;
  const asked = body.reasoning_effort;
  if (typeof asked !== "string") return;
  const efforts = (hasTools ? options.toolEfforts : undefined) ?? options.reasoningEfforts;
  const effort = efforts === undefined ? asked : nearestEffort(asked, efforts);
  if (effort !== asked) {
    const sentence = `Sent reasoning_effort ${effort ?? options.toolEffortDefault ?? "not at all"} for ${asked}: the model takes ${efforts?.join(", ")}`;
    call.warn(sentence, "reasoning_effort");
  }
  const sent = effort ?? (hasTools ? options.toolEffortDefault : undefined);
  if (sent === undefined) delete body.reasoning_effort;
  else body.reasoning_effort = sent;
  if (effort === undefined || effort === "none") return;
  for (const field of options.reasoningOmit ?? []) {
    if (body[field] === undefined) continue;
    delete body[field];
    call.warn(`Left out ${field}: the model does not take it while it reasons`, field);
  }
}

/**
 * The effort nearest to the one asked for, the lower of two. Thinking is never turned off for a caller who asked for
 * some, so `none` is near to nothing but itself.
 *
 * @returns `undefined` when the model has no effort to choose.
 *
 * @example
 * nearestEffort("xhigh", ["low", "medium", "high"]); // => "high"
 * nearestEffort("low", []); // => undefined
 */
export function nearestEffort(asked: string, efforts: readonly string[]): string | undefined {
  if (efforts.includes(asked)) return asked;
  const place = effortsRising.indexOf(asked);
  let nearest: string | undefined;
  let distanceMin = Number.POSITIVE_INFINITY;
  for (const effort of effortsRising) {
    const distance = Math.abs(effortsRising.indexOf(effort) - place);
    if (effort === "none" || !efforts.includes(effort) || distance >= distanceMin) continue;
    nearest = effort;
    distanceMin = distance;
  }
  return nearest;
}
