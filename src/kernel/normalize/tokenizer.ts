import type { ChatRequest, Model } from "../../contract/index.ts";
import { messageTokens, partTokensMax } from "./usage.ts";

/** What a picture is estimated to cost at the most (high detail, 1024 px); providers that take pictures report usage. */
const imageTokensEstimate = 1_500;

/** Longer texts are counted by a sample of this many characters, so that an estimate stays cheap. */
export const countedCharactersMax = 200_000;
/** The tokenizer's time grows with the square of a word's length: 200 kB without a space would take a minute. */
const wordCharactersMax = 256;
const longWord = new RegExp(`\\S{${wordCharactersMax + 1}}|\\s{${wordCharactersMax + 1}}`);

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
        else otherTokens += partTokensMax(part, model);
      }
    }
    if (message.tool_calls)
      for (const call of message.tool_calls) text += `${call.function.name}${call.function.arguments}\n`;
  }
  if (request.tools) text += JSON.stringify(request.tools);
  return { text, otherTokens };
}

/**
 * Counts the tokens of a text with OpenAI's o200k vocabulary, the closest public one for providers that report nothing.
 * The vocabulary is loaded at the first use. A text with very long words is counted in slices, which may add one token
 * for each slice.
 *
 * @param length The length of the whole text in characters; `text` may be its beginning only.
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
