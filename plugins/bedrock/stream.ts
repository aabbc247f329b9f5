import {
  type ChatChunk,
  type ChatStream,
  isRecord,
  parseJson,
  type ServerEvent,
  UpstreamError,
} from "modelgate/plugin";
import type { ChatUsage } from "../../src/contract/index.ts";
import { type ParsedShape, parseShape } from "../../src/lib/parse-shape.ts";
import { FenceStripper } from "../../src/protocols/messages/provider-stream.ts";
import { type ChunkChoice, toAnswerText, toFinishReason } from "../../src/provider/index.ts";
import { readStreamError } from "./errors.ts";
import type { Reading } from "./request.ts";
import { toDetail, toStopSequence, toTier, toUsage } from "./response.ts";

const eventShape = {
  contentBlockIndex: "any",
  start: { toolUse: { toolUseId: "string", name: "string" } },
  delta: {
    text: "string",
    toolUse: { input: "any" },
    reasoningContent: { text: "string", signature: "string", redactedContent: "string" },
  },
  stopReason: "string",
  additionalModelResponseFields: { stop_sequence: "string" },
  usage: {},
  serviceTier: { type: "string" },
} as const;

/** A call that grows; one that is dropped is not given out. */
interface OpenCall {
  readonly index: number;
  readonly isJson: boolean;
  readonly isDropped: boolean;
  input: string;
}

/**
 * Translates the events of `ConverseStream` to chunks in OpenAI's order. Several blocks may be open at once; their
 * indexes distinguish them.
 *
 * @throws {UpstreamError} When an event is an exception, cannot be read, or the stream ends before its message does.
 */
export class ConverseStream implements ChatStream<ServerEvent> {
  readonly events: ChatStream<ServerEvent>["events"];
  readonly #reading: Reading;
  readonly #fences: FenceStripper | undefined;
  #begun = false;
  #isStopped = false;
  #callCount = 0;
  #thoughtCount = 0;
  #thought: { text: string; signature?: string; data?: string } | undefined;
  /** The calls that are open, by the index of their blocks. */
  readonly #calls = new Map<unknown, OpenCall>();
  /** Text that comes in addition to a forced JSON tool: it is the answer only if the tool is not called. */
  #heldText: string | undefined = "";
  /** The chunks of the event at work. */
  #chunks: ChatChunk[] = [];

  constructor(events: ChatStream<ServerEvent>["events"], reading: Reading) {
    this.events = events;
    this.#reading = reading;
    this.#fences = reading.fenced === true ? new FenceStripper() : undefined;
  }

  push(event: ServerEvent): ChatChunk[] {
    if (event.event === "error") throw readStreamError(event);
    const value = parseJson(event.data, "event");
    if (!parseShape(value, eventShape)) {
      throw new UpstreamError("bad_response", "The provider's stream holds an event that is no object");
    }
    if (event.event === "raw") throw readStreamError({ event: "error", data: JSON.stringify({ error: value }) });
    this.#chunks = [];
    if (event.event === "contentBlockStart" && value.start?.toolUse !== undefined)
      this.#open(value.start.toolUse, value.contentBlockIndex);
    else if (event.event === "contentBlockDelta" && value.delta !== undefined)
      this.#grow(value.delta, value.contentBlockIndex);
    else if (event.event === "contentBlockStop") this.#close(value.contentBlockIndex);
    else if (event.event === "messageStop") this.#stop(value);
    else if (event.event === "metadata") this.#report(toUsage(value.usage), value.serviceTier);
    return this.#chunks;
  }

  end(): ChatChunk[] {
    if (this.#isStopped) return [];
    throw new UpstreamError("bad_response", "The provider's stream ended before the answer did");
  }

  #open(
    { toolUseId: id = "", name = "" }: { toolUseId?: string | undefined; name?: string | undefined },
    place: unknown,
  ): void {
    this.#endCall(place);
    const isJson = name === this.#reading.jsonTool;
    const isDropped = !isJson && this.#reading.firstOnly && this.#callCount > 0;
    const index = isJson || isDropped ? -1 : this.#callCount++;
    this.#calls.set(place, { index, isJson, isDropped, input: "" });
    if (isJson || isDropped) return;
    const called = { name, arguments: "" };
    this.#push({ tool_calls: [{ index, id, type: "function", function: called }] });
  }

  #grow({ text, toolUse, reasoningContent: thought }: Record<string, unknown>, place: unknown): void {
    if (typeof text === "string") this.#text(text);
    else if (isRecord(toolUse)) this.#arguments(toAnswerText(toolUse.input), this.#calls.get(place));
    else if (isRecord(thought)) {
      this.#thought ??= { text: "" };
      if (typeof thought.signature === "string")
        this.#thought.signature = (this.#thought.signature ?? "") + thought.signature;
      if (typeof thought.redactedContent === "string")
        this.#thought.data = (this.#thought.data ?? "") + thought.redactedContent;
      if (typeof thought.text === "string") {
        this.#thought.text += thought.text;
        this.#push({ reasoning_content: thought.text });
      }
    }
  }

  #endCall(place: unknown): void {
    const call = this.#calls.get(place);
    // A tool without arguments sends no piece of them, and nothing at all would be no JSON.
    if (call?.input === "") this.#arguments("{}", call);
    this.#calls.delete(place);
  }

  #close(place: unknown): void {
    this.#endCall(place);
    const thought = this.#thought;
    this.#thought = undefined;
    if (thought === undefined) return;
    const index = this.#thoughtCount++;
    if (thought.signature === undefined && thought.data === undefined) return;
    this.#push({ reasoning_details: [toDetail(thought, index)] });
  }

  #stop(event: ParsedShape<typeof eventShape>): void {
    for (const place of [...this.#calls.keys(), undefined]) this.#close(place);
    this.#push({
      content: this.#fences?.flush() ?? (this.#reading.jsonTool === undefined ? "" : (this.#heldText ?? "")),
    });
    this.#isStopped = true;
    const finish = toFinishReason(event.stopReason, this.#callCount > 0);
    this.#push({}, { finish_reason: finish, ...toStopSequence(event) });
  }

  #report(usage: ChatUsage | undefined, tier: unknown): void {
    const bill = toTier(tier);
    if (usage !== undefined) this.#chunks.push({ choices: [], usage, ...bill } as ChatChunk);
  }

  #text(text: string): void {
    if (this.#reading.jsonTool === undefined) this.#push({ content: this.#fences?.push(text) ?? text });
    else if (this.#heldText !== undefined) this.#heldText += text;
  }

  #arguments(piece: string, call: OpenCall | undefined): void {
    if (piece === "") return;
    if (call === undefined) {
      throw new UpstreamError("bad_response", "The provider's stream has a piece of a call that it has not begun");
    }
    call.input += piece;
    if (call.isDropped) return;
    if (call.isJson) {
      this.#heldText = undefined;
      this.#push({ content: piece });
    } else this.#push({ tool_calls: [{ index: call.index, function: { arguments: piece } }] });
  }

  /** Adds a chunk, after the one with the role, unless it says nothing. */
  #push(delta: ChunkChoice["delta"], ending: Omit<ChunkChoice, "index" | "delta"> = { finish_reason: null }): void {
    const { role, content, reasoning_content: thought, tool_calls: calls } = delta;
    if (role === undefined && (content === "" || thought === "")) return;
    if (!this.#begun) {
      this.#begun = true;
      this.#push({ role: "assistant", content: calls === undefined ? "" : null, refusal: null });
    }
    this.#chunks.push({ choices: [{ index: 0, delta, logprobs: null, ...ending }] });
  }
}
