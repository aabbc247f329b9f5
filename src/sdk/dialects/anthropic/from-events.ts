import { type ChatChunk, type ChunkChoice, type ServerEvent, UpstreamFault } from "../../../contract/index.ts";
import { classifyError } from "../../fault.ts";
import { parseJson } from "../../json.ts";
import { parseShape } from "../../parse-shape.ts";
import { FenceStripper } from "./fences.ts";
import { toFinishReason, toRefusal, toUsage } from "./from-message.ts";
import { toDetail } from "./reasoning.ts";
import { type AnswerBlock, eventShape, type MessageAnswer, type Reading, type StreamEvent } from "./wire.ts";

/**
 * Translates a stream, in the order in which OpenAI sends its chunks. Where it breaks, a last chunk says what it has
 * cost as far as that is known.
 *
 * @throws {UpstreamFault} When the stream carries an error, cannot be read, or ends before its message does.
 */
export async function* fromEvents(events: AsyncIterable<ServerEvent>, reading: Reading): AsyncGenerator<ChatChunk> {
  const answer = new StreamedAnswer(reading);
  try {
    for await (const { data } of events) {
      // What follows the end is read and dropped, so that the connection can be used again.
      if (answer.complete) continue;
      const event = parse(data);
      if (event.type === "error") throw classifyError(event);
      answer.take(event);
      for (const chunk of answer.chunks) yield chunk;
      answer.chunks.length = 0;
    }
    if (!answer.complete) throw new UpstreamFault("bad_response", "The provider's stream ended before the answer did");
  } catch (error) {
    if (answer.complete) return;
    const usage = answer.usage;
    if (usage !== undefined) yield { choices: [], usage };
    throw error;
  }
}

function parse(data: string): StreamEvent {
  const event = parseJson(data);
  if (parseShape(event, eventShape)) return event;
  const why = event === undefined ? "not JSON" : "no object";
  throw new UpstreamFault("bad_response", `The provider's stream holds an event that is ${why}`);
}

/** An answer as it grows. Blocks come one after the other, so that one is open at a time. */
class StreamedAnswer {
  /** The chunks of the events taken so far; the owner empties it. */
  readonly chunks: ChatChunk[] = [];
  /** Whether the message came to its end. */
  complete = false;
  readonly #reading: Reading;
  readonly #fences: FenceStripper | undefined;
  #thoughtCount = 0;
  readonly #usage: Record<string, unknown> = {};
  #block: AnswerBlock = { type: "none" };
  #callCount = 0;
  #begun = false;
  /** Text beside a forced JSON tool: the answer only when the tool is not called. */
  #heldText: string | undefined = "";

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#fences = reading.fenced ? new FenceStripper() : undefined;
  }

  /** The last count of each kind of token. */
  get usage() {
    return toUsage(this.#usage);
  }

  take({ type, message, content_block: block, delta, usage }: StreamEvent): void {
    if (type === "content_block_delta" && delta !== undefined) this.#grow(delta);
    else if (type === "content_block_start" && block !== undefined) this.#open(block);
    else if (type === "content_block_stop") this.#close();
    else if (type === "message_start") this.#count(message?.usage);
    else if (type === "message_stop") this.complete = true;
    else if (type === "message_delta") {
      this.#count(usage);
      if (delta?.stop_reason) this.#finish(delta);
      const total = typeof usage?.output_tokens === "number" ? this.usage : undefined;
      if (total !== undefined) this.chunks.push({ choices: [], usage: total });
    }
  }

  #count(usage: Record<string, unknown> = {}): void {
    for (const [name, value] of Object.entries(usage)) if (value !== null) this.#usage[name] = value;
  }

  #open(block: AnswerBlock): void {
    this.#block = block;
    if (block.type === "text") this.#text(block.text ?? "");
    else if (block.type === "thinking") this.#push({ reasoning_content: block.thinking ?? "" });
    else if (block.type === "tool_use" && !this.#isJson) {
      const { id = "", name = "" } = block;
      const called = { name, arguments: "" };
      this.#push({ tool_calls: [{ index: this.#callCount++, id, type: "function", function: called }] });
    }
  }

  #grow({ text, partial_json: json, thinking, signature }: NonNullable<StreamEvent["delta"]>): void {
    const block = this.#block;
    if (text !== undefined) this.#text(text);
    else if (json !== undefined) this.#arguments(json);
    else if (signature !== undefined) block.signature = (block.signature ?? "") + signature;
    else if (thinking !== undefined) {
      block.thinking = (block.thinking ?? "") + thinking;
      this.#push({ reasoning_content: thinking });
    }
  }

  #close(): void {
    const { type, input } = this.#block;
    // A tool without arguments sends no piece of them, and nothing at all would be no JSON.
    if (input !== undefined && input !== null) this.#arguments(JSON.stringify(input));
    if (type?.endsWith("thinking")) this.#push({ reasoning_details: [toDetail(this.#block, this.#thoughtCount++)] });
    this.#block = { type: "none" };
  }

  #finish(stop: MessageAnswer): void {
    this.#push({ content: this.#fences?.flush() ?? this.#heldText ?? "" });
    this.#push({ refusal: toRefusal(stop) ?? "" });
    this.#push({}, toFinishReason(stop, this.#callCount));
  }

  get #isJson(): boolean {
    return this.#block.name !== undefined && this.#block.name === this.#reading.jsonTool;
  }

  #text(text: string): void {
    if (this.#reading.jsonTool === undefined) this.#push({ content: this.#fences?.push(text) ?? text });
    else if (this.#heldText !== undefined) this.#heldText += text;
  }

  #arguments(piece: string): void {
    if (piece === "" || this.#block.type !== "tool_use") return;
    this.#block.input = undefined;
    if (this.#isJson) {
      this.#heldText = undefined;
      this.#push({ content: piece });
    } else this.#push({ tool_calls: [{ index: this.#callCount - 1, function: { arguments: piece } }] });
  }

  /** Adds a chunk, after the one with the role, unless it says nothing. */
  #push(delta: ChunkChoice["delta"], finish: ChunkChoice["finish_reason"] = null): void {
    const { role, content, reasoning_content: thought, refusal, tool_calls } = delta;
    if (role === undefined && (content === "" || thought === "" || refusal === "")) return;
    if (!this.#begun) {
      this.#begun = true;
      this.#push({ role: "assistant", content: tool_calls === undefined ? "" : null, refusal: null });
    }
    this.chunks.push({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  }
}
