import type { ChatUsage } from "../../contract/index.ts";
import { fitCallId } from "../../lib/call-ids.ts";
import { beginsAsObject, carryArguments } from "../../lib/tool-arguments.ts";
import type { ChatChunk, ChunkChoice, ToolCallDelta } from "../../provider/index.ts";
import { findForeignDetails, readClaudeBlocks } from "../reasoning.ts";
import { type MessagesPlan, signReasoning, toEnding, toMessageId, toMessagesUsage } from "./inbound.ts";
import type { MessagesBlock, MessagesEvent } from "./schema.ts";

type BlockKind = "thinking" | "text" | "refusal" | "tool_use";

/** A call that cannot be sent yet, because the block of another is open. */
interface LaterCall {
  id: string;
  name: string;
  pieces: string[];
}

/**
 * Translates the chunks of a chat stream, which the kernel has normalized, into the events of a message. One block is
 * open at a time, so the first call streams, and later ones follow whole: chunks may mix their pieces.
 */
export class MessagesStream {
  readonly #plan: MessagesPlan;
  readonly #inputTokens: (() => number) | undefined;
  /** Events of the push at work. */
  #events: MessagesEvent[] = [];
  #begun = false;
  /** The kind of the open block. */
  #open: BlockKind | undefined;
  #index = -1;
  /** The open reasoning, and whether its text was sent. */
  #thought: string[] = [];
  #thoughtSent = false;
  /** Encrypted parts of the open reasoning. */
  #details: readonly object[] = [];
  #model = "";
  #liveCall: number | undefined;
  /** Whether the arguments of the open call have begun as an object; otherwise what came of them. */
  #isObject = false;
  #odd = "";
  readonly #laterCalls = new Map<number, LaterCall>();
  readonly #laterTexts: string[] = [];
  readonly #laterDetails: object[] = [];
  readonly #refusal: string[] = [];
  #ended: Pick<ChunkChoice, "finish_reason" | "stop_sequence"> = {};
  #usage: ChatUsage | undefined;
  #tier: unknown;

  /** @param inputTokens Estimates the prompt, for the first event; the last has the figures of the report. */
  constructor(plan: MessagesPlan, inputTokens?: () => number) {
    this.#plan = plan;
    this.#inputTokens = inputTokens;
  }

  /** The events that a chunk comes to; none for a chunk that says nothing new. */
  push(chunk: ChatChunk): MessagesEvent[] {
    if (chunk.usage) this.#usage = chunk.usage;
    if (chunk.service_tier !== undefined) this.#tier = chunk.service_tier;
    if (!this.#begun) this.#begin(chunk);
    for (const choice of chunk.choices) {
      if (choice.index !== 0) continue;
      this.#take(choice.delta);
      if (choice.finish_reason) this.#finish(choice);
    }
    return this.#events.splice(0);
  }

  /** The last events. To be called when the chat stream came to its end, after its report of usage. */
  end(): MessagesEvent[] {
    if (!this.#begun) this.#begin({ choices: [] });
    this.#endArguments(true);
    this.#close();
    const refusal = this.#refusal.join("");
    const delta = toEnding({ choice: this.#ended, refusal, hasCalls: this.#liveCall !== undefined }, this.#plan);
    const usage = toMessagesUsage(this.#usage, this.#tier);
    this.#events.push({ type: "message_delta", delta, usage }, { type: "message_stop" });
    return this.#events.splice(0);
  }

  #begin({ id = "", model = "" }: ChatChunk): void {
    this.#begun = true;
    this.#model = model;
    const usage = toMessagesUsage(this.#usage ?? { prompt_tokens: this.#inputTokens?.() ?? 0 }, this.#tier);
    const message = { id: toMessageId(id), type: "message", role: "assistant", model, content: [] } as const;
    const ending = { stop_reason: null, stop_sequence: null };
    this.#events.push({ type: "message_start", message: { ...message, content: [], ...ending, usage } });
  }

  #take({ content, refusal, reasoning_content: thought, reasoning_details, tool_calls: calls }: ChunkChoice["delta"]) {
    const signed = reasoning_details === undefined ? [] : readClaudeBlocks(reasoning_details);
    if (this.#liveCall === undefined) {
      // A signature may come with the last piece of the text, or with all of it.
      if (thought && (signed.length === 0 || this.#open === "thinking")) this.#think(thought);
      for (const block of signed) this.#sendSigned(block);
    }
    const sealed = reasoning_details === undefined ? [] : findForeignDetails(reasoning_details);
    if (sealed.length > 0) this.#seal(sealed);
    if (content) this.#say("text", content);
    if (refusal) {
      this.#refusal.push(refusal);
      this.#say("refusal", refusal);
    }
    if (calls) for (const piece of calls) this.#call(piece);
  }

  /** Adds a piece of reasoning. Whether it is Claude's is seen at its end, when the signature comes. */
  #think(piece: string): void {
    const { thoughts } = this.#plan;
    if (thoughts === "none") return;
    if (this.#open !== "thinking") this.#openBlock("thinking", { type: "thinking", thinking: "", signature: "" });
    this.#thought.push(piece);
    if (thoughts === "omitted") return;
    this.#thoughtSent = true;
    this.#delta({ type: "thinking_delta", thinking: piece });
  }

  /** Ends reasoning that its provider sealed; within a call it follows the call. */
  #seal(details: readonly object[]): void {
    if (this.#plan.thoughts === "none") return;
    if (this.#open === "tool_use") {
      this.#laterDetails.push(...details);
      return;
    }
    if (this.#open !== "thinking") this.#openBlock("thinking", { type: "thinking", thinking: "", signature: "" });
    this.#details = details;
    this.#close();
  }

  /** Reasoning of Claude, whose text may have been streamed already. */
  #sendSigned(block: MessagesBlock): void {
    if (block.type === "redacted_thinking") this.#openBlock("thinking", block);
    else {
      if (this.#open !== "thinking") this.#openBlock("thinking", { type: "thinking", thinking: "", signature: "" });
      const { thinking, signature } = block;
      if (!this.#thoughtSent && thinking !== "") this.#delta({ type: "thinking_delta", thinking });
      this.#delta({ type: "signature_delta", signature });
    }
    this.#stop();
  }

  #say(kind: "text" | "refusal", piece: string): void {
    if (this.#liveCall !== undefined) {
      this.#laterTexts.push(piece);
      return;
    }
    if (this.#open !== kind) this.#openBlock(kind, { type: "text", text: "" });
    this.#delta({ type: "text_delta", text: piece });
  }

  #call({ index = 0, id = "", function: called }: ToolCallDelta): void {
    const { name = "", arguments: piece = "" } = called ?? {};
    this.#liveCall ??= index;
    if (index !== this.#liveCall) {
      const later = this.#laterCalls.get(index);
      if (later === undefined) this.#laterCalls.set(index, { id, name, pieces: [piece] });
      else later.pieces.push(piece);
      return;
    }
    if (this.#open !== "tool_use") this.#openCall(id, name);
    this.#argue(piece);
  }

  /** Sends a piece of the arguments. What does not begin as an object is held back until its end. */
  #argue(piece: string): void {
    if (this.#odd === "" && (this.#isObject || piece.trim() === "" || beginsAsObject(piece))) {
      this.#isObject ||= piece.trim() !== "";
      if (piece !== "") this.#delta({ type: "input_json_delta", partial_json: piece });
    } else this.#odd += piece;
  }

  /** Ends the arguments of a call. Those that are no object are carried in one, unless the call was cut. */
  #endArguments(isCut: boolean): void {
    const text = this.#odd;
    this.#odd = "";
    this.#isObject = false;
    if (text === "") return;
    const json = isCut ? text : JSON.stringify(carryArguments(text));
    this.#delta({ type: "input_json_delta", partial_json: json });
  }

  #openCall(id: string, name: string): void {
    this.#openBlock("tool_use", {
      type: "tool_use",
      id: fitCallId(id, "messages"),
      name: this.#plan.names.toOriginal(name),
      input: {},
    });
  }

  #finish(choice: ChunkChoice): void {
    this.#ended = choice;
    const isCut = choice.finish_reason === "length";
    this.#endArguments(isCut);
    this.#close();
    if (this.#laterDetails.length > 0) this.#seal(this.#laterDetails.splice(0));
    for (const { id, name, pieces } of this.#laterCalls.values()) {
      this.#openCall(id, name);
      this.#argue(pieces.join(""));
      this.#endArguments(isCut);
      this.#stop();
    }
    this.#laterCalls.clear();
    if (this.#laterTexts.length === 0) return;
    this.#openBlock("text", { type: "text", text: "" });
    this.#delta({ type: "text_delta", text: this.#laterTexts.splice(0).join("") });
    this.#stop();
  }

  #openBlock(kind: BlockKind, block: MessagesBlock): void {
    this.#close();
    this.#open = kind;
    this.#index++;
    this.#events.push({ type: "content_block_start", index: this.#index, content_block: block });
  }

  #delta(delta: MessagesBlock): void {
    this.#events.push({ type: "content_block_delta", index: this.#index, delta });
  }

  /** Closes the open block. Reasoning without a signature is not Claude's, and gets ours. */
  #close(): void {
    if (this.#open === "thinking") {
      const text = this.#thought.join("");
      const reasoning = { model: this.#model, text, details: this.#details };
      const signature = signReasoning(this.#plan.envelope, reasoning, this.#thoughtSent ? text : "");
      this.#delta({ type: "signature_delta", signature });
    }
    if (this.#open !== undefined) this.#stop();
  }

  #stop(): void {
    this.#events.push({ type: "content_block_stop", index: this.#index });
    this.#open = undefined;
    this.#thought = [];
    this.#thoughtSent = false;
    this.#details = [];
  }
}
