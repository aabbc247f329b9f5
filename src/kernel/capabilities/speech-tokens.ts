import { getBasicMeters, type Meters, type Model, type SpeechFormat, SpeechRequest } from "../../contract/index.ts";
import { splitText } from "../audio/split-text.ts";
import { boundText, tokensMax } from "../normalize/prompt-bounds.ts";

/** Tokens of sound: Gemini counts 32 for a second, OpenAI 20. */
export const audioTokensPerSecond = 32;
/** Slower than anyone speaks, in any script; and the pauses of a short text. */
const secondsPerCharacterMax = 0.5;
const secondsMin = 60;
/** What a provider counts beside the words of a prompt. */
const extraTokens = 64;
/** 128 kbit/s. */
const encodedBytesPerSecond = 16_000;

/** The header that nearly every WAV file has. */
export const wavHeaderBytes = 44;

/** Whether speech of this model is charged by tokens, not by characters. */
export const isByToken = ({ price }: Model) => !getBasicMeters("speech", price).includes("character");

/** The most tokens of a text, whose parts are spoken with the same instructions each, whatever field those stand in. */
export function toMost(request: SpeechRequest, { inputCharactersMax, outputTokensMax }: Model): Meters {
  const { input, ...others } = request;
  const parts = splitText(input, inputCharactersMax ?? Number.POSITIVE_INFINITY).length;
  const pace = Math.min(1, request.speed ?? 1, request.pace ?? 1);
  const seconds = secondsMin * parts + (countCharacters(input) * secondsPerCharacterMax) / pace;
  const tokens = Math.ceil(seconds * audioTokensPerSecond);
  return {
    inputToken: tokensMax(input) + parts * (boundText(others, SpeechRequest) + extraTokens),
    audioOutputToken: outputTokensMax === undefined ? tokens : Math.min(tokens, parts * outputTokensMax),
  };
}

/** The sum of all parts, or `undefined` when one is unknown. */
export function sumMeters(parts: (Meters | undefined)[]): Meters | undefined {
  const sum: Meters = {};
  for (const part of parts) {
    if (part === undefined) return undefined;
    for (const [name, amount] of Object.entries(part) as [keyof Meters, number][])
      sum[name] = (sum[name] ?? 0) + amount;
  }
  return sum;
}

/** How much sound a byte is: by the header of a WAV file, which the provider wrote; otherwise by an ordinary bitrate. */
export function getBytesPerSecond(first: Uint8Array<ArrayBuffer>, format: SpeechFormat): number {
  const isWav = (format === "wav" || format === "pcm") && first.length >= wavHeaderBytes;
  const said = isWav ? new DataView(first.buffer, first.byteOffset, wavHeaderBytes).getUint32(28, true) : 0;
  return said > 0 ? said : encodedBytesPerSecond;
}

/** Characters as they are billed: Unicode code points. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
