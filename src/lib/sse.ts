import { type ServerEvent, UpstreamFault } from "../contract/index.ts";

/**
 * The most characters one event may have unless told otherwise: 1 Mi, some hundred times a provider's longest.
 *
 * @example
 * eventCharactersMaxDefault; // => 1048576
 */
export const eventCharactersMaxDefault = 1024 * 1024;

const byteOrderMark = "\uFEFF";

/**
 * Reads server-sent events from text that arrives in pieces of any size. Line ends may be `\n`, `\r\n` or `\r`.
 *
 * An event named `raw` carries text outside of any field: JSON or HTML that a failing server wrote into the stream. It is
 * returned when a field follows it or the stream ends.
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
  #endedInReturn = false;
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
    const lines = this.#trimStart(text).split(/\r\n?|\n/);
    const rest = lines.pop() as string;
    for (const line of lines) {
      this.#readLine(this.#rest + line);
      this.#rest = "";
    }
    this.#rest += rest;
    this.#bound(this.#rest.length);
    return this.#take();
  }

  /** Ends the stream. Returns what is unfinished: a last event without its blank line, or `raw` text. */
  end(): ServerEvent[] {
    if (this.#rest !== "") this.#readLine(this.#rest);
    this.#dispatch();
    this.#dispatchRaw();
    return this.#take();
  }

  /** Drops the byte order mark, and the second half of a line break that was cut in two. */
  #trimStart(piece: string): string {
    if (piece === "") return piece;
    let text = piece;
    if (!this.#started && text.startsWith(byteOrderMark)) text = text.slice(1);
    this.#started = true;
    if (this.#endedInReturn && text.startsWith("\n")) text = text.slice(1);
    this.#endedInReturn = text.endsWith("\r");
    return text;
  }

  #take(): ServerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #readLine(line: string): void {
    if (line === "") {
      if (this.#raw === undefined) this.#dispatch();
      return;
    }
    const data = readField(line, "data");
    const name = data === undefined ? readField(line, "event") : undefined;
    if (data !== undefined) {
      this.#dispatchRaw();
      this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`;
      this.#grow(data.length);
    } else if (name !== undefined) {
      this.#dispatchRaw();
      this.#name = name;
    } else if (this.#raw !== undefined) {
      this.#raw += `\n${line}`;
      this.#grow(line.length);
    } else if (/^[{[<]/.test(line)) {
      this.#dispatch();
      this.#raw = line;
      this.#grow(line.length);
    }
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

  #grow(characters: number): void {
    this.#eventCharacters += characters;
    this.#bound(0);
  }

  #bound(restCharacters: number): void {
    if (this.#eventCharacters + restCharacters <= this.#eventCharactersMax) return;
    const sentence = `The provider's stream has an event of more than ${this.#eventCharactersMax} characters`;
    throw new UpstreamFault("bad_response", sentence, { isOfRequest: true });
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

/** The value of a field, if the line is of this field. One space after the colon is not part of it. */
function readField(line: string, name: string): string | undefined {
  if (line === name) return "";
  if (!line.startsWith(name) || line[name.length] !== ":") return undefined;
  return line.slice(name.length + (line[name.length + 1] === " " ? 2 : 1));
}
