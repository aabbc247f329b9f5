import type { Capability } from "../../contract/index.ts";
import type { ChatSink, ClientRequest } from "../../kernel/index.ts";
import { readJson } from "../../lib/json.ts";
import type { ChatChunk, ServerEvent } from "../../provider/index.ts";
import { type ContentTurn, charactersMax, readAnswer } from "./read-content.ts";

type Delta = Record<string, unknown>;

/** Copies the text of an answer; for a stream, each piece that is sent. */
export class AnswerCopy<C extends Capability = Capability> {
  /** The request to run: pieces written to its sink are copied. */
  readonly request: ClientRequest<C>;
  /** Turns by the position of their piece in the answer. */
  readonly #turns = new Map<string, { role: string; text: string }>();
  #left = charactersMax;
  #isCut = false;
  #soundBytes = 0;

  constructor(request: ClientRequest<C>) {
    const sink = request.sink as ChatSink | undefined;
    this.request = sink === undefined ? request : { ...request, sink: this.#copying(sink) as typeof request.sink };
  }

  #copying(sink: ChatSink): ChatSink {
    return {
      open: () => sink.open(),
      write: (chunk) => {
        this.#try(() => this.#copyChunk(chunk));
        return sink.write(chunk);
      },
      pass: (event) => {
        this.#try(() => this.#copyEvent(event));
        return sink.pass(event);
      },
    };
  }

  /** @param answer Undefined for a stream, and for a call that failed. */
  toTurns(answer: unknown): ContentTurn[] {
    const whole = readAnswer(answer, this.request);
    if (whole.length > 0) return whole;
    if (this.#soundBytes > 0) return [{ role: "audio", text: `[audio ${Math.ceil(this.#soundBytes / 1024)} kB]` }];
    const turns: ContentTurn[] = [...this.#turns.values()].filter(({ text }) => text !== "");
    if (this.#isCut) turns.push({ role: "left out", text: "[…]" });
    return turns;
  }

  /** A piece that cannot be copied is sent all the same. */
  #try(copy: () => void): void {
    try {
      copy();
    } catch {
      this.#isCut = true;
    }
  }

  #copyChunk(chunk: ChatChunk | Uint8Array): void {
    if (chunk instanceof Uint8Array) {
      this.#soundBytes += chunk.byteLength;
      return;
    }
    for (const { index, delta } of chunk.choices) {
      const of = index === 0 ? "" : ` ${index + 1}`;
      this.#add(`reasoning${of}`, `reasoning${of}`, delta.reasoning_content);
      this.#add(`assistant${of}`, `assistant${of}`, delta.content);
      this.#add(`refusal${of}`, `refusal${of}`, delta.refusal);
      for (const call of delta.tool_calls ?? []) {
        const place = `call ${index} ${call.index ?? 0}`;
        const name = call.function?.name ?? call.custom?.name;
        if (name) this.#add(place, `tool call${of}`, `name: ${name}\n`);
        this.#add(place, `tool call${of}`, call.function?.arguments ?? call.custom?.input);
      }
    }
  }

  /** An event of the Responses or the Messages protocol. */
  #copyEvent({ data }: ServerEvent): void {
    if (this.#left <= 0) return;
    const part = readJson(data, "event") as Delta;
    const place = String(part.item_id ?? part.index ?? part.output_index ?? 0);
    const { content_block: block, item } = part as { content_block?: Delta; item?: Delta };
    if (typeof block?.name === "string") this.#add(place, "tool call", `name: ${block.name}\n`);
    if (typeof item?.name === "string" && part.type === "response.output_item.added") {
      this.#add(String(item.id ?? place), "tool call", `name: ${item.name}\n`);
    }
    const { delta } = part;
    if (typeof delta === "string") this.#add(place, toRole(String(part.type)), delta);
    if (typeof delta !== "object" || delta === null) return;
    const { text, thinking, partial_json: json } = delta as Delta;
    this.#add(place, "assistant", text);
    this.#add(place, "reasoning", thinking);
    this.#add(place, "tool call", json);
  }

  #add(place: string, role: string, text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const piece = text.slice(0, Math.max(0, this.#left));
    this.#isCut ||= piece.length < text.length;
    if (piece === "") return;
    this.#left -= piece.length;
    const key = `${place} ${role}`;
    const turn = this.#turns.get(key);
    if (turn === undefined) this.#turns.set(key, { role, text: piece });
    else turn.text += piece;
  }
}

/** Role of an event of the Responses protocol, such as `response.output_text.delta`. */
function toRole(type: string): string {
  if (type.includes("reasoning")) return "reasoning";
  return /arguments|_input|_call/.test(type) ? "tool call" : "assistant";
}
