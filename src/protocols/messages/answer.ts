import { type ChatCompletion, type ChatUsage, UpstreamFault } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { MessagesPlan } from "./request.ts";
import type { MessagesAnswer, MessagesBlock, MessagesEnding, MessagesUsage } from "./schema.ts";
import { toSealedDetails, toThinkingBlocks } from "./thoughts.ts";

/**
 * A chat answer as a message: thoughts, then text, then calls.
 *
 * @throws {UpstreamFault} `bad_response` when a call's arguments are not an object: no tool may run on others than the model wrote.
 */
export function toMessagesAnswer(completion: ChatCompletion, plan: MessagesPlan): MessagesAnswer {
  const [choice] = completion.choices;
  if (choice === undefined) throw new UpstreamFault("bad_response", "The provider's answer has no choices");
  const { message, finish_reason: finish } = choice;
  const content = toThoughts(completion, message, plan);
  if (message.content) content.push({ type: "text", text: message.content });
  if (message.refusal) content.push({ type: "text", text: message.refusal });
  for (const { id, function: called } of message.tool_calls ?? []) {
    const input = readInput(called.arguments);
    if (input !== undefined) content.push({ type: "tool_use", id, name: plan.names.toOriginal(called.name), input });
    // The model ran out of tokens within the arguments.
    else if (finish !== "length") {
      const sentence = `The provider's answer calls ${called.name} with arguments that are not a JSON object`;
      throw new UpstreamFault("bad_response", sentence);
    }
  }
  const { id, model, usage, service_tier: tier } = completion as ChatCompletion & { service_tier?: unknown };
  const ending = toEnding(
    { choice, refusal: message.refusal ?? "", hasCalls: content.at(-1)?.type === "tool_use" },
    plan,
  );
  const head = { id: toMessageId(id), type: "message", role: "assistant", model } as const;
  return { ...head, content, ...ending, usage: toMessagesUsage(usage, tier) };
}

/** The id of a chat answer, as that of a message. */
export function toMessageId(chatId: string): string {
  return `msg_${chatId.replace(/^chatcmpl-/, "")}`;
}

/** What providers call the tier that Anthropic calls "standard". */
const standardTiers: readonly unknown[] = ["default", "on_demand", "auto"];

/**
 * Tokens in Anthropic's words, and the tier that served. The protocol demands every figure, so one that no report names
 * is 0.
 */
export function toMessagesUsage(usage: ChatUsage | null | undefined, tier?: unknown): MessagesUsage {
  const details: Record<string, unknown> = usage?.prompt_tokens_details ?? {};
  const [cached, written, hourly] = [
    details.cached_tokens,
    details.cache_write_tokens,
    details.cache_write_1h_tokens,
  ].map((count) => (typeof count === "number" ? count : 0)) as [number, number, number];
  const thinking = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written - hourly, ephemeral_1h_input_tokens: hourly },
    output_tokens: usage?.completion_tokens ?? 0,
    ...(typeof thinking === "number" && { output_tokens_details: { thinking_tokens: thinking } }),
    ...(typeof tier === "string" && { service_tier: standardTiers.includes(tier) ? "standard" : tier }),
  };
}

/** What is known at the end of an answer. */
interface End {
  choice: { finish_reason?: string | null; stop_reason?: unknown };
  refusal: string;
  hasCalls: boolean;
}

/** Why the model stopped. Some providers tell the stop sequence in `stop_reason`; OpenAI's protocol has no place for it. */
export function toEnding({ choice, refusal, hasCalls }: End, { stopSequences }: MessagesPlan): MessagesEnding {
  const { finish_reason: finish, stop_reason: stop } = choice;
  const sequence = stopSequences.find((known) => known === stop);
  if (refusal !== "" || finish === "content_filter") {
    const details = { type: "refusal", category: null, explanation: refusal } as const;
    return { stop_reason: "refusal", stop_sequence: null, ...(refusal !== "" && { stop_details: details }) };
  }
  if (finish === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
  if (sequence !== undefined) return { stop_reason: "stop_sequence", stop_sequence: sequence };
  return { stop_reason: "end_turn", stop_sequence: null };
}

type AnswerMessage = ChatCompletion["choices"][number]["message"] & { reasoning_details?: unknown };

function toThoughts(
  { model }: ChatCompletion,
  { reasoning_details, reasoning_content }: AnswerMessage,
  { signer, thoughts }: MessagesPlan,
): MessagesBlock[] {
  const blocks = toThinkingBlocks(reasoning_details);
  const details = toSealedDetails(reasoning_details);
  const text = reasoning_content ?? "";
  if (blocks.length > 0 || thoughts === "none" || (text === "" && details.length === 0)) return blocks;
  const signature = signer.sign(text, thoughts, { model, details });
  return [{ type: "thinking", thinking: thoughts === "shown" ? text : "", signature }];
}

/** Arguments as an object. No text means no arguments; `undefined` when they are something else. */
function readInput(text: string): Record<string, unknown> | undefined {
  const value = text.trim() === "" ? {} : parseJson(text);
  return isRecord(value) ? value : undefined;
}
