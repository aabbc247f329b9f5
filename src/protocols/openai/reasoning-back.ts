import { getOwn } from "../../contract/index.ts";
import type { Message } from "../../provider/index.ts";
import { joinDetails, missingSignature } from "../reasoning.ts";

/** How a provider takes back what its model reasoned in earlier turns. */
export interface ReasoningBackOptions {
  /**
   * Whether it wants back, in `reasoning_content`, what the model reasoned in earlier turns, and refuses a call of a tool
   * without (DeepSeek, Moonshot). Default false: no reasoning is sent.
   */
  keepsReasoning?: boolean;
  /**
   * Where it takes back what the model reasoned in earlier turns, as far as the client sends it. `reasoning_details` is OpenRouter's
   * form, which goes in place of the text; `content` is before the text, between the tags `<think>`. Default: nowhere; in a plugin
   * for servers that people run themselves `["reasoning_content", "reasoning"]`.
   */
  reasoningBack?: readonly ("reasoning_content" | "reasoning" | "reasoning_details" | "content")[];
}

/** The fields of a message that carry reasoning. */
export const reasoningFields: readonly string[] = ["reasoning_content", "reasoning", "reasoning_details"];

/** Each server of one's own reads one of them: llama.cpp and SGLang the first, vLLM and Ollama the second. */
const ownServersPlaces: ReasoningPlaces = ["reasoning_content", "reasoning"];
/** For calls of a client that does not send back what the model reasoned: the least that is taken. */
const unknownReasoning = " ";

/** Where a provider takes back what its model reasoned. `content`: before the text, between the tags `<think>`. */
export type ReasoningPlaces = NonNullable<ReasoningBackOptions["reasoningBack"]>;

/** The provider that receives a conversation. */
export interface ReasoningTarget {
  readonly options: ReasoningBackOptions;
  readonly upstreamId: string;
  readonly isForOwnServers: boolean;
}

/** Where the provider takes it; empty: nowhere. */
export function getPlaces({ options, isForOwnServers }: Omit<ReasoningTarget, "upstreamId">): ReasoningPlaces {
  if (options.keepsReasoning === true) return ["reasoning_content"];
  return options.reasoningBack ?? (isForOwnServers ? ownServersPlaces : []);
}

type ReasonedMessage = Message & { reasoning?: unknown; reasoning_details?: unknown };

/**
 * A message of the model with what it reasoned, where the provider takes it and nowhere else. Details of the provider's own form go
 * in place of the text. The message itself where nothing changes.
 */
export function withReasoning(message: ReasonedMessage, target: ReasoningTarget): Message {
  const places = getPlaces(target);
  if (message.role !== "assistant" || places.length === 0) return message;
  const { reasoning_content: content, reasoning, reasoning_details: given, ...rest } = message;
  const takesDetails = places.includes("reasoning_details");
  const details = takesDetails ? toDetails(given, message, target.upstreamId) : [];
  if (details.length > 0) return { ...rest, reasoning_details: details } as Message;
  const text = takesDetails && isSealedModel(target.upstreamId) ? "" : toText(content, reasoning, message, target);
  if (text === "") return "reasoning_content" in message || "reasoning" in message || takesDetails ? rest : message;
  const isSame = content === text && reasoning === undefined && given === undefined;
  if (isSame && places.length === 1 && places[0] === "reasoning_content") return message;
  const written = places.includes("content") ? withThought(rest, text) : rest;
  const fields = places.filter((place) => place === "reasoning_content" || place === "reasoning");
  return Object.assign({}, written, ...fields.map((field) => ({ [field]: text }))) as Message;
}

function toText(
  content: unknown,
  reasoning: unknown,
  message: Message,
  { options, upstreamId }: ReasoningTarget,
): string {
  const text = [content, reasoning].find((value) => typeof value === "string" && value !== "");
  if (typeof text === "string") return text;
  const isRouted = options.reasoningBack?.includes("reasoning_details") === true && wantsTextWithCalls.test(upstreamId);
  const isNeeded = options.keepsReasoning === true || isRouted;
  return isNeeded && hasCalls(message) ? unknownReasoning : "";
}

/** Models that refuse a call without what they reasoned before it, wherever they are reached through OpenRouter. */
const wantsTextWithCalls = /deepseek|kimi|moonshot/i;

const hasCalls = ({ tool_calls: calls }: Message) => Array.isArray(calls) && calls.length > 0;

function withThought(message: Message, text: string): Message {
  const thought = `<think>\n${text}${text.endsWith("\n") ? "" : "\n"}</think>\n\n`;
  const { content } = message;
  if (Array.isArray(content)) return { ...message, content: [{ type: "text", text: thought }, ...content] };
  return { ...message, content: thought + (content ?? "") };
}

const geminiFormat = "google-gemini-v1";
/** The models that read the sealed details of a format. Those of another one refuse the conversation. */
const readers: Readonly<Record<string, RegExp>> = {
  "anthropic-claude-v1": /claude/i,
  [geminiFormat]: /gemini/i,
  "openai-responses-v1": /^openai\/|gpt/i,
  "azure-openai-responses-v1": /^openai\/|gpt/i,
  "xai-responses-v1": /grok/i,
};

/** Whether a model takes its reasoning back only as its provider sealed it. */
function isSealedModel(upstreamId: string): boolean {
  return Object.values(readers).some((reader) => reader.test(upstreamId));
}

/** Gemini from its third generation on refuses a turn whose first call has no signature. */
const checksSignatures = /gemini-(?![12][.-])/i;

type Detail = Record<string, unknown>;

/** The details that the model can read, with the ids that the calls have now. */
function toDetails(given: unknown, message: Message, upstreamId: string): readonly Detail[] {
  const readable = joinDetails(given).filter(({ format }) => {
    const reader = typeof format === "string" ? getOwn(readers, format) : undefined;
    return reader === undefined || reader.test(upstreamId);
  });
  if (!checksSignatures.test(upstreamId) || !hasCalls(message)) return readable;
  const free = new Set(message.tool_calls?.map(({ id }) => id));
  const signatures = readable.filter(({ format, data }) => format === geminiFormat && typeof data === "string");
  const [firstId] = free;
  if (signatures.length === 0) {
    const type = "reasoning.encrypted";
    return [...readable, { type, data: missingSignature, id: firstId, format: geminiFormat, index: 0 }];
  }
  for (const { id } of signatures) free.delete(id as string);
  const ids = new Set(message.tool_calls?.map(({ id }) => id));
  return readable.map((detail) => {
    if (!signatures.includes(detail) || typeof detail.id !== "string" || ids.has(detail.id)) return detail;
    const [id = detail.id] = free;
    free.delete(id);
    return { ...detail, id };
  });
}
