import type { ChatChunk, ChatUsage, ChunkChoice, FinishReason } from "modelgate/plugin";
import { FenceStripper } from "./fences.ts";
import { toFinishReason, toRefusal, toUsage } from "./outcome.ts";
import { toDetail } from "./reasoning.ts";
import type { Block, MessageUsage, Reading, Stop } from "./wire.ts";

interface Delta extends Stop {
  text?: string;
  partial_json?: string;
  thinking?: string;
  signature?: string;
}

/** What the events of a stream may have; each kind has some of it, and unknown kinds are passed over. */
export interface StreamEvent {
  type?: string;
  message?: { usage?: MessageUsage };
  content_block?: Block;
  delta?: Delta;
  usage?: MessageUsage;
}

/** An answer as it grows. Blocks come one after the other, so that one is open at a time. */
export class StreamedAnswer {
  /** The chunks of the events taken so far; the owner empties it. */
  readonly chunks: ChatChunk[] = [];
  /** Whether the message came to its end. */
  complete = false;
  readonly #reading: Reading;
  readonly #fences: FenceStripper | undefined;
  readonly #thoughts: Block[] = [];
  readonly #usage: Record<string, unknown> = {};
  #block: Block = { type: "none" };
  #hasArguments = false;
  #callCount = 0;
  #begun = false;
  #finished = false;
  /** Text beside a forced JSON tool: the answer only when the tool is not called. */
  #heldText = "";

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#fences = reading.fenced ? new FenceStripper() : undefined;
  }

  /** The last count of each kind of token. */
  get usage(): ChatUsage | undefined {
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
      if (delta?.stop_reason && !this.#finished) this.#finish(delta);
      const total = this.usage;
      if (usage !== undefined && total !== undefined) this.chunks.push({ choices: [], usage: total });
    }
  }

  #count(usage: MessageUsage | undefined): void {
    for (const [name, value] of Object.entries(usage ?? {})) if (value !== null) this.#usage[name] = value;
  }

  #open(block: Block): void {
    this.#block = block;
    this.#hasArguments = false;
    if (block.type === "text") this.#text(block.text ?? "");
    else if (block.type === "thinking") this.#push({ reasoning_content: block.thinking ?? "" });
    else if (block.type === "tool_use" && !this.#isJson) {
      const called = { name: block.name ?? "", arguments: "" };
      if (this.#reading.legacy) this.#push({ function_call: called });
      else
        this.#push({
          tool_calls: [{ index: this.#callCount, id: block.id ?? "", type: "function", function: called }],
        });
      this.#callCount++;
    }
  }

  #grow({ text, partial_json: json, thinking, signature }: Delta): void {
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
    const { type, input = {} } = this.#block;
    // A tool without arguments sends no piece of them, and nothing at all would be no JSON.
    if (type === "tool_use" && !this.#hasArguments) this.#arguments(JSON.stringify(input));
    if (type === "thinking" || type === "redacted_thinking") this.#thoughts.push(this.#block);
    this.#block = { type: "none" };
  }

  #finish(stop: Stop): void {
    this.#finished = true;
    this.#push({ content: this.#fences === undefined ? this.#heldText : this.#fences.flush() });
    this.#push({ refusal: toRefusal(stop) ?? "" });
    if (this.#thoughts.length > 0) this.#push({ reasoning_details: this.#thoughts.map(toDetail) });
    this.#push({}, toFinishReason(stop, this.#callCount, this.#reading));
  }

  get #isJson(): boolean {
    return this.#block.name !== undefined && this.#block.name === this.#reading.jsonTool;
  }

  #text(text: string): void {
    if (this.#reading.jsonTool !== undefined) this.#heldText += text;
    else this.#push({ content: this.#fences === undefined ? text : this.#fences.push(text) });
  }

  #arguments(piece: string): void {
    if (piece === "") return;
    this.#hasArguments = true;
    if (this.#isJson) {
      this.#heldText = "";
      this.#push({ content: piece });
    } else if (this.#reading.legacy) this.#push({ function_call: { arguments: piece } });
    else this.#push({ tool_calls: [{ index: this.#callCount - 1, function: { arguments: piece } }] });
  }

  /** Adds a chunk, after the one with the role, unless it says nothing. */
  #push(delta: ChunkChoice["delta"], finish: FinishReason | null = null): void {
    if (delta.content === "" || delta.reasoning_content === "" || delta.refusal === "") return;
    if (!this.#begun) {
      this.#begun = true;
      const content = delta.tool_calls || delta.function_call ? null : "";
      this.chunks.push({
        choices: [
          { index: 0, delta: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: null },
        ],
      });
    }
    this.chunks.push({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  }
}
