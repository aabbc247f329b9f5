import type { ChatRequest, Model } from "../../contract/index.ts";
import { nextTurn } from "../capabilities/iterators.ts";
import { messageTokens, partTokensMax } from "./prompt-bounds.ts";
import { hasAudioPrice } from "./sound.ts";
import { getCallTexts } from "./tool-call.ts";

/** What a picture is estimated to cost at the most (high detail, 1024 px); providers that take pictures report usage. */
const imageTokensEstimate = 1_500;

/** Longer texts are counted by a sample of this many characters, so that an estimate stays cheap. */
export const countedCharactersMax = 200_000;
/** A text is counted in pieces of this many characters; between them other calls get a turn. */
const pieceCharactersMax = 2048;
/** So much time is spent on counting before other calls get a turn. */
const turnMs = 4;
/** The tokenizer's time grows with the square of a word's length: 200 kB without a space would take a minute. */
const wordCharactersMax = 256;
const longWord = /[\p{L}\p{M}]{257}|\s{257}|[^\s\p{L}\p{N}]{257}/u;

export type Vocabulary = "o200k_base" | "cl100k_base";
type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

const options = { disallowedSpecial: new Set<string>() };
const loaded = new Map<Vocabulary, Promise<Count>>();

/** A vocabulary takes 70 MB and half a second, so it is loaded at its first use, in two turns. */
const loaders: Record<Vocabulary, () => Promise<Count>> = {
  async o200k_base() {
    await import("gpt-tokenizer/bpeRanks/o200k_base");
    await nextTurn();
    return (await import("gpt-tokenizer/encoding/o200k_base")).countTokens;
  },
  async cl100k_base() {
    await import("gpt-tokenizer/bpeRanks/cl100k_base");
    await nextTurn();
    return (await import("gpt-tokenizer/encoding/cl100k_base")).countTokens;
  },
};

function load(vocabulary: Vocabulary): Promise<Count> {
  const known = loaded.get(vocabulary);
  if (known !== undefined) return known;
  const count = loaders[vocabulary]();
  loaded.set(vocabulary, count);
  return count;
}

/** The tokens of cl100k_base that stand for text. The special ones behind them do not. */
const textTokens = 100_256;
/** So many tokens are decoded before other calls may get a turn. */
const decodedAtOnce = 2000;

/**
 * The text of cl100k_base tokens, which OpenAI's clients send for its embedding models.
 *
 * @throws {RangeError} When the vocabulary has no such token.
 */
export async function decodeTokens(tokens: readonly number[]): Promise<string> {
  if (tokens.some((token) => token >= textTokens)) throw new RangeError("cl100k_base has no such token");
  await load("cl100k_base");
  const { decodeGenerator } = await import("gpt-tokenizer/encoding/cl100k_base");
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

/** The text of a conversation that a tokenizer can count, and the tokens of what is not text. */
export function countablePrompt(request: ChatRequest, model: Model): { text: string; otherTokens: number } {
  let text = "";
  let otherTokens = 0;
  for (const message of request.messages) {
    otherTokens += messageTokens;
    const { content } = message;
    if (typeof content === "string") text += `${content}\n`;
    else if (content) {
      for (const part of content) {
        if (part.type === "text") text += `${part.text}\n`;
        else if (part.type === "image_url") otherTokens += Math.min(partTokensMax(part, model), imageTokensEstimate);
        else if (part.type === "input_audio" && hasAudioPrice(model)) continue;
        else otherTokens += partTokensMax(part, model);
      }
    }
    if (message.tool_calls) for (const call of message.tool_calls) text += `${getCallTexts(call).join("")}\n`;
  }
  if (request.tools) text += JSON.stringify(request.tools);
  return { text, otherTokens };
}

/**
 * Counts the tokens of a text, by default with OpenAI's o200k vocabulary, the closest public one for providers that
 * report nothing. The count is exact up to the sample's length, except that each very long word may add some tokens.
 *
 * @param length The length of the whole text in characters; `text` may be its beginning only.
 */
export async function countTokens(
  text: string,
  length: number = text.length,
  vocabulary: Vocabulary = "o200k_base",
): Promise<number> {
  if (text === "") return 0;
  const count = await load(vocabulary);
  const sample = text.length <= countedCharactersMax ? text : text.slice(0, countedCharactersMax);
  let tokens = 0;
  let turnEndsMs = performance.now() + turnMs;
  for (let at = 0; at < sample.length; ) {
    const piece = cutPiece(sample, at);
    tokens += count(piece, options);
    at += piece.length;
    if (at >= sample.length || performance.now() < turnEndsMs) continue;
    await nextTurn();
    turnEndsMs = performance.now() + turnMs;
  }
  return Math.ceil((tokens * length) / sample.length);
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
  const here = text[at] as string;
  if (!" ,.;:!?()，。、；：！？।".includes(here)) return false;
  const before = text[at - 1] as string;
  return here === " " ? /\S/.test(before) && /\S/.test(text[at + 1] ?? " ") : /\p{L}/u.test(before);
}
