import { getOwn } from "../../contract/index.ts";
import { isRecord, mapChanged } from "../../lib/json.ts";
import type {
  Call,
  ChatRequest,
  ContentPart,
  Message,
  Model,
  ModelOptions,
  OptionKind,
  ToolCall,
  Warn,
} from "../../provider/index.ts";
import { withCallIds, withReadableCalls } from "../tools.ts";
import { getPlaces, type ReasoningBackOptions, reasoningFields, withReasoning } from "./reasoning-back.ts";

/** How the requests of a provider differ from OpenAI's. All of it is data; a model row's `options` may have the same fields. */
export interface RequestOptions {
  /** Where its endpoint is, below the base URL. `{model}` is the model's name there. Default: OpenAI's path. */
  path?: string;
  /** Request fields the provider rejects: left out, and noted in the log. */
  omit?: readonly string[];
  /**
   * The only request fields that it accepts, by OpenAI's names, besides the fields that a request needs. Default: all
   * of them.
   */
  fields?: readonly string[];
  /** Request fields it knows by another name. If the request has a field of that name too, that one is sent. */
  rename?: Readonly<Record<string, string>>;
  /** Values it knows by another name, by field: `{ quality: { hd: "high" } }`; `null` leaves the field out. */
  values?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Request fields that change the price or choose another model, and whose price the rows do cover: they are sent. */
  pass?: readonly string[];
  /** Fields to send unless the request has them: `{ reasoning_format: "parsed" }`. */
  extra?: Readonly<Record<string, unknown>>;
}

/** Options of a chat provider. */
export interface ChatOptions extends RequestOptions, ReasoningBackOptions {
  /** Fields of a message it rejects. Default: the fields that carry reasoning. */
  messageOmit?: readonly string[];
  /**
   * Fields of a message, or of a call in one, that it takes besides those that OpenAI documents. A public provider is sent no others,
   * wherever it is reached; a plugin for servers that people run themselves, which declares a private address or one without TLS, sends all.
   */
  messageFields?: readonly string[];
  /**
   * Whether it takes Anthropic's `cache_control`: on the request, parts, tools, calls, and messages of the model and of tools.
   * Default: left out, unless it is in `pass`.
   */
  cacheControl?: boolean;
  /**
   * Whether it keeps requests of one `prompt_cache_key` where their cache is: a request without one gets a key of the client's
   * session. Default: only the client's own is sent.
   */
  cacheKey?: boolean;
  /**
   * The provider's role of a system message: `developer` becomes `system`, or the other way round. Both pass when left
   * out.
   */
  systemRole?: "system" | "developer";
  /** Whether it takes the deprecated `functions` itself (`pass`) or they are sent as `tools` (`convert`, the default). */
  functions?: "pass" | "convert";
  /** The `reasoning_effort` values it takes; another is moved to the nearest; without a nearest one the field is left out. */
  reasoningEfforts?: readonly string[];
  /**
   * The `reasoning_effort` values it takes in a chat request with tools, if they differ. If the provider has
   * `/responses`, a request with another effort goes there.
   */
  toolEfforts?: readonly string[];
  /**
   * The effort to send with tools when the request has no effort and the model's own default would be rejected with
   * tools.
   */
  toolEffortDefault?: string;
  /** Request fields it rejects together with an effort other than `none`. */
  reasoningOmit?: readonly string[];
  /** How many stop sequences it takes; those beyond are applied to its answer. Default: any number. */
  stopsMax?: number;
  /** Whether it takes `stream_options`. Default true: usage is always asked for. */
  streamOptions?: boolean;
  /** Whether it streams at all. Default true; otherwise every answer is requested whole. */
  streams?: boolean;
  /** Whether it streams an answer held to a JSON schema. Default true; otherwise such an answer is requested whole. */
  streamsSchemas?: boolean;
  /** Fields of an answer that no OpenAI client knows: dropped wherever they occur. */
  drop?: readonly string[];
  /** Where its messages carry reasoning. Default `["reasoning_content", "reasoning", "reasoning_text"]`. */
  reasoningFields?: readonly string[];
  /** Whether the content begins with the reasoning as `<think>…</think>`. */
  think?: boolean;
  /** Its own finish reasons in OpenAI's words, where they are not among those that the gateway knows. */
  finishReasons?: Readonly<Record<string, string>>;
  /**
   * The form that ids of tool calls need: `openai` limits their length, `mistral` needs nine letters and digits.
   * Default: any.
   */
  callIds?: "openai" | "mistral";
  /** The field of an answer or chunk that has the `usage` if it is not at the top level, such as `x_groq`. */
  usageIn?: string;
}

/** Options of a provider that speaks the Responses protocol. */
export interface ResponsesOptions extends RequestOptions {
  /** As in {@link ChatOptions}. */
  cacheKey?: boolean;
  /** Whether it counts the input tokens of such a request. Default false. */
  inputTokens?: boolean;
  /** The provider also has `POST /responses/compact`. */
  compact?: boolean;
  /** Whether it is sent the client's `client_metadata`, such as Codex' names of session, thread and turn. Default false. */
  clientMetadata?: boolean;
  /**
   * Whether `GET /responses` of the provider opens WebSockets. Turns that a client sends by WebSocket then go by one, too. In a plugin it
   * is said of the provider's own public server; in a model's row of any server. Default false.
   */
  responsesWebSocket?: boolean;
}

/** Options of an embedding provider. */
export type EmbeddingsOptions = RequestOptions;

/** Options of an image provider. */
export interface ImagesOptions extends RequestOptions {
  /** Whether it streams unfinished images. Default false: `partial_images` is left out. */
  partialImages?: boolean;
}

/** Options for image edits. */
export interface ImageEditsOptions extends ImagesOptions {
  /** How images are sent: as files of a form (default), or in JSON as `image` or `images` of `{ type, url }`, as xAI wants them. */
  imagesAs?: "files" | "urls";
}

/** Options of a transcription provider. */
export interface TranscriptionOptions extends RequestOptions {
  /** Whether it has `verbose_json`, which reports the length of the audio. Default true. */
  verbose?: boolean;
}

/** Options of a speech provider. */
export interface SpeechOptions extends RequestOptions {
  /** Whether it can send the audio in events; the last event reports the tokens. Default false. */
  events?: boolean;
}

/** The capabilities of a provider of OpenAI's dialect, each with its options (`{}`: none). */
export interface OpenaiOptions {
  chat?: ChatOptions;
  /** The Responses protocol, if the provider speaks it in addition to chat. */
  responses?: ResponsesOptions;
  embeddings?: EmbeddingsOptions;
  images?: ImagesOptions;
  imageEdits?: ImageEditsOptions;
  transcription?: TranscriptionOptions;
  translation?: TranscriptionOptions;
  speech?: SpeechOptions;
  moderation?: RequestOptions;
  /** An endpoint of Cohere, Jina, Voyage and vLLM; OpenAI does not have it. */
  rerank?: RequestOptions;
  /** For the rows whose price has the tier `decisions`. */
  decisions?: RequestOptions;
}

const merged = new WeakMap<object, WeakMap<Model, unknown>>();

/** The options of a dialect for one model: its row's `options` go first, its `omit` and `rename` are added. */
export function resolveOptions<Options extends RequestOptions>(defaults: Options, model: Model): Options {
  if (model.omit === undefined && model.rename === undefined && model.options === undefined) return defaults;
  let byModel = merged.get(defaults) as WeakMap<Model, Options> | undefined;
  if (byModel === undefined) {
    byModel = new WeakMap();
    merged.set(defaults, byModel);
  }
  let result = byModel.get(model);
  if (result === undefined) {
    const all = { ...defaults, ...(isRecord(model.options) ? model.options : {}) };
    const omit = [...(all.omit ?? []), ...(model.omit ?? [])];
    result = { ...all, omit, rename: { ...all.rename, ...model.rename } };
    byModel.set(model, result);
  }
  return result;
}

type All = ChatOptions & ImageEditsOptions & RequestOptions & ResponsesOptions & SpeechOptions & TranscriptionOptions;

/**
 * Options of a row where `openai()` makes the handlers: all that it knows of its capabilities.
 *
 * @example
 * openaiModelOptions.think; // => "boolean"
 */
export const openaiModelOptions: ModelOptions = {
  path: "text",
  omit: "texts",
  fields: "texts",
  rename: "object",
  values: "object",
  pass: "texts",
  extra: "object",
  messageOmit: "texts",
  messageFields: "texts",
  keepsReasoning: "boolean",
  reasoningBack: "texts",
  cacheControl: "boolean",
  cacheKey: "boolean",
  systemRole: ["system", "developer"],
  functions: ["pass", "convert"],
  reasoningEfforts: "texts",
  toolEfforts: "texts",
  toolEffortDefault: "text",
  reasoningOmit: "texts",
  stopsMax: "number",
  streamOptions: "boolean",
  streams: "boolean",
  streamsSchemas: "boolean",
  drop: "texts",
  reasoningFields: "texts",
  think: "boolean",
  finishReasons: "object",
  callIds: ["openai", "mistral"],
  usageIn: "text",
  inputTokens: "boolean",
  compact: "boolean",
  clientMetadata: "boolean",
  responsesWebSocket: "boolean",
  verbose: "boolean",
  events: "boolean",
  partialImages: "boolean",
  imagesAs: ["files", "urls"],
} satisfies Record<keyof All, OptionKind>;

/** Fields of a call that a request is made from. */
interface RequestInput {
  readonly request: object;
  readonly model: Model;
  readonly warn: Warn;
}

/** The body to send: the request with the provider's model name, without what it rejects. `null` counts as absent. */
export function toBody(call: RequestInput, options: RequestOptions): Record<string, unknown> {
  const { rename, values, pass } = options;
  const body: Record<string, unknown> = { ...options.extra };
  const renamed: [string, unknown][] = [];
  for (const field in call.request) {
    const value: unknown = call.request[field as never];
    if (value === null || value === undefined) continue;
    if (isLeftOut(field, options)) {
      call.warn(`Left out ${field}: the provider does not take it`, field);
      continue;
    }
    const priced = pass?.includes(field) ? value : toPriced(field, value, call.model);
    if (priced === undefined) {
      call.warn(`Left out ${field}: the price of this model does not cover it`, field);
      continue;
    }
    const sentValue = values === undefined ? priced : toValue(field, priced, values);
    const renamedTo = rename && getOwn(rename, field);
    if (sentValue === null)
      call.warn(`Left out ${field} ${JSON.stringify(value)}: the provider does not support this value`, field);
    else if (renamedTo === undefined) body[field] = sentValue;
    else renamed.push([renamedTo, sentValue]);
  }
  for (const [field, value] of renamed) if (call.request[field as never] == null) body[field] = value;
  body.model = call.model.upstreamId;
  return body;
}

/** Adds a `prompt_cache_key` made of the client's session to a request without one, if the provider supports it. */
export function withCacheKey<Body extends object>(
  request: Body,
  { readCacheKey, isOwnServer }: Pick<Call<unknown>, "readCacheKey" | "isOwnServer">,
  options: RequestOptions & { readonly cacheKey?: boolean },
): Body {
  const { prompt_cache_key: own } = request as { prompt_cache_key?: unknown };
  // A server of the operator's at the provider's place may refuse what it does not know.
  if (
    options.cacheKey !== true ||
    isOwnServer === true ||
    (own ?? null) !== null ||
    isLeftOut("prompt_cache_key", options)
  )
    return request;
  const key = readCacheKey?.();
  return key === undefined ? request : { ...request, prompt_cache_key: key };
}

/** Fields that every request needs: no provider refuses them. */
const essential: readonly string[] = [
  "model",
  "messages",
  "input",
  "prompt",
  "query",
  "documents",
  "stream",
  "stream_options",
];

/** Whether a request field is not sent to a provider. */
export function isLeftOut(field: string, { omit, fields }: Pick<RequestOptions, "omit" | "fields">): boolean {
  if (omit?.includes(field) === true) return true;
  return fields !== undefined && !fields.includes(field) && !essential.includes(field);
}

const leftOut = new WeakMap<object, readonly string[]>();

/**
 * Lists the fields of a chat request that a provider is not sent: those it rejects, and of the others those that bound
 * the output.
 */
export function listLeftOut(options: Pick<RequestOptions, "omit" | "fields">): readonly string[] {
  let fields = leftOut.get(options);
  if (fields === undefined) {
    const limits = ["max_tokens", "max_completion_tokens"].filter((name) => isLeftOut(name, options));
    fields = [...new Set([...(options.omit ?? []), ...limits])];
    leftOut.set(options, fields);
  }
  return fields;
}

function toValue(field: string, value: unknown, values: NonNullable<RequestOptions["values"]>): unknown {
  const names = getOwn(values, field);
  if (names === undefined || typeof value !== "string") return value;
  const name = getOwn(names, value);
  return name === undefined ? value : name;
}

const mark = "cache_control";
/** The marks of caches, Anthropic's and OpenAI's; whether they are sent is decided by themselves. */
const marks: readonly string[] = [mark, "prompt_cache_breakpoint"];

/** The fields that OpenAI documents of a message, and of a call and a function in one. */
const messageFields: ReadonlySet<string> = new Set(
  "role content name refusal audio tool_calls tool_call_id function_call".split(" "),
);
const callFields: ReadonlySet<string> = new Set(["id", "type", "function", "custom"]);
const calledFields: ReadonlySet<string> = new Set(["name", "arguments"]);

/**
 * The messages as the provider takes them. What needs no change, a message or the whole list, is passed on, not copied.
 *
 * @param isForOwnServers Whether the provider's plugin is for servers that people run themselves, which get all fields of a message.
 */
export function toMessages(
  messages: readonly Message[],
  options: ChatOptions,
  { upstreamId = "", isForOwnServers = false }: { upstreamId?: string; isForOwnServers?: boolean | undefined } = {},
): readonly Message[] {
  const target = { options, upstreamId, isForOwnServers };
  const sentMessages: Message[] = [];
  const media: ContentPart[] = [];
  for (const message of withCallIds(withReadableCalls(messages), options.callIds)) {
    if (message.role !== "tool") sendMedia(media, sentMessages);
    sentMessages.push(
      toMessage(message.role === "tool" ? toToolMessage(message, media) : withReasoning(message, target), target),
    );
  }
  sendMedia(media, sentMessages);
  const isPriced = !takesMarks(options) || options.pass?.includes(mark) === true;
  const priced = isPriced ? sentMessages : mapChanged(sentMessages, withPricedMarks);
  const isSame = priced.length === messages.length && priced.every((message, index) => message === messages[index]);
  return isSame ? messages : priced;
}

function sendMedia(media: ContentPart[], messages: Message[]): void {
  if (media.length > 0) messages.push({ role: "user", content: media.splice(0) });
}

/** Whether a provider takes Anthropic's cache marks, which others refuse. */
export function takesMarks({ cacheControl, pass }: ChatOptions): boolean {
  return cacheControl === true || pass?.includes(mark) === true;
}

/** Takes out Anthropic's cache marks, which other providers refuse. A list without any is returned as it is. */
export function withoutMarks<Member extends object>(list: readonly Member[]): Member[] {
  if (!list.some((member) => mark in member)) return list as Member[];
  return list.map((member) => {
    const { [mark]: _, ...rest }: Member & { cache_control?: unknown } = member;
    return rest as Member;
  });
}

function toMessage(
  original: Message,
  { options, isForOwnServers }: { options: ChatOptions; isForOwnServers: boolean },
): Message {
  const { systemRole, messageFields: further = [] } = options;
  const places: readonly string[] = getPlaces({ options, isForOwnServers });
  const messageOmit = options.messageOmit ?? reasoningFields.filter((field) => !places.includes(field));
  const isMarkable = takesMarks(options);
  const placed = isMarkable ? withMarkOnPart(original) : original;
  const message = isForOwnServers ? placed : withDescribedCalls(placed, further);
  const role = toRole(message.role, systemRole);
  const { content, tool_calls: calls } = message;
  const hasMarks = !isMarkable && (hasMark(content) || hasMark(calls));
  const isTaken = (key: string) =>
    messageFields.has(key) || marks.includes(key) || places.includes(key) || further.includes(key);
  const isSent = (key: string) =>
    !messageOmit.includes(key) &&
    (isForOwnServers || isTaken(key)) &&
    (key !== "tool_calls" || hasCalls(message)) &&
    (key !== mark || isMarkable) &&
    (message[key as keyof Message] !== null || key === "content");
  let isSame = role === message.role && !hasMarks;
  for (const key in message) isSame &&= isSent(key);
  if (isSame) return message;
  const copy: Record<string, unknown> = {};
  for (const key in message) {
    const value: unknown = message[key as keyof Message];
    if (isSent(key)) copy[key] = hasMarks && Array.isArray(value) ? withoutMarks(value) : value;
  }
  copy.role = role;
  return copy as Message;
}

const hasCalls = ({ tool_calls: calls }: Message) => Array.isArray(calls) && calls.length > 0;

/** A message whose calls have the fields that OpenAI documents, and further ones; itself where they have no others. */
function withDescribedCalls(message: Message, further: readonly string[]): Message {
  const { tool_calls: calls } = message;
  if (!calls) return message;
  const described = mapChanged(calls, (call) => {
    const bare = pick(call, callFields, further);
    const called: unknown = bare.function;
    const bareCalled = isRecord(called) ? pick(called, calledFields, further) : called;
    return bareCalled === called ? bare : { ...bare, function: bareCalled as ToolCall["function"] };
  });
  return described === calls ? message : { ...message, tool_calls: [...described] };
}

/** An object with some of its fields, and its cache marks; itself where it has no others. */
function pick<Holder extends object>(holder: Holder, fields: ReadonlySet<string>, further: readonly string[]): Holder {
  const isPicked = (name: string) => fields.has(name) || marks.includes(name) || further.includes(name);
  if (Object.keys(holder).every(isPicked)) return holder;
  return Object.fromEntries(Object.entries(holder).filter(([name]) => isPicked(name))) as Holder;
}

/** Moves the mark of a message of the system or user to its last text, where providers of this dialect read it. */
function withMarkOnPart(message: Message): Message {
  if (!(mark in message) || message.role === "assistant" || message.role === "tool") return message;
  const { [mark]: moved, content, ...rest } = message as Message & { cache_control?: unknown };
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : [...(content ?? [])];
  const last = parts.findLastIndex((part) => part.type === "text" && part.text.trim() !== "");
  const marked = parts[last];
  if (marked === undefined) return message;
  parts[last] = Object.assign({ [mark]: moved }, marked);
  return { ...rest, content: parts } as Message;
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
 * Fields that change what the provider charges, or which model answers: tiers of service, audio in the answer, searches,
 * tools and other models of the provider's own, a summary of the conversation, other names of the output limit, which
 * the hold is made by, and what is read with the operator's identity and put into the prompt (Azure's `data_sources`). A row's price
 * covers none of them unless the options `pass` them.
 */
const pricedFields = new Set(
  `service_tier modalities audio prediction web_search_options search_parameters search_settings best_of
  n_predict n_cmpl max_new_tokens max_output_tokens max_length min_tokens use_beam_search
  models model_fallbacks fallbacks route provider preset plugins transforms context_management safety_model compound_custom
  svg frame_count frame_duration_ms complexity markup data_sources dataSources`.split(/\s+/),
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
  warn(`The provider used the service tier ${tier}, which costs more than the price of this model covers`, []);
}

const effortsRising = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * Changes `reasoning_effort` to a value that the model takes, and removes the fields that the model rejects with it.
 */
export function fitReasoning(
  body: Record<string, unknown>,
  call: Pick<Call<ChatRequest>, "request" | "warn">,
  options: ChatOptions,
): void {
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  if (hasTools) body.reasoning_effort ??= options.toolEffortDefault;
  const requestedEffort = body.reasoning_effort;
  if (typeof requestedEffort !== "string") return;
  const efforts = (hasTools ? options.toolEfforts : undefined) ?? options.reasoningEfforts;
  const effort = efforts === undefined ? requestedEffort : nearestEffort(requestedEffort, efforts);
  if (effort !== requestedEffort) {
    const message = `Sent reasoning_effort ${effort ?? options.toolEffortDefault ?? "not at all"} for ${requestedEffort}: the model takes ${efforts?.join(", ")}`;
    call.warn(message, "reasoning_effort");
  }
  const sentEffort = effort ?? (hasTools ? options.toolEffortDefault : undefined);
  if (sentEffort === undefined) delete body.reasoning_effort;
  else body.reasoning_effort = sentEffort;
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
export function nearestEffort(requestedEffort: string, efforts: readonly string[]): string | undefined {
  if (efforts.includes(requestedEffort)) return requestedEffort;
  const place = effortsRising.indexOf(requestedEffort);
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

/**
 * The tier of service to ask a provider for: one that the price of the row has, or `default` where the client leaves it to
 * the provider or asks for no other.
 *
 * @param tier The `service_tier` of a request.
 * @returns `undefined` for a tier that the price does not cover.
 *
 * @example
 * const price = { serviceTiers: { flex: {} } };
 * ["flex", "auto", "priority"].map((tier) => toServiceTier(tier, { price })); // => ["flex", "default", undefined]
 */
export function toServiceTier(tier: unknown, model: Pick<Model, "price"> | undefined): string | undefined {
  if (typeof tier === "string" && getOwn(model?.price?.serviceTiers ?? {}, tier) !== undefined) return tier;
  // "auto" means what the operator's account is set to, which may cost more.
  return tier === "auto" || tier === "default" ? "default" : undefined;
}
