import { type ServerEvent, UpstreamFault } from "../contract/index.ts";

/**
 * The most characters one event may have unless told otherwise: 1 Mi, some hundred times a provider's longest.
 *
 * @example
 * eventCharactersMaxDefault; // => 1048576
 */
export const eventCharactersMaxDefault = 1024 * 1024;

const byteOrderMark = "\uFEFF";
const lineFeed = 10;
const colon = 58;
const space = 32;

/**
 * Reads server-sent events from text that arrives in pieces of any size. Line ends may be `\n`, `\r\n` or `\r`.
 *
 * An event named `raw` carries text that stands in no field: JSON or HTML that a failing server wrote into the stream
 * as it was. It is offered when a field follows it or the stream ends.
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
  #events: ServerEvent[] = [];
  /** The beginning of a line whose end has not arrived. It only grows by `+=`, which costs nothing until it is read. */
  #rest = "";
  #started = false;
  #skipLineFeed = false;
  #name = "";
  #data: string | undefined;
  #raw: string | undefined;
  #eventCharacters = 0;

  constructor(eventCharactersMax: number = eventCharactersMaxDefault) {
    this.#eventCharactersMax = eventCharactersMax;
  }

  /**
   * Takes the next piece of text.
   *
   * @returns The events it completed, in order, often none.
   * @throws {UpstreamFault} `bad_response` when one event grows beyond the bound.
   */
  push(text: string): ServerEvent[] {
    if (text === "") return [];
    let start = this.#firstCharacter(text);
    let cr = text.indexOf("\r", start);
    let lf = text.indexOf("\n", start);
    for (;;) {
      const atCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = atCr ? cr : lf;
      if (end === -1) break;
      this.#takeLine(text, start, end);
      start = end + 1;
      if (atCr) {
        if (start === text.length) this.#skipLineFeed = true;
        else if (text.charCodeAt(start) === lineFeed) start++;
        cr = text.indexOf("\r", start);
      }
      if (lf !== -1 && lf < start) lf = text.indexOf("\n", start);
    }
    if (start < text.length) {
      this.#rest += start === 0 ? text : text.slice(start);
      this.#bound(this.#rest.length);
    }
    return this.#take();
  }

  /** Says that no more text comes. Returns what stood unfinished: a last event without its blank line, or `raw` text. */
  end(): ServerEvent[] {
    if (this.#rest !== "") this.#takeLine("", 0, 0);
    this.#dispatch();
    this.#dispatchRaw();
    return this.#take();
  }

  #firstCharacter(text: string): number {
    if (!this.#started) {
      this.#started = true;
      if (text.startsWith(byteOrderMark)) return 1;
    }
    if (!this.#skipLineFeed) return 0;
    this.#skipLineFeed = false;
    return text.charCodeAt(0) === lineFeed ? 1 : 0;
  }

  #take(): ServerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #takeLine(text: string, start: number, end: number): void {
    if (this.#rest === "") {
      this.#readLine(text, start, end);
    } else {
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      this.#readLine(line, 0, line.length);
    }
  }

  #readLine(text: string, start: number, end: number): void {
    if (start === end) {
      if (this.#raw === undefined) this.#dispatch();
      return;
    }
    if (text.startsWith("data", start)) {
      const value = valueStart(text, start + 4, end);
      if (value !== -1) {
        this.#dispatchRaw();
        const line = text.slice(value, end);
        this.#data = this.#data === undefined ? line : `${this.#data}\n${line}`;
        this.#eventCharacters += line.length;
        this.#bound(0);
        return;
      }
    }
    if (text.startsWith("event", start)) {
      const value = valueStart(text, start + 5, end);
      if (value !== -1) {
        this.#dispatchRaw();
        this.#name = text.slice(value, end);
        return;
      }
    }
    if (this.#raw !== undefined || isRaw(text, start)) this.#takeRaw(text.slice(start, end));
  }

  #takeRaw(line: string): void {
    this.#dispatch();
    this.#raw = this.#raw === undefined ? line : `${this.#raw}\n${line}`;
    this.#eventCharacters += line.length;
    this.#bound(0);
  }

  #dispatch(): void {
    if (this.#data !== undefined) {
      this.#events.push({ event: this.#name === "" ? "message" : this.#name, data: this.#data });
      this.#data = undefined;
      this.#eventCharacters = 0;
    }
    this.#name = "";
  }

  #dispatchRaw(): void {
    if (this.#raw === undefined) return;
    this.#events.push({ event: "raw", data: this.#raw });
    this.#raw = undefined;
    this.#eventCharacters = 0;
  }

  #bound(restCharacters: number): void {
    if (this.#eventCharacters + restCharacters <= this.#eventCharactersMax) return;
    throw new UpstreamFault(
      "bad_response",
      `The provider's stream has an event of more than ${this.#eventCharactersMax} characters`,
    );
  }
}

/**
 * Reads server-sent events from bytes as they arrive, cut anywhere, also inside a character.
 *
 * @throws {UpstreamFault} `bad_response` when one event grows beyond `eventCharactersMax`.
 *
 * @example
 * const bytes = new TextEncoder().encode("event: piece\ndata: 1\n\n");
 * const events = await Array.fromAsync(readEvents(ReadableStream.from([bytes.slice(0, 9), bytes.slice(9)])));
 * events; // => [{ event: "piece", data: "1" }]
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  eventCharactersMax: number = eventCharactersMaxDefault,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parser = new SseParser(eventCharactersMax);
  for await (const chunk of chunks) {
    for (const event of parser.push(decoder.decode(chunk, { stream: true }))) yield event;
  }
  for (const event of parser.push(decoder.decode())) yield event;
  for (const event of parser.end()) yield event;
}

/** Where the value of a field begins, or -1 when the field's name goes on. One space after the colon is not part of it. */
function valueStart(text: string, nameEnd: number, end: number): number {
  if (nameEnd === end) return end;
  if (nameEnd > end || text.charCodeAt(nameEnd) !== colon) return -1;
  return nameEnd + 1 < end && text.charCodeAt(nameEnd + 1) === space ? nameEnd + 2 : nameEnd + 1;
}

/** Whether a line opens JSON or HTML rather than a field. */
function isRaw(text: string, start: number): boolean {
  const first = text[start];
  return first === "{" || first === "[" || first === "<";
}
