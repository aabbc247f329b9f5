import type { ChatChunk, ChatCompletion, ChunkChoice, ToolCall } from "../contract/index.ts";
import { isRecord } from "../lib/json.ts";

type Choice = ChatCompletion["choices"][number] & { logprobs: { content: unknown[]; refusal: null } | null };

/**
 * The chunks of one answer as a completion, for providers whose whole answers are read like their streams. Each tool call
 * is in one piece. Id, time and model name are left to the gateway.
 *
 * @example
 * const chunks = [
 *   { choices: [{ index: 0, delta: { content: "Hi" } }] },
 *   { choices: [{ index: 0, delta: { content: " there" }, finish_reason: "stop" }] },
 * ];
 * toCompletion(chunks).choices[0].message; // => { role: "assistant", content: "Hi there" }
 */
export function toCompletion(chunks: Iterable<ChatChunk>): ChatCompletion {
  const choices = new Map<number, Choice>();
  const completion: ChatCompletion = { id: "", object: "chat.completion", created: 0, model: "", choices: [] };
  for (const { choices: pieces, usage, service_tier: tier } of chunks) {
    for (const piece of pieces) {
      const message: Choice["message"] = { role: "assistant", content: null };
      const choice = choices.get(piece.index) ?? { index: piece.index, message, finish_reason: null, logprobs: null };
      choices.set(piece.index, choice);
      addPiece(choice, piece);
    }
    if (usage) completion.usage = usage;
    if (typeof tier === "string") Object.assign(completion, { service_tier: tier });
  }
  completion.choices = [...choices.values()];
  for (const { message, finish_reason: finish } of completion.choices) {
    if (message.tool_calls === undefined && finish !== "content_filter") message.content ??= "";
  }
  return completion;
}

function addPiece(choice: Choice, { delta, logprobs, finish_reason: finish }: ChunkChoice): void {
  const { message } = choice;
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = delta;
  if (content) message.content = (message.content ?? "") + content;
  if (reasoning) message.reasoning_content = (message.reasoning_content ?? "") + reasoning;
  for (const { index: _, ...call } of calls) message.tool_calls = [...(message.tool_calls ?? []), call as ToolCall];
  if (isRecord(logprobs) && Array.isArray(logprobs.content)) {
    choice.logprobs = { content: [...(choice.logprobs?.content ?? []), ...logprobs.content], refusal: null };
  }
  choice.finish_reason = finish ?? choice.finish_reason;
}
