import {
  type ChatRequest,
  GatewayError,
  type ItemReference,
  quoteValue,
  type ResponseFormat,
  type ResponseItem,
  type ResponsesRequest,
} from "../../../contract/index.ts";
import { badRequest, isRecord } from "../../../sdk/index.ts";
import { isMessage } from "./content.ts";
import { Conversation } from "./conversation.ts";
import type { ReasoningSeal } from "./reasoning-seal.ts";
import { ToolSet, toToolFields } from "./tools.ts";

/** A request can hold thousands of things to leave out. */
const warningsMax = 20;

/** What a request's translation needs beside the request. */
export interface TranslationOptions {
  /** For the caller's account and the request's model. */
  seal: ReasoningSeal;
  /** The items before `input`: those of the chain of `previous_response_id`, oldest first. */
  earlier?: readonly ResponseItem[];
  /** The stored items that `input` may refer to, by id; those of `earlier` are known anyway. */
  referenced?: ReadonlyMap<string, ResponseItem>;
  /** Whether the items are kept for later requests, as the answer says. */
  stored: boolean;
}

/** What an answer's translation needs to know of its request. */
export interface ResponsePlan {
  request: ResponsesRequest;
  tools: ToolSet;
  seal: ReasoningSeal;
  stored: boolean;
  /** Whether reasoning items carry `encrypted_content`. */
  sealsThoughts: boolean;
  /** The items of this turn with references resolved, without the earlier ones: what is to be stored with the answer. */
  input: ResponseItem[];
  /** What was left out or changed, a sentence each, for the log. */
  warnings: string[];
}

/** The ids of stored items that a request refers to by `item_reference`. */
export function listReferences({ input }: ResponsesRequest): string[] {
  return Array.isArray(input) ? input.filter(isReference).map(({ id }) => id) : [];
}

/**
 * Refuses what no route serves: background answers and stored conversations.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkResponsesRequest(request: unknown): void {
  if (!isRecord(request)) return;
  if (request.background === true) {
    throw badRequest("background is not available here, expected false: use stream for long answers", "background");
  }
  if (request.conversation !== undefined && request.conversation !== null) {
    const sentence = "conversation is not available here, expected previous_response_id or the items in input";
    throw badRequest(sentence, "conversation");
  }
  if (isRecord(request.prompt)) {
    throw badRequest("Prompt templates are stored at their own provider, expected the text in input", "prompt");
  }
}

/**
 * Translates a request to chat, and says how the answer is to be translated back.
 *
 * @throws {GatewayError} `invalid_request` for what chat cannot express, a reference to an unknown item, a call without
 *   its output or the reverse, and two tools that become one function.
 */
export function toChatRequest(
  request: ResponsesRequest,
  options: TranslationOptions,
): { chat: ChatRequest; plan: ResponsePlan } {
  checkResponsesRequest(request);
  const { seal, earlier = [], stored } = options;
  const input = resolveInput(request, options);
  const warnings = new Set<string>();
  const warn = (sentence: string) => {
    if (warnings.size < warningsMax) warnings.add(sentence);
  };
  const tools = new ToolSet(warn);
  tools.add(request.tools ?? [], "tools", false);
  const conversation = new Conversation(tools, seal, warn);
  conversation.addSystem(request.instructions ?? "");
  for (const item of earlier) conversation.add(item, "previous_response_id");
  input.forEach((item, index) => {
    conversation.add(item, typeof request.input === "string" ? "input" : `input[${index}]`);
  });
  const messages = conversation.toMessages();
  if (messages.length === 0) throw badRequest("input is empty, expected text or items", "input");
  const chat: ChatRequest = {
    model: request.model,
    messages,
    ...toToolFields(request, tools, warn),
    ...toSettings(request, warn),
  };
  const sealsThoughts = stored || includes(request, "reasoning.encrypted_content");
  const plan = { request, tools, seal, stored, sealsThoughts, input, warnings: [...warnings] };
  return { chat, plan };
}

function includes({ include }: ResponsesRequest, name: string): boolean {
  return include?.includes(name) === true;
}

function isReference(item: ResponseItem): item is ItemReference {
  return item.type === "item_reference" || ((item.type === undefined || item.type === null) && !isMessage(item));
}

/**
 * The request with all its items in `input`, for a native route: earlier ones and those that it refers to are kept here.
 *
 * @returns The request itself when it has all of them.
 * @throws {GatewayError} `invalid_request` for an unknown response or item.
 */
export function withResolvedInput(request: ResponsesRequest, options: TranslationOptions): ResponsesRequest {
  const { previous_response_id: _, ...rest } = request;
  const hasReferences = Array.isArray(request.input) && request.input.some(isReference);
  if (!request.previous_response_id && !hasReferences) return request;
  const input = resolveInput(request, options);
  return { ...rest, input: [...(options.earlier ?? []), ...input] };
}

function resolveInput(request: ResponsesRequest, { earlier, referenced }: TranslationOptions): ResponseItem[] {
  const { input, previous_response_id: previous } = request;
  if (previous && earlier === undefined) throw previousResponseNotFound(previous);
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!input.some(isReference)) return input;
  const known = new Map((earlier ?? []).map((item) => [item.id, item]));
  return input.map((item, index) => {
    if (!isReference(item)) return item;
    const found = known.get(item.id) ?? referenced?.get(item.id);
    if (found === undefined) throw itemNotFound(item.id, `input[${index}].id`);
    return found;
  });
}

/** The refusal of a reference to an item that is not stored, has expired, or belongs to another account. */
function itemNotFound(id: string, param: string): GatewayError {
  const sentence = `Item ${quoteValue(id)} not found: it has expired or was never stored; send the item itself, or set store to false`;
  return new GatewayError("invalid_request", sentence, { param, publicCode: "item_not_found" });
}

/** The refusal of a `previous_response_id` that is not stored, has expired, or belongs to another account. */
export function previousResponseNotFound(id: string): GatewayError {
  const sentence = `Previous response ${quoteValue(id)} not found: it has expired or was never stored; send all items in input`;
  return new GatewayError("invalid_request", sentence, {
    param: "previous_response_id",
    publicCode: "previous_response_not_found",
  });
}

function toSettings(request: ResponsesRequest & Record<string, unknown>, warn: (sentence: string) => void) {
  const { text, reasoning, truncation, service_tier: tier } = request;
  if (truncation === "auto") warn("Left out truncation auto: an input that is too long is refused");
  if (tier && tier !== "auto" && tier !== "default")
    warn(`Left out service_tier ${quoteValue(tier)}, which has no price here`);
  if (Array.isArray(request.context_management)) warn("Left out context_management, which only its own provider has");
  const format = toResponseFormat(text?.format);
  const wantsLogprobs = Boolean(request.top_logprobs) || includes(request, "message.output_text.logprobs");
  return omitAbsent({
    stream: request.stream,
    stream_options: request.stream === true ? { include_usage: true } : undefined,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    logprobs: wantsLogprobs ? true : undefined,
    top_logprobs: request.top_logprobs ? request.top_logprobs : undefined,
    response_format: format,
    verbosity: text?.verbosity,
    reasoning_effort: reasoning?.effort,
    prompt_cache_key: request.prompt_cache_key,
  });
}

function toResponseFormat(format: NonNullable<ResponsesRequest["text"]>["format"]): ResponseFormat | undefined {
  if (format?.type === "json_object") return { type: "json_object" };
  if (format?.type !== "json_schema") return undefined;
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, ...omitAbsent({ strict, description }) } };
}

type Present<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> };

function omitAbsent<Fields extends object>(fields: Fields): Present<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as Present<Fields>;
}

/** Whether a body is one of the Responses protocol. Some clients send such to the chat endpoint. */
export function isResponsesBody(body: unknown): boolean {
  return isRecord(body) && "input" in body && !("messages" in body);
}

/**
 * Explains a chat body on the Responses endpoint.
 *
 * @returns `undefined` for any other body.
 */
export function refuseChatBody(body: unknown): GatewayError | undefined {
  if (!isRecord(body) || !Array.isArray(body.messages) || "input" in body) return undefined;
  const sentence = "This is a body of /chat/completions, expected input in place of messages: send it there";
  return badRequest(sentence, "messages");
}
