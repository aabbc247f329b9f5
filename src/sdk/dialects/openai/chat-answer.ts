import { type ChatCompletion, getOwn, UpstreamFault } from "../../../contract/index.ts";
import { classifyErrorBody } from "../../fault.ts";
import { isRecord } from "../../json.ts";
import { splitReasoningTags } from "../../reasoning-tags.ts";
import type { ChatOptions } from "./options.ts";

/** The service tiers OpenAI's clients know; another provider's own words are dropped. */
const serviceTiers = ["auto", "default", "flex", "scale", "priority", "fast"];
const finishReasonsDefault: Readonly<Record<string, string>> = { eos: "stop" };
const reasoningFieldsDefault: readonly string[] = ["reasoning_content", "reasoning"];

/**
 * A provider's completion in the uniform shape. Works on the object itself.
 *
 * @throws {UpstreamFault} When it holds an error, or no choice.
 */
export function toCompletion(answer: unknown, options: ChatOptions): ChatCompletion {
  if (!isRecord(answer)) throw classifyErrorBody(answer);
  if (answer.error !== undefined && answer.error !== null) throw classifyErrorBody(answer);
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(hasMessage)) {
    throw new UpstreamFault("bad_response", "The provider's answer holds no choice with a message");
  }
  findUsage(answer, options);
  dropFields(answer, options);
  if (typeof answer.system_fingerprint !== "string") delete answer.system_fingerprint;
  if (!serviceTiers.includes(answer.service_tier as string)) delete answer.service_tier;
  for (const choice of choices) toChoice(choice, options);
  return answer as unknown as ChatCompletion;
}

/** Puts the usage at the top, wherever the provider wrote it, and takes its own figures out of it. */
export function findUsage(answer: Record<string, unknown>, options: ChatOptions): void {
  const { usageIn } = options;
  if (usageIn !== undefined && !isRecord(answer.usage)) {
    const place = answer[usageIn];
    if (isRecord(place) && isRecord(place.usage)) answer.usage = place.usage;
  }
  if (isRecord(answer.usage)) dropFields(answer.usage, options);
}

/** Puts reasoning where OpenAI-like clients look for it: `reasoning_content`. */
export function toReasoning(message: Record<string, unknown>, options: ChatOptions): void {
  for (const field of options.reasoningFields ?? reasoningFieldsDefault) {
    const text = message[field];
    if (text === undefined) continue;
    if (field !== "reasoning_content" || typeof text !== "string") delete message[field];
    if (typeof text === "string") message.reasoning_content = text;
  }
}

/** Takes out what only this provider's own clients know. */
export function dropFields(holder: Record<string, unknown>, { drop }: ChatOptions): void {
  if (drop === undefined) return;
  for (const field of drop) if (field in holder) delete holder[field];
}

/** A finish reason in OpenAI's words, or as it came. */
export function toFinishReason(reason: unknown, options: ChatOptions): unknown {
  const names = options.finishReasons ?? finishReasonsDefault;
  if (typeof reason !== "string") return reason;
  return getOwn(names, reason) ?? reason;
}

function toChoice(choice: { message: Record<string, unknown>; [field: string]: unknown }, options: ChatOptions): void {
  const { message } = choice;
  dropFields(choice, options);
  dropFields(message, options);
  toReasoning(message, options);
  if (options.think === true && typeof message.content === "string") {
    const { content, reasoning } = splitReasoningTags(message.content);
    message.content = content;
    if (reasoning !== "") message.reasoning_content = reasoning;
  }
  choice.finish_reason = toFinishReason(choice.finish_reason, options);
}

function hasMessage(choice: unknown): boolean {
  return isRecord(choice) && isRecord(choice.message);
}
