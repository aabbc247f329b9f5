import type { Meters } from "../../contract/index.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { nextTurn } from "../../lib/next-turn.ts";
import type { ChatRequest, ContentPart, Model } from "../../provider/index.ts";

export type InputAudio = Extract<ContentPart, { type: "input_audio" }>;

/** OpenAI counts 10 tokens for a second of audio in a prompt and 20 for one in an answer, others up to 32. */
const inputTokensPerSecond = 10;
const outputTokensPerSecond = 20;
const tokensPerSecondMax = 32;
/** Characters of base64 for a second of audio in an answer: 16-bit samples at 24 kHz, otherwise 128 kbit/s. */
const sampledCharactersPerSecond = 64_000;
const encodedCharactersPerSecond = 21_333;

/** Maximum duration of the audio of a prompt, in milliseconds; absent if it could not be measured. */
const lengths = new WeakMap<InputAudio["input_audio"], number>();

/** Whether audio in a prompt has a price of its own. */
export const hasAudioPrice = ({ price }: Model): boolean => price?.audioInputToken !== undefined;

/** Measures the audio of a prompt, which what its header says does not shorten. */
export function measureAudio({ messages }: ChatRequest): Promise<void> | undefined {
  const audio: InputAudio["input_audio"][] = [];
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content)
      if (part.type === "input_audio" && !lengths.has(part.input_audio)) audio.push(part.input_audio);
  }
  return audio.length === 0 ? undefined : measure(audio);
}

/** Above this size each step has a turn of the event loop of its own. */
const largeBytesMin = 1024 * 1024;

/** The bytes of base64 of the standard alphabet with its padding. Decoders make different bytes of anything else. */
function readPlain(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text === "" || text.length % 4 !== 0 || text.includes("-") || text.includes("_")) return undefined;
  try {
    return fromBase64(text);
  } catch {
    return undefined;
  }
}

async function measure(audios: readonly InputAudio["input_audio"][]): Promise<void> {
  const [{ readAudioLength }, { fileOfBytes }] = await Promise.all([
    import("../audio/audio-length.ts"),
    import("../audio/byte-reader.ts"),
  ]);
  for (const audio of audios) {
    const bytes = readPlain(audio.data);
    if (bytes === undefined) continue;
    if (bytes.length > largeBytesMin) await nextTurn();
    const { audioMsMax } = await readAudioLength(fileOfBytes(bytes));
    if (audioMsMax !== undefined) lengths.set(audio, audioMsMax);
  }
}

/** An upper bound of the tokens of audio in a prompt; `undefined` where its length is not known. */
export function audioTokensMax(audio: InputAudio["input_audio"]): number | undefined {
  const ms = lengths.get(audio);
  return ms === undefined ? undefined : Math.ceil((ms / 1000) * tokensPerSecondMax);
}

/** The tokens of audio in a prompt for an estimate, by the most that it can have. */
export function estimateAudioTokens(audioTokensMax: number): number {
  return Math.ceil((audioTokensMax * inputTokensPerSecond) / tokensPerSecondMax);
}

/** The meter of an answer's tokens. All of them may be audio if the request includes audio and audio has a price. */
export function getOutputMeter(request: ChatRequest, { price }: Model): "outputToken" | "audioOutputToken" {
  const { modalities } = request as { modalities?: unknown };
  const isSound = Array.isArray(modalities) && modalities.includes("audio") && price?.audioOutputToken !== undefined;
  return isSound ? "audioOutputToken" : "outputToken";
}

/** Estimates the tokens of an answer's audio from its length in characters of base64. */
export function estimateAudio(request: ChatRequest, characters: number): Meters {
  if (characters === 0) return {};
  const { audio } = request as { audio?: { format?: unknown } | null };
  const isSampled = audio?.format === "pcm16" || audio?.format === "wav";
  const seconds = characters / (isSampled ? sampledCharactersPerSecond : encodedCharactersPerSecond);
  return { audioOutputToken: Math.ceil(seconds * outputTokensPerSecond) };
}

/** The audio of a message or a delta, unchecked. */
export function getAudio(message: object): { data?: unknown; transcript?: unknown } | undefined {
  const { audio } = message as { audio?: { data?: unknown; transcript?: unknown } | null };
  return audio ?? undefined;
}

/** Counter of the audio of an answer, in characters of base64. */
interface AudioMeter {
  readonly output: { audioLength: number };
  produced: boolean;
}

/** Counts the audio that came with a message or a delta. Returns its words. */
export function countAudio(meter: AudioMeter, message: object): unknown {
  const { data, transcript } = getAudio(message) ?? {};
  if (typeof data === "string" && data !== "") {
    meter.output.audioLength += data.length;
    meter.produced = true;
  }
  return transcript;
}
