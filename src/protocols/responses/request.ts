import { badRequest, type ChatRequest, type GatewayError, type ResponseFormat } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { Conversation } from "./conversation.ts";
import { resolveInput, type StoredContext } from "./expand.ts";
import type { ReasoningSeal } from "./reasoning-seal.ts";
import type { ResponseItem, ResponsesRequest } from "./schema.ts";
import { ToolSet, toToolFields } from "./tools.ts";

/** A request can hold thousands of things to leave out. */
const warningsMax = 20;

/** What a request's translation needs beside the request. */
export interface TranslationOptions extends StoredContext {
  /** For the caller's account and the request's model. */
  seal: ReasoningSeal;
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

function toSettings(request: ResponsesRequest & Record<string, unknown>, warn: (sentence: string) => void) {
  const { text, reasoning, truncation, service_tier: tier } = request;
  if (truncation === "auto") warn("Left out truncation auto: an input that is too long is refused");
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
    // What a provider does without the field.
    service_tier: tier === "auto" ? undefined : tier,
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
