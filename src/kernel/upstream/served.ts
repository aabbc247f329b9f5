import type { AnswerUsage, ProviderPlugin, ServerEvent } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { TextSample } from "../normalize/text-sample.ts";

/** Of an answer that was cut so many chunks are looked at, of some 64 kB each. */
const chunksSampled = 64;
/** By so much of its beginning JSON is told from a page. */
const headBytes = 1024;

/**
 * A request that a provider may have received and has not refused, and what it said of its use: read before the plugin
 * translates the answer, because what was served is owed whatever happens to the answer.
 */
export class SentRequest {
  readonly #readUsage: ProviderPlugin["readUsage"];
  /** Something of an answer came that is not an error. */
  isAnswered = false;
  /** All of the answer came, so that what it reports is final. */
  isWhole = false;
  /** The gateway ended it, because it was silent for too long. */
  isTimedOut = false;
  /** What came of a whole answer that was cut, or is not JSON: its bytes, and a part of its text. */
  cutBytes = 0;
  cutText = "";
  #usage: AnswerUsage | undefined;
  /** The first and the last event that may report usage. Read only where it is needed. */
  #first: string | undefined;
  #last: string | undefined;
  /** Events after the last that reports usage. */
  #afterReport = 0;
  /** An event said an error. */
  #hasFailed = false;

  constructor(readUsage: ProviderPlugin["readUsage"]) {
    this.#readUsage = readUsage;
  }

  /** Takes a whole answer. One that says an error is a refusal unless it reports what it used. */
  readAnswer(answer: unknown): void {
    this.isWhole = true;
    this.#usage = isRecord(answer) ? this.#read(answer) : undefined;
    this.isAnswered = this.#usage !== undefined || (isRecord(answer) && !isError(answer));
  }

  /** Takes what came of an answer that cannot be read: it was cut, or all of it came and it is not JSON. Of a long one some chunks are looked at, evenly spread. */
  readCut(chunks: readonly Uint8Array[], bytes: number, isWhole = false): void {
    const sample = new TextSample();
    const decoder = new TextDecoder();
    const step = Math.max(1, Math.ceil(chunks.length / chunksSampled));
    for (let index = 0; index < chunks.length; index += step) sample.add(decoder.decode(chunks[index]));
    this.cutText = sample.text;
    const [first] = chunks;
    const head = first === undefined ? "" : decoder.decode(first.subarray(0, headBytes));
    // A page of something in between is not an answer of the model.
    this.isAnswered = this.cutText === "" ? !isWhole : /^\s*[[{]/.test(head);
    if (this.isAnswered) this.cutBytes = bytes;
    else this.cutText = "";
  }

  /** Takes an event of a stream. */
  readEvent({ event, data }: ServerEvent): void {
    // Events that say only that the request was taken are no answer where a failure follows them.
    if (data.includes('"error"') && !data.includes('"error":null') && isError(parseJson(data))) this.#hasFailed = true;
    this.isAnswered = !this.#hasFailed && (this.isAnswered || (data !== "" && event !== "raw"));
    if (data === "[DONE]") this.isWhole = true;
    else if (data.includes('"usage') && !data.includes('"usage":null')) {
      if (this.#first === undefined) this.#first = data;
      else this.#last = data;
      this.#afterReport = 0;
    } else this.#afterReport++;
  }

  /** What the provider reported, if that is final. */
  get usage(): AnswerUsage | undefined {
    // At most the mark of the end follows the last report; one of the beginning alone is that of a stream that broke off.
    if (!this.isWhole || this.#afterReport > 1) return undefined;
    let usage = this.#usage;
    for (const data of [this.#first, this.#last]) {
      const part = data === undefined ? undefined : parseJson(data);
      if (isRecord(part)) usage = this.#read(part, usage);
    }
    return usage;
  }

  /** What a plugin of others throws here is no report. */
  #read(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
    try {
      return this.#readUsage(part, before);
    } catch {
      return before;
    }
  }
}

function isError(answer: unknown): boolean {
  if (!isRecord(answer)) return false;
  const { type, error, response } = answer;
  return type === "error" || Boolean(error) || (isRecord(response) && Boolean(response.error));
}
