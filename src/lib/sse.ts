import { createParser, type EventSourceParser } from "eventsource-parser";
import { UpstreamError } from "../contract/index.ts";
import type { ServerEvent } from "../provider/index.ts";

/** The most characters one event may have unless told otherwise. */
const eventCharactersMaxDefault = 1024 * 1024;
/** An event that has more characters so far is counted in memory. Most have some hundred. */
const countedCharactersMin = 65_536;
/** Bytes of a character: an event is held as its pieces and then as a text. */
const characterBytes = 2;

const byteOrderMark = "\uFEFF";

/**
 * Reads server-sent events in pieces that are cut anywhere, also inside a character. Line ends may be `\n`, `\r\n` or `\r`.
 * Fields and lines are the library's; what a failing server does to a stream is added here.
 *
 * An event named `raw` carries text outside of any field: JSON or HTML that was written into the stream. It is returned when
 * an event follows it or the stream ends.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 *
 * @example
 * const parser = new SseParser();
 * const events = [...parser.push("data: 1\n\nda"), ...parser.push("ta: 2\n\n"), ...parser.end()];
 * events.map(({ data }) => data); // => ["1", "2"]
 */
export class SseParser {
  readonly #eventCharactersMax: number;
  readonly #parser: EventSourceParser;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #events: ServerEvent[] = [];
  #raw: string | undefined;
  #hasStarted = false;
  #endedInReturn = false;
  readonly #reserve: ((bytes: number) => void) | undefined;
  /** Characters of the incomplete event, and how many of them are counted. */
  #pending = 0;
  #counted = 0;

  /** @param reserve Counts the memory of an event that has come in part; fewer bytes than 0 are freed. It may throw. */
  constructor(eventCharactersMax: number = eventCharactersMaxDefault, reserve?: (bytes: number) => void) {
    this.#eventCharactersMax = eventCharactersMax;
    this.#reserve = reserve;
    this.#parser = createParser({
      onEvent: ({ event = "message", data }) => {
        this.#endRaw();
        this.#checkLength(data);
        this.#events.push({ event, data });
      },
      onError: ({ type, line = "" }) => {
        if (type === "max-buffer-size-exceeded") throw this.#tooLong();
        if (type === "unknown-field") this.#addRaw(line);
      },
      maxBufferSize: eventCharactersMax,
    });
  }

  /**
   * Takes the next piece.
   *
   * @returns The events it completed, in order, often none.
   * @throws {UpstreamError} `bad_response` when one event grows beyond the bound.
   */
  push(piece: Uint8Array | string): ServerEvent[] {
    this.#feed(typeof piece === "string" ? piece : this.#decoder.decode(piece, { stream: true }));
    return this.#takeEvents();
  }

  /** Ends the stream. Returns what is unfinished: a last event without its blank line, or `raw` text. */
  end(): ServerEvent[] {
    this.#feed(this.#decoder.decode());
    this.#parser.feed("\n\n");
    this.#endRaw();
    return this.#takeEvents();
  }

  /**
   * Feeds a piece with each line end as `\n`. The parser then waits for no second half: a `\r` at the end of a piece
   * may be the first half of a line end.
   */
  #feed(piece: string): void {
    if (piece === "") return;
    let text = piece;
    if (!this.#hasStarted && text.startsWith(byteOrderMark)) text = text.slice(1);
    this.#hasStarted = true;
    if (this.#endedInReturn && text.startsWith("\n")) text = text.slice(1);
    this.#endedInReturn = piece.endsWith("\r");
    this.#count(text.length);
    this.#parser.feed(text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text);
    if (this.#events.length > 0) this.#pending = 0;
  }

  #count(characters: number): void {
    this.#pending += characters;
    if (this.#reserve === undefined || (this.#pending <= countedCharactersMin && this.#counted === 0)) return;
    const counted = this.#pending <= countedCharactersMin ? 0 : this.#pending;
    this.#reserve(characterBytes * (counted - this.#counted));
    this.#counted = counted;
  }

  #takeEvents(): ServerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #addRaw(line: string): void {
    if (this.#raw !== undefined) this.#raw += `\n${line}`;
    else if (/^[{[<]/.test(line)) this.#raw = line;
    else return;
    this.#checkLength(this.#raw);
  }

  #endRaw(): void {
    if (this.#raw !== undefined) this.#events.push({ event: "raw", data: this.#raw });
    this.#raw = undefined;
  }

  #checkLength(text: string): void {
    if (text.length > this.#eventCharactersMax) throw this.#tooLong();
  }

  #tooLong(): UpstreamError {
    const message = `The provider's stream has an event of more than ${this.#eventCharactersMax} characters`;
    return new UpstreamError("bad_response", message, { isOfRequest: true });
  }
}

/**
 * Whether an event's data is the mark that ends a stream in OpenAI's dialect. Some servers write white space around it.
 */
export function isEndMark(data: string): boolean {
  return data.length < 16 && data.trim() === "[DONE]";
}
