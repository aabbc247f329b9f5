import type { Said, SaidChoice } from "./said.ts";

interface WireUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  cache_creation?: { ephemeral_1h_input_tokens?: number } | null;
  output_tokens_details?: { thinking_tokens?: number } | null;
}

interface WireBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

interface WireMessage {
  content: WireBlock[];
  stop_reason: string | null;
  stop_details?: { explanation?: string } | null;
  usage: WireUsage;
}

interface WireEvent {
  type: string;
  index?: number;
  message?: WireMessage;
  content_block?: WireBlock;
  delta?: { text?: string; partial_json?: string } & Partial<Pick<WireMessage, "stop_reason" | "stop_details">>;
  usage?: WireUsage;
}

/** The stop reasons of the Messages API in OpenAI's words (wire facts, part 3). */
const finishOf: Record<string, string> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** What an answer of Anthropic's says, in the words that an OpenAI client must be told it in. */
export function saidByMessage(message: WireMessage): Said {
  const refusal = message.stop_details?.explanation ?? "";
  const choice: SaidChoice = { text: "", refusal, tools: [], function: undefined, finish: null };
  for (const block of message.content) {
    if (block.type === "text") choice.text += block.text ?? "";
    if (block.type !== "tool_use") continue;
    choice.tools.push({ id: block.id ?? "", name: block.name ?? "", arguments: JSON.stringify(block.input ?? {}) });
  }
  choice.finish = message.stop_reason === null ? null : (finishOf[message.stop_reason] ?? message.stop_reason);
  return { choices: [choice], usage: usageOf(message.usage) };
}

/** What the events of a stream say together: blocks by their index, and usage of which each figure's last word counts. */
export function saidByMessageEvents(events: WireEvent[]): Said {
  const blocks: (WireBlock & { json?: string })[] = [];
  let stop: Pick<WireMessage, "stop_reason" | "stop_details"> = { stop_reason: null };
  let usage: WireUsage = {};
  for (const { type, index = 0, message, content_block, delta, usage: reported } of events) {
    if (type === "message_start" && message !== undefined) usage = { ...message.usage };
    if (type === "content_block_start" && content_block !== undefined) blocks[index] = { ...content_block };
    const block = blocks[index];
    if (type === "content_block_delta" && block !== undefined) {
      block.text = (block.text ?? "") + (delta?.text ?? "");
      block.json = (block.json ?? "") + (delta?.partial_json ?? "");
    }
    if (type !== "message_delta") continue;
    stop = { stop_reason: delta?.stop_reason ?? null, stop_details: delta?.stop_details ?? null };
    usage = { ...usage, ...reported };
  }
  for (const block of blocks) if (block.json) block.input = JSON.parse(block.json);
  return saidByMessage({ content: blocks, ...stop, usage });
}

function usageOf(usage: WireUsage): Said["usage"] {
  const [read, written] = [usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0];
  const prompt = (usage.input_tokens ?? 0) + read + written;
  const completion = usage.output_tokens ?? 0;
  return {
    prompt,
    completion,
    total: prompt + completion,
    cached: read || undefined,
    written: written || undefined,
    writtenForHour: usage.cache_creation?.ephemeral_1h_input_tokens || undefined,
    reasoning: usage.output_tokens_details?.thinking_tokens || undefined,
  };
}
