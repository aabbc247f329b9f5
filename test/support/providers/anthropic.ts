import type { PromptUsage } from "../prompt-cache.ts";
import { type Asked, halves, type Step, toArguments, toEvent } from "./script.ts";

interface WireBlock {
  type: string;
  text?: string;
  content?: unknown;
}

/** The part of a Messages request that a step depends on. */
export interface MessagesBody {
  model: string;
  stream?: boolean;
  thinking?: { type: string };
  tools?: { name: string }[];
  messages: { role: string; content: string | WireBlock[] }[];
}

/** Reads https://platform.claude.com/docs/en/api/messages. */
export function readMessages({ tools = [], messages, thinking }: MessagesBody): Asked {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const result = blocks.findLast(({ type }) => type === "tool_result");
  const content = result && (typeof result.content === "string" ? result.content : JSON.stringify(result.content));
  const thinks = thinking !== undefined && thinking.type !== "disabled";
  return { tools: tools.map(({ name }) => name), result: content, thinks };
}

const someUsage: PromptUsage = { input_tokens: 90, cache_read_input_tokens: 700, cache_creation_input_tokens: 10 };

/** @param read What of the prompt came from a cache, and what was written to it. */
export function toMessage({ thought, text, tool }: Step, { model }: MessagesBody, read: PromptUsage = someUsage) {
  const thinking = thought && { type: "thinking", thinking: thought.text, signature: thought.signature };
  const content = [
    ...(thinking ? [thinking] : []),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...(tool === undefined ? [] : [toToolUse(tool)]),
  ];
  const usage = { ...read, output_tokens: 20 };
  const stop = { stop_reason: tool === undefined ? "end_turn" : "tool_use", stop_sequence: null };
  return {
    // Claude Code takes messages of one id for parts of one.
    id: `msg_${crypto.randomUUID()}`,
    type: "message",
    role: "assistant",
    model,
    content,
    ...stop,
    usage,
  };
}

const toToolUse = ({ id, name, input }: NonNullable<Step["tool"]>) => ({
  type: "tool_use",
  id: `toolu_${id}`,
  name,
  input: toArguments(input),
});

/** The same message in pieces. */
export function toMessageEvents(message: ReturnType<typeof toMessage>): string {
  const { content, stop_reason, usage } = message;
  const start = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const events: { type: string; [field: string]: unknown }[] = [{ type: "message_start", message: start }];
  for (const [index, block] of content.entries()) {
    const { start: content_block, deltas } = toPieces(block);
    events.push({ type: "content_block_start", index, content_block });
    for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  }
  events.push({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } });
  events.push({ type: "message_stop" });
  return events.map((event) => toEvent(event, event.type)).join("");
}

function toPieces(block: ReturnType<typeof toMessage>["content"][number]) {
  if ("thinking" in block) {
    const deltas: object[] = halves(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking }));
    deltas.push({ type: "signature_delta", signature: block.signature });
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
  }
  if ("text" in block) {
    const deltas = halves(block.text).map((text) => ({ type: "text_delta", text }));
    return { start: { type: "text", text: "" }, deltas };
  }
  const pieces = halves(JSON.stringify(block.input));
  const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return { start: { ...block, input: {} }, deltas };
}
