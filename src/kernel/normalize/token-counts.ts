import { Buffer } from "node:buffer";
import type { ChatRequest, ContentPart, Message } from "../../contract/index.ts";

/** Tokens that one picture can cost at the most, for the hold and for an estimate (high detail, 1024 px). */
const imageTokens = 1_500;
/** Tokens that a message costs beside its text (role and separators). */
const messageTokens = 6;
/** Longer texts are counted by a sample of this many characters, so that an estimate stays cheap. */
export const countedCharactersMax = 200_000;
/** The tokenizer's time grows with the square of a word's length: 200 kB without a space would take a minute. */
const wordCharactersMax = 256;
const longWord = new RegExp(`\\S{${wordCharactersMax + 1}}|\\s{${wordCharactersMax + 1}}`);

/**
 * An upper bound of the tokens in a text without a tokenizer: a third of its UTF-8 bytes. Ordinary text has four and
 * more bytes a token, scripts of three bytes a character about one token a character.
 */
export function tokensMax(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3);
}

/** An upper bound of the tokens of a conversation, with its tools. */
export function promptTokensMax(request: ChatRequest): number {
  let tokens = 0;
  for (const message of request.messages) tokens += messageTokens + messageTextTokensMax(message);
  if (request.tools) tokens += tokensMax(JSON.stringify(request.tools));
  if (request.functions) tokens += tokensMax(JSON.stringify(request.functions));
  if (request.response_format && request.response_format.type === "json_schema") {
    tokens += tokensMax(JSON.stringify(request.response_format));
  }
  return tokens;
}

function messageTextTokensMax(message: Message): number {
  let tokens = 0;
  const { content, tool_calls } = message;
  if (typeof content === "string") tokens += tokensMax(content);
  else if (content) for (const part of content) tokens += partTokensMax(part);
  if (tool_calls) for (const call of tool_calls) tokens += tokensMax(call.function.name + call.function.arguments);
  return tokens;
}

function partTokensMax(part: ContentPart): number {
  switch (part.type) {
    case "text":
      return tokensMax(part.text);
    case "refusal":
      return tokensMax(part.refusal);
    case "image_url":
      return imageTokens;
    case "input_audio":
      return Math.ceil(part.input_audio.data.length / 100);
    case "file":
      return tokensMax(JSON.stringify(part.file));
  }
}

/** The text of a conversation that a tokenizer can count, and the tokens of what is not text. */
export function countablePrompt(request: ChatRequest): { text: string; otherTokens: number } {
  let text = "";
  let otherTokens = 0;
  for (const message of request.messages) {
    otherTokens += messageTokens;
    const { content } = message;
    if (typeof content === "string") text += `${content}\n`;
    else if (content) {
      for (const part of content) {
        if (part.type === "text") text += `${part.text}\n`;
        else otherTokens += partTokensMax(part);
      }
    }
    if (message.tool_calls)
      for (const call of message.tool_calls) text += `${call.function.name}${call.function.arguments}\n`;
  }
  if (request.tools) text += JSON.stringify(request.tools);
  return { text, otherTokens };
}

/**
 * Counts the tokens of a text with OpenAI's o200k vocabulary, the closest public one for providers that report
 * nothing. The vocabulary is loaded at the first use. Where a text has words of absurd length, it is counted in slices,
 * and up to one token a slice too many.
 *
 * @param length Of all the text in characters, where `text` is its beginning.
 */
export async function countTokens(text: string, length: number = text.length): Promise<number> {
  if (text === "") return 0;
  const { countTokens: count } = await import("gpt-tokenizer/encoding/o200k_base");
  const sample = text.length <= countedCharactersMax ? text : text.slice(0, countedCharactersMax);
  const options = { disallowedSpecial: new Set<string>() };
  let tokens = 0;
  if (longWord.test(sample)) {
    for (let at = 0; at < sample.length; at += wordCharactersMax) {
      tokens += count(sample.slice(at, at + wordCharactersMax), options);
    }
  } else tokens = count(sample, options);
  return Math.ceil((tokens * length) / sample.length);
}
