/**
 * The form of an answer: JSON, events or a page. The first bytes decide, because servers label answers wrongly. Some
 * send a whole answer although a stream was requested, or the reverse.
 */

import { UpstreamError } from "../../contract/index.ts";
import type { ServerEvent, Upstream } from "../../provider/index.ts";
import { type BatchReader, readsBatches } from "../streaming.ts";
import type { BodyReader, Bytes } from "./http-client.ts";

/** `nothing`: white space alone. `text`: anything else, which no answer begins with. */
export type AnswerForm = "json" | "events" | "binary" | "page" | "nothing" | "text";

/** The fields of server-sent events, and a comment. */
const eventsBeginning = /^(?:data|event|id|retry)?:/;
/** The longest field has so many characters with its colon. */
const fieldCharacters = 6;

/** The form of a text by its beginning. */
export function formOf(text: string): AnswerForm {
  const head = text
    .slice(0, 1024)
    .replace(/^\uFEFF/, "")
    .trimStart();
  const first = head.charCodeAt(0);
  if (Number.isNaN(first)) return "nothing";
  // The first of the four bytes that tell the length of a message of AWS.
  if (first < 9) return "binary";
  if (head.startsWith("{") || head.startsWith("[")) return "json";
  if (head.startsWith("<")) return "page";
  return eventsBeginning.test(head) ? "events" : "text";
}

/** Whether an answer that broke off came from a model, by its beginning. */
export function isAnswerForm(form: AnswerForm): boolean {
  return form === "json" || form === "events" || form === "binary";
}

/** A body whose first pieces have been read. */
export interface BegunBody {
  readonly form: AnswerForm;
  readonly body: Pick<BodyReader, "read" | "cancel" | "drain" | "linger">;
}

/** Reads a body until its form is known. Servers may send white space for a while before they answer. */
export async function beginBody(body: BodyReader): Promise<BegunBody> {
  const pieces: Bytes[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let head = "";
  let form: AnswerForm = "nothing";
  for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
    pieces.push(piece);
    head = (head + decoder.decode(piece.subarray(0, 1024), { stream: true })).trimStart();
    form = formOf(head);
    if (form !== "nothing" && (form !== "text" || head.length >= fieldCharacters)) break;
  }
  let next = 0;
  const read = async () => {
    const piece = pieces[next];
    if (piece === undefined) return await body.read();
    pieces[next++] = new Uint8Array(0);
    return piece;
  };
  return {
    form,
    body: { read, cancel: () => body.cancel(), drain: () => body.drain(), linger: (ms?: number) => body.linger(ms) },
  };
}

/** Events that have all come. */
export class RecordedEvents implements AsyncIterable<ServerEvent>, BatchReader<ServerEvent> {
  readonly [readsBatches] = true;
  #events: readonly ServerEvent[] | undefined;

  constructor(events: readonly ServerEvent[]) {
    this.#events = events;
  }

  async read(): Promise<readonly ServerEvent[] | undefined> {
    const events = this.#events;
    this.#events = undefined;
    return events;
  }

  cancel(): void {
    this.#events = undefined;
  }

  /** They are all there. */
  linger(): void {}

  async *[Symbol.asyncIterator](): AsyncGenerator<ServerEvent, undefined> {
    yield* (await this.read()) ?? [];
  }
}

/** The answer that came in another form than requested. */
type OtherForm = { readonly whole: unknown } | { readonly events: readonly ServerEvent[] };

/**
 * Thrown for an answer that came whole although a stream was requested, or the reverse. The answer has been read and
 * recorded as served. Run the handler again for the other form, with {@link replay} as its upstream.
 */
export class OtherFormError extends UpstreamError {
  readonly #answer: OtherForm;

  constructor(answer: OtherForm) {
    const [came, expected] = "whole" in answer ? ["a whole response", "a stream"] : ["a stream", "a whole response"];
    super("bad_response", `The provider sent ${came}, expected ${expected}`);
    this.#answer = answer;
  }

  /** An upstream that sends nothing: it gives the answer that came to the first request for its form. */
  replay(upstream: Upstream): Upstream {
    const answer = this.#answer;
    let isTaken = false;
    const take = <Form extends "whole" | "events">(form: Form): Extract<OtherForm, Record<Form, unknown>>[Form] => {
      if (isTaken || !(form in answer)) throw this;
      isTaken = true;
      return (answer as never)[form];
    };
    const refuse = (): never => {
      throw this;
    };
    return {
      baseUrl: upstream.baseUrl,
      json: async <T>() => take("whole") as T,
      events: async () => new RecordedEvents(take("events")),
      form: async <T>() => take("whole") as T,
      bytes: async () => refuse(),
      webSocket: async () => refuse(),
      download: (url) => upstream.download(url),
    };
  }
}

/** Fields that hold what a model made, in all dialects: a text, a number, or a list of them. */
const contentFields: ReadonlySet<string> = new Set([
  ..."content text reasoning_content reasoning thinking refusal partial_json delta output_text".split(" "),
  ..."transcript summary b64_json data url embedding embeddings".split(" "),
]);
/** Fields whose values all come from the model: the arguments of a call. */
const argumentFields: ReadonlySet<string> = new Set(["arguments", "args", "input"]);
/** Fields and types of a call: its name alone counts as content. */
const callNames: ReadonlySet<unknown> = new Set(
  "function function_call functionCall custom toolUse tool_use custom_tool_call".split(" "),
);

/** More values are no empty envelope, whatever they are. */
const valuesMax = 10_000;

/**
 * Whether an unusable answer contains something that a model made: text, a call, numbers. An error, an empty envelope
 * and an event that only begins an answer do not. An answer that is too large to search does.
 */
export function hasContent(value: unknown): boolean {
  return findContent(value, "none", { left: valuesMax });
}

/** @param leaves Which texts and numbers are content: `own`, this value itself; `all`, all within it; `none`. */
function findContent(value: unknown, leaves: "own" | "all" | "none", values: { left: number }): boolean {
  if (--values.left < 0) return true;
  if (typeof value === "string") return leaves !== "none" && value.trim() !== "";
  if (typeof value === "number") return leaves !== "none";
  if (Array.isArray(value))
    return value.length > values.left || value.some((member) => findContent(member, leaves, values));
  if (typeof value !== "object" || value === null) return false;
  if ("type" in value && callNames.has(value.type) && hasName(value)) return true;
  for (const name in value) {
    if (!Object.hasOwn(value, name) || name === "error" || name === "usage") continue;
    const member: unknown = value[name as never];
    if (callNames.has(name) && hasName(member)) return true;
    const own = contentFields.has(name) ? "own" : "none";
    if (findContent(member, leaves === "all" || argumentFields.has(name) ? "all" : own, values)) return true;
  }
  return false;
}

const hasName = (value: unknown) =>
  typeof value === "object" && value !== null && "name" in value && Boolean(value.name);
