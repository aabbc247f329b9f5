import { type ChatUsage, UpstreamError } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { parseShape } from "../../lib/parse-shape.ts";
import {
  type AnswerUsage,
  type BesideChoice,
  type ChatChunk,
  type ChatCompletion,
  type ChatStream,
  type ChunkChoice,
  type ServerEvent,
  type ToolCall,
  toAnswerText,
  toFigures,
  toFinishReason,
} from "../../provider/index.ts";
import { toClaudeDetail } from "../reasoning.ts";
import { classifyError } from "../upstream-errors.ts";
import {
  type AnswerBlock,
  eventShape,
  type MessageAnswer,
  messageShape,
  type Reading,
  type StreamEvent,
} from "./schema.ts";

function parse(data: string): StreamEvent {
  const event = parseJson(data, "event");
  if (parseShape(event, eventShape)) return event;
  const why = event === undefined ? "not JSON" : "no object";
  throw new UpstreamError("bad_response", `The provider's stream holds an event that is ${why}`);
}

/** A block of the answer that has begun. */
type OpenBlock = AnswerBlock & { callIndex?: number };

/**
 * Translates a stream, in the order in which OpenAI sends its chunks. Blocks come one after the other, but for servers that
 * write several at once, which their indexes tell apart. Where the stream breaks, a last chunk says what it has cost as far as
 * that is known.
 *
 * @throws {UpstreamError} When the stream carries an error, cannot be read, or ends before its message does.
 */
export class MessagesOutboundStream implements ChatStream<ServerEvent> {
  readonly events: ChatStream<ServerEvent>["events"];
  /** Whether the message came to its end. */
  isComplete = false;
  #hasFinished = false;
  readonly #reading: Reading;
  readonly #fences: FenceStripper | undefined;
  #thoughtCount = 0;
  readonly #usage: Record<string, unknown> = {};
  /** The blocks that are open, by their index. The last one takes what names none. */
  readonly #blocks = new Map<unknown, OpenBlock>();
  #block: OpenBlock = { type: "none" };
  #callCount = 0;
  #begun = false;
  /** Text beside a forced JSON tool: the answer only when the tool is not called. */
  #heldText: string | undefined = "";
  /** The chunks of the event at work. */
  #chunks: ChatChunk[] = [];

  constructor(events: ChatStream<ServerEvent>["events"], reading: Reading) {
    this.events = events;
    this.#reading = reading;
    this.#fences = reading.fenced ? new FenceStripper() : undefined;
  }

  push({ data }: ServerEvent): ChatChunk[] {
    const event = parse(data);
    if (event.type === "error") throw classifyError(event);
    this.#chunks = [];
    this.#take(event);
    return this.#chunks;
  }

  end(): ChatChunk[] {
    // Some servers close the stream behind the reason to finish.
    if (this.isComplete || this.#hasFinished) return [];
    throw new UpstreamError("bad_response", "The provider's stream ended before the answer did");
  }

  breakOff(): ChatChunk[] {
    const usage = toUsage(this.#usage);
    return usage === undefined ? [] : [{ choices: [], usage }];
  }

  #take({ type, index, message, content_block: block, delta, usage }: StreamEvent): void {
    this.#block = this.#blocks.get(index) ?? this.#block;
    if (type === "content_block_delta" && delta !== undefined) this.#grow(delta);
    else if (type === "content_block_start" && block !== undefined) this.#open(block, index);
    else if (type === "content_block_stop") this.#close(index);
    else if (type === "message_start") this.#count(message?.usage);
    else if (type === "message_stop") this.isComplete = true;
    else if (type === "message_delta") {
      this.#count(usage);
      if (delta?.stop_reason) this.#closeAll();
      if (delta?.stop_reason) {
        this.#hasFinished = true;
        this.#finish(delta);
      }
      const total = usage?.output_tokens !== undefined ? toUsage(this.#usage) : undefined;
      if (total !== undefined) this.#chunks.push({ choices: [], usage: total });
    }
  }

  #count(usage: Record<string, unknown> = {}): void {
    addFigures(this.#usage, usage);
  }

  #open(begun: AnswerBlock, index: unknown): void {
    if (this.#blocks.has(index)) this.#close(index);
    const block: OpenBlock = begun;
    this.#block = block;
    this.#blocks.set(index, block);
    if (block.type === "tool_use") block.input ??= {};
    if (block.type === "text") this.#text(block.text ?? "");
    else if (block.type === "thinking") this.#push({ reasoning_content: block.thinking ?? "" });
    else if (block.type === "tool_use" && !this.#isJson) {
      const { id = "", name = "" } = block;
      const called = { name, arguments: "" };
      block.callIndex = this.#callCount++;
      this.#push({ tool_calls: [{ index: block.callIndex, id, type: "function", function: called }] });
    }
  }

  #grow({ text, partial_json: json, thinking, signature }: NonNullable<StreamEvent["delta"]>): void {
    const block = this.#block;
    if (text !== undefined) this.#text(text);
    else if (json !== undefined) this.#arguments(toAnswerText(json));
    else if (signature !== undefined) block.signature = (block.signature ?? "") + signature;
    else if (thinking !== undefined) {
      block.thinking = (block.thinking ?? "") + thinking;
      this.#push({ reasoning_content: thinking });
    }
  }

  #closeAll(): void {
    for (const [index, block] of this.#blocks) {
      this.#block = block;
      this.#close(index);
    }
  }

  #close(index: unknown): void {
    const { type, input } = this.#block;
    // A tool without arguments sends no piece of them, and nothing at all would be no JSON.
    if (input !== undefined) this.#arguments(toInput(input));
    if (type?.endsWith("thinking"))
      this.#push({ reasoning_details: [toClaudeDetail(this.#block, this.#thoughtCount++)] });
    this.#blocks.delete(index);
    this.#block = { type: "none" };
  }

  #finish(stop: MessageAnswer): void {
    this.#push({ content: this.#fences?.flush() ?? this.#heldText ?? "" });
    // In the chunk of the end, by which it counts as no output of the model.
    const refusal = toRefusal(stop) || undefined;
    const finish = toFinishReason(stop.stop_reason, this.#callCount > 0);
    this.#push({ ...(refusal !== undefined && { refusal }) }, { finish_reason: finish, ...toStopSequence(stop) });
  }

  get #isJson(): boolean {
    return this.#block.name !== undefined && this.#block.name === this.#reading.jsonTool;
  }

  #text(text: string): void {
    if (this.#reading.jsonTool === undefined) this.#push({ content: this.#fences?.push(text) ?? text });
    else if (this.#heldText !== undefined) this.#heldText += text;
  }

  #arguments(piece: string): void {
    const { type, callIndex } = this.#block;
    if (type === "none" && piece !== "") {
      throw new UpstreamError("bad_response", "The provider's stream has a piece of a call that it has not begun");
    }
    if (piece === "" || type !== "tool_use") return;
    this.#block.input = undefined;
    if (this.#isJson) {
      this.#heldText = undefined;
      this.#push({ content: piece });
    } else this.#push({ tool_calls: [{ index: callIndex ?? 0, function: { arguments: piece } }] });
  }

  /** Adds a chunk, after the one with the role, unless it says nothing. */
  #push(delta: ChunkChoice["delta"], ending: Omit<ChunkChoice, "index" | "delta"> = { finish_reason: null }): void {
    const { role, content, reasoning_content: thought, refusal, tool_calls } = delta;
    if (role === undefined && (content === "" || thought === "" || refusal === "")) return;
    if (!this.#begun) {
      this.#begun = true;
      this.#push({ role: "assistant", content: tool_calls === undefined ? "" : null, refusal: null });
    }
    this.#chunks.push({ choices: [{ index: 0, delta, logprobs: null, ...ending }] });
  }
}

/** @throws {UpstreamError} `bad_response` when the answer is not a message. */
export function fromMessage(answer: unknown, reading: Reading, nowMs: number): ChatCompletion {
  if (!parseShape(answer, messageShape) || answer.content === undefined) {
    throw new UpstreamError("bad_response", "The provider's answer is not a message");
  }
  const blocks = answer.content;
  const json = blocks.find(({ name }) => name !== undefined && name === reading.jsonTool);
  const calls = blocks
    .filter((block) => block.type === "tool_use" && block !== json)
    .map(({ id = "", name = "", input }): ToolCall => {
      return { id, type: "function", function: { name, arguments: toInput(input) } };
    });
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const reasoning = thoughts.map(({ thinking = "" }) => thinking).join("");
  const fences = new FenceStripper();
  const text = blocks.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
  const bare = reading.fenced ? fences.push(text) + fences.flush() : text;
  const content = json === undefined ? bare : toInput(json.input);
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: toRefusal(answer),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(thoughts.length > 0 && { reasoning_details: thoughts.map(toClaudeDetail) }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const finish = toFinishReason(answer.stop_reason, calls.length > 0);
  const choices = [{ index: 0, message, finish_reason: finish, ...toStopSequence(answer) }];
  const usage = toUsage(answer.usage);
  const created = Math.floor(nowMs / 1000);
  return { id: "", object: "chat.completion", created, model: "", choices, ...(usage && { usage }) };
}

/** The text of the input of a tool: nothing at all would be no JSON. */
export function toInput(input: unknown): string {
  return toAnswerText(input) || "{}";
}

/** The stop sequence that ended a message. */
function toStopSequence({ stop_reason: reason, stop_sequence: stop }: MessageAnswer): BesideChoice {
  return reason === "stop_sequence" ? { stop_sequence: stop || true } : {};
}

/** The provider's explanation of a refusal, if it has one. */
function toRefusal({ stop_reason: reason, stop_details: details }: MessageAnswer): string | null {
  return reason === "refusal" ? (details?.explanation ?? null) : null;
}

/** Reads the usage of a message or of an event; an event at the end may have the output alone. */
export function readMessagesUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const { usage: reported } = isRecord(part.message) ? part.message : part;
  if (!isRecord(reported)) return before;
  const usage = toFigures(reported);
  const figures = toUsage(usage);
  const isWithoutPrompt = figures === undefined || figures.prompt_tokens === 0;
  if (!isWithoutPrompt || before === undefined || typeof usage.output_tokens !== "number") return figures ?? before;
  return { ...before, completion_tokens: usage.output_tokens };
}

const promptFigures = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

/** Adds a later report to the figures so far. Some servers report the prompt at the beginning alone, and zeros in its place at the end. */
export function addFigures(figures: Record<string, unknown>, usage: Readonly<Record<string, unknown>>): void {
  const hasPrompt = promptFigures.some((name) => Number.isInteger(usage[name]) && usage[name] !== 0);
  for (const [name, value] of Object.entries(usage)) {
    if (value === null || (value === 0 && !hasPrompt && promptFigures.includes(name) && figures[name] !== undefined))
      continue;
    figures[name] = value;
  }
}

/** @returns `undefined` when the report lacks the input or the output. */
export function toUsage(reported: Record<string, unknown> = {}): ChatUsage | undefined {
  const usage = toFigures(reported);
  const { input_tokens: input, output_tokens: output, output_tokens_details: details } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, cache_creation: split } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const cached = {
    ...(typeof read === "number" && { cached_tokens: read }),
    ...(typeof written === "number" && { cache_write_tokens: written }),
  };
  // The part of the written tokens that is cached for an hour.
  const hourly = isRecord(split) ? split.ephemeral_1h_input_tokens : undefined;
  const prompt = Object.values(cached).reduce((sum, count) => sum + count, input);
  const thought = isRecord(details) ? details.thinking_tokens : undefined;
  const searches = isRecord(usage.server_tool_use) ? usage.server_tool_use.web_search_requests : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { ...cached, ...(typeof hourly === "number" && { cache_write_1h_tokens: hourly }) },
    ...(typeof thought === "number" && { completion_tokens_details: { reasoning_tokens: thought } }),
    ...(typeof searches === "number" && { web_search_requests: searches }),
  };
}

/** How many characters may stand before the JSON for a fence among them to be taken off. */
const introductionCharactersMax = 500;

/**
 * Takes the code fence off an answer that is to be bare JSON, and the words around it. The text may come in pieces, cut
 * anywhere; the pieces together give the same as the whole. Text without a fence before its JSON stays as it is.
 *
 * @example
 * const fences = new FenceStripper();
 * fences.push("```json\n{}\n```") + fences.flush(); // => "{}"
 */
export class FenceStripper {
  #state: "before" | "bare" | "fenced" | "closed" = "before";
  #held = "";

  push(piece: string): string {
    if (this.#state === "bare") return piece;
    if (this.#state === "closed") return "";
    const text = this.#held + piece;
    this.#held = text;
    const start = this.#state === "before" ? text.slice(0, introductionCharactersMax).search(/[{[]/) : 0;
    if (start === -1 && text.length < introductionCharactersMax) return "";
    if (this.#state === "before") this.#state = text.slice(0, Math.max(start, 0)).includes("```") ? "fenced" : "bare";
    if (this.#state === "bare") return text;
    const close = text.indexOf("\n```", start);
    if (close !== -1) this.#state = "closed";
    // A possible beginning of the closing fence waits. Within JSON no line begins with one.
    let end = close === -1 ? text.length : close;
    while (end > start && close === -1 && text.length - end < 4 && "\n`".includes(text.charAt(end - 1))) end--;
    this.#held = text.slice(end);
    return text.slice(start, end);
  }

  /** Says that no more text comes, and gives what was held back unless it is the closing fence. */
  flush(): string {
    return this.#state === "before" ? this.#held : "";
  }
}
