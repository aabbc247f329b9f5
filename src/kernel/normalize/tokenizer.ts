import type { RawBytePairRanks } from "gpt-tokenizer/BytePairEncodingCore";
import { GptEncoding } from "gpt-tokenizer/GptEncoding";
import { nextTurn } from "../../lib/next-turn.ts";

/** A longer text is estimated from samples with this many characters in total, to keep the count cheap. */
export const countedCharactersMax = 200_000;
/** Length of a sample, in characters. The samples are spread evenly over the text. */
const windowCharacters = 400;
/** A sample begins and ends between words if there is a word boundary within this many characters. */
const wordCharactersUsual = 32;
/** The estimate is raised by this many standard errors, because samples may miss denser text. */
const standardErrors = 3;
/** A text is counted in pieces of this many characters; between them other calls get a turn. */
const pieceCharactersMax = 2048;
/** Time spent on counting before other calls get a turn. */
const turnMs = 4;
/** The tokenizer's time grows with the square of a word's length: 200 kB without a space would take a minute. */
const wordCharactersMax = 256;
const longWord = /[\p{L}\p{M}]{257}|\s{257}|[^\s\p{L}\p{N}]{257}/u;

export type Vocabulary = "o200k_base" | "cl100k_base";
type Encoding = Pick<GptEncoding, "countTokens" | "decodeGenerator">;
type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

const options = { disallowedSpecial: new Set<string>() };
const loaded = new Map<Vocabulary, Promise<Encoding>>();

/** The package has its vocabularies as modules too, which take half a second of one turn of the event loop. */
const readers: Record<Vocabulary, () => Promise<{ default: string }>> = {
  o200k_base: () => import("gpt-tokenizer/data/o200k_base.tiktoken", { with: { type: "text" } }),
  cl100k_base: () => import("gpt-tokenizer/data/cl100k_base.tiktoken", { with: { type: "text" } }),
};

/** A vocabulary takes up to 50 MB and half a second of CPU, so it is loaded at its first use, in turns of a few milliseconds. */
function load(vocabulary: Vocabulary): Promise<Encoding> {
  const encoding = loaded.get(vocabulary) ?? open(vocabulary);
  loaded.set(vocabulary, encoding);
  return encoding;
}

async function open(vocabulary: Vocabulary): Promise<Encoding> {
  const { default: text } = await readers[vocabulary]();
  const ranks = await readRanks(text);
  return GptEncoding.getEncodingApi(vocabulary, () => hideIndexes(ranks));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** A decoder would take it for a mark and leave it out. */
const byteOrderMark = "\xef\xbb\xbf";

/**
 * Reads the tokens of a vocabulary by rank: text, or bytes that are not text. The file has one line per token, with
 * base64 and the rank.
 */
export async function readRanks(text: string): Promise<RawBytePairRanks> {
  const ranks: (string | number[])[] = [];
  let turnEndsMs = performance.now() + turnMs;
  for (let at = 0; at < text.length; ) {
    if (performance.now() >= turnEndsMs) {
      await nextTurn();
      turnEndsMs = performance.now() + turnMs;
    }
    const linesEnd = Math.min(text.length, text.indexOf("\n", at + pieceCharactersMax) + 1 || text.length);
    for (const line of text.slice(at, linesEnd).split("\n")) {
      const [base64 = "", rank] = line.split(" ");
      if (rank !== undefined) ranks[Number(rank)] = toToken(atob(base64));
    }
    at = linesEnd;
  }
  return ranks;
}

function toToken(binary: string): string | number[] {
  if (!/[^\0-\x7f]/.test(binary)) return binary;
  const bytes = Array.from(binary, (character) => character.charCodeAt(0));
  if (binary.startsWith(byteOrderMark)) return bytes;
  try {
    return utf8.decode(Uint8Array.from(bytes));
  } catch {
    return bytes;
  }
}

/** A view of the same list without its indexes among its keys: the package counts them, which takes 0.2 s in one turn. */
function hideIndexes(ranks: RawBytePairRanks): RawBytePairRanks {
  const forEach = ranks.forEach.bind(ranks);
  return new Proxy(ranks, {
    ownKeys: () => ["length"],
    get: (target, name) => (name === "forEach" ? forEach : Reflect.get(target, name)),
  });
}

/** Number of cl100k_base tokens that represent text. The special tokens after them do not. */
const textTokens = 100_256;
/** Tokens that are decoded before other calls may get a turn. */
const decodedAtOnce = 2000;

/**
 * The text of cl100k_base tokens, which OpenAI's clients send for its embedding models.
 *
 * @throws {RangeError} When the vocabulary has no such token.
 */
export async function decodeTokens(tokens: readonly number[]): Promise<string> {
  if (tokens.some((token) => token >= textTokens)) throw new RangeError("cl100k_base has no such token");
  const { decodeGenerator } = await load("cl100k_base");
  let text = "";
  let count = 0;
  let turnEndsMs = performance.now() + turnMs;
  for (const piece of decodeGenerator(tokens)) {
    text += piece;
    if (++count % decodedAtOnce !== 0 || performance.now() < turnEndsMs) continue;
    await nextTurn();
    turnEndsMs = performance.now() + turnMs;
  }
  return text;
}

/**
 * Counts the tokens of a text, by default with OpenAI's o200k vocabulary, the closest public one for providers that
 * report nothing. The count is exact up to {@link countedCharactersMax}, except that each very long word may add some
 * tokens. Of a longer text windows are counted, which are drawn at random, one from each of as many equal parts: nobody can
 * know which parts are looked at.
 *
 * @param length The length of the whole text in characters; `text` may be its beginning only.
 */
export async function countTokens(
  text: string,
  length: number = text.length,
  vocabulary: Vocabulary = "o200k_base",
): Promise<number> {
  if (text === "") return 0;
  const counter = new TurnCounter((await load(vocabulary)).countTokens);
  if (text.length <= countedCharactersMax) await counter.count(text);
  const tokens =
    text.length <= countedCharactersMax ? counter.tokens : await countWindows([text], text.length, counter);
  return Math.ceil((tokens * length) / text.length);
}

/**
 * Counts the tokens of all pieces of a text together, like {@link countTokens}.
 *
 * @param areApart Whether the pieces are separate texts. Otherwise they are lines of one text.
 */
export async function countPieces(pieces: readonly string[], areApart = false): Promise<number> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length === 0) return 0;
  const counter = new TurnCounter((await load("o200k_base")).countTokens);
  if (length <= countedCharactersMax) {
    for (const text of areApart ? pieces : joinShort(pieces)) await counter.count(text);
    return counter.tokens;
  }
  return await countWindows(pieces, length, counter);
}

/** An estimate of the tokens of a long text, by windows. */
async function countWindows(pieces: readonly string[], length: number, counter: TurnCounter): Promise<number> {
  const windows = Math.floor(countedCharactersMax / windowCharacters);
  const part = length / windows;
  let [sum, squares] = [0, 0];
  const reader = new WindowReader(pieces);
  for (let index = 0; index < windows; index++) {
    const start = Math.floor(index * part + Math.random() * Math.max(0, part - windowCharacters));
    const text = reader.read(start, windowCharacters);
    const before = counter.tokens;
    await counter.count(text);
    const density = (counter.tokens - before) / text.length;
    sum += density;
    squares += density * density;
  }
  const mean = sum / windows;
  const variance = Math.max(0, squares / windows - mean * mean);
  return Math.ceil(length * (mean + standardErrors * Math.sqrt(variance / windows)));
}

/** Joins short pieces, each on its own line: counting a piece takes a moment, however short it is. */
function* joinShort(pieces: readonly string[]): Generator<string> {
  let text = "";
  for (const piece of pieces) {
    if (text !== "" && text.length + piece.length >= pieceCharactersMax) {
      yield text;
      text = "";
    }
    text += `${piece}\n`;
  }
  yield text;
}

/** Counts one text after another, with a turn for other calls now and then. */
class TurnCounter {
  tokens = 0;
  readonly #count: Count;
  #turnEndsMs = performance.now() + turnMs;

  constructor(count: Count) {
    this.#count = count;
  }

  async count(text: string): Promise<void> {
    for (let at = 0; at < text.length; ) {
      if (performance.now() >= this.#turnEndsMs) {
        await nextTurn();
        this.#turnEndsMs = performance.now() + turnMs;
      }
      const piece = cutPiece(text, at);
      this.tokens += this.#count(piece, options);
      at += piece.length;
    }
  }
}

/** Reads windows of a text that is in pieces, from its beginning to its end. */
class WindowReader {
  readonly #pieces: readonly string[];
  #index = 0;
  /** Where the current piece begins in the whole text. */
  #start = 0;

  constructor(pieces: readonly string[]) {
    this.#pieces = pieces;
  }

  /**
   * Returns the text from a position, which must not be before the previous call's. The text begins and ends between
   * words if it can.
   */
  read(from: number, characters: number): string {
    while (from - this.#start >= (this.#pieces[this.#index] as string).length) {
      this.#start += (this.#pieces[this.#index] as string).length;
      this.#index++;
    }
    const parts: string[] = [];
    let [index, at, rest] = [this.#index, from - this.#start, characters];
    while (rest > 0 && index < this.#pieces.length) {
      const piece = this.#pieces[index] as string;
      const text = piece.slice(at, at + rest);
      parts.push(text);
      rest -= text.length;
      index++;
      at = 0;
    }
    return cutToWords(parts.join("\n"));
  }
}

function cutToWords(text: string): string {
  let [start, end] = [0, text.length];
  while (start < wordCharactersUsual && start < end && !isBoundary(text, start)) start++;
  if (!isBoundary(text, start)) start = 0;
  const least = Math.max(start + 1, end - wordCharactersUsual);
  while (end > least && !isBoundary(text, end)) end--;
  return isBoundary(text, end) ? text.slice(start, end) : text.slice(start);
}

/** The next piece of a text, cut where no token can cross, unless a word is too long. */
function cutPiece(text: string, at: number): string {
  let end = Math.min(at + pieceCharactersMax, text.length);
  if (end < text.length) {
    let boundary = end;
    while (boundary > at && !isBoundary(text, boundary)) boundary--;
    if (boundary > at) end = boundary;
  }
  const piece = text.slice(at, end);
  return longWord.test(piece) ? piece.slice(0, wordCharactersMax) : piece;
}

/** Whether every vocabulary begins a token here: a single space after a word, or a mark after a letter. */
function isBoundary(text: string, at: number): boolean {
  const here = text[at];
  if (here === undefined || at === 0 || !" ,.;:!?()，。、；：！？।".includes(here)) return false;
  const before = text[at - 1] as string;
  return here === " " ? /\S/.test(before) && /\S/.test(text[at + 1] ?? " ") : /\p{L}/u.test(before);
}

/** Texts are kept or left out in blocks of this many characters. */
const blockCharacters = 400;

/**
 * A sample of a text that arrives in pieces: blocks spread evenly over the text, in total as much as is tokenized. The
 * choice of blocks is random, so a caller cannot hide dense text between them.
 */
export class TextSample {
  #blocks: string[] = [];
  /** One of this many blocks is kept. */
  #stride = 1;
  #phase = 0;
  /** The block that has begun. */
  #open = "";
  #openIndex = 0;
  #length = 0;

  /** Length of the whole text, in characters. */
  get length(): number {
    return this.#length;
  }

  /** The blocks that were kept; the whole text as long as that is not longer than what is tokenized. */
  get text(): string {
    return this.#blocks.join("") + (this.#isKept(this.#openIndex) ? this.#open : "");
  }

  add(piece: string): void {
    this.#length += piece.length;
    for (let at = 0; at < piece.length; ) {
      const part = piece.slice(at, at + blockCharacters - this.#open.length);
      this.#open += part;
      at += part.length;
      if (this.#open.length === blockCharacters) this.#close();
    }
  }

  #close(): void {
    if (this.#isKept(this.#openIndex)) this.#blocks.push(this.#open);
    this.#open = "";
    this.#openIndex++;
    if (this.#blocks.length * blockCharacters < countedCharactersMax) return;
    const offset = Math.random() < 0.5 ? 0 : 1;
    this.#blocks = this.#blocks.filter((_, index) => index % 2 === offset);
    this.#phase += offset * this.#stride;
    this.#stride *= 2;
  }

  #isKept(index: number): boolean {
    return index % this.#stride === this.#phase;
  }
}
