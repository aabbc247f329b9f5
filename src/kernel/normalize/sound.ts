import { Buffer } from "node:buffer";
import type { ChatRequest, ContentPart, Meters, Model } from "../../contract/index.ts";

type InputAudio = Extract<ContentPart, { type: "input_audio" }>;

/** OpenAI counts 10 tokens for a second of sound in a prompt and 20 for one in an answer, others up to 32. */
const inputTokensPerSecond = 10;
const outputTokensPerSecond = 20;
const tokensPerSecondMax = 32;
/** Characters of base64 for a second of sound in an answer: 16-bit samples at 24 kHz, otherwise 128 kbit/s. */
const sampledCharactersPerSecond = 64_000;
const encodedCharactersPerSecond = 21_333;
/** An earlier answer in sound of a model that does not say how long its answers are. */
const answerTokensDefault = 16_384;

/** How long the sound of a prompt plays at the most, in milliseconds. */
const lengths = new WeakMap<InputAudio, number>();

/** Whether sound in a prompt has a price of its own. */
export const hasAudioPrice = ({ price }: Model): boolean => price?.audioInputToken !== undefined;

/** Measures the sound of a prompt, which what its header says does not shorten. */
export async function measureSound({ messages }: ChatRequest): Promise<void> {
  const sounds = messages.flatMap(soundsOf);
  if (sounds.length === 0) return;
  const { readAudioLength } = await import("../audio/audio-length.ts");
  for (const part of sounds) {
    const { audioMsMax } = await readAudioLength(new Blob([Buffer.from(part.input_audio.data, "base64")]));
    lengths.set(part, audioMsMax);
  }
}

/** An upper bound of the tokens of sound: of unknown sound it is 32 tokens a second at 8 kbit/s. */
export function soundTokensMax(part: InputAudio): number {
  const ms = lengths.get(part) ?? (part.input_audio.data.length * 3) / 4;
  return Math.ceil((ms / 1000) * tokensPerSecondMax);
}

/**
 * A bound of a prompt, of which the tokens of its parts of sound are divided from those of text. Earlier answers in sound
 * stand in it by their ids, so that they come on top.
 */
export function divideSound(promptTokens: number, { messages }: ChatRequest, model: Model): Meters {
  if (!hasAudioPrice(model)) return { inputToken: promptTokens };
  const { outputTokensMax = answerTokensDefault, contextTokens = Number.POSITIVE_INFINITY } = model;
  const sound = messages.flatMap(soundsOf).reduce((sum, part) => sum + soundTokensMax(part), 0);
  const answers = messages.filter((message) => (message as { audio?: unknown }).audio).length;
  return {
    inputToken: Math.max(0, promptTokens - sound),
    audioInputToken: Math.min(sound + answers * outputTokensMax, contextTokens),
  };
}

/** The tokens of the sound in a prompt for an estimate. */
export function estimatePromptSound(request: ChatRequest, model: Model): Meters {
  if (!hasAudioPrice(model)) return {};
  const most = request.messages.flatMap(soundsOf).reduce((sum, part) => sum + soundTokensMax(part), 0);
  return most === 0 ? {} : { audioInputToken: Math.ceil((most * inputTokensPerSecond) / tokensPerSecondMax) };
}

/** The meter of an answer's tokens, all of which can be sound where that is asked for and has a price. */
export function getOutputMeter(request: ChatRequest, { price }: Model): "outputToken" | "audioOutputToken" {
  const { modalities } = request as { modalities?: unknown };
  const isSound = Array.isArray(modalities) && modalities.includes("audio") && price?.audioOutputToken !== undefined;
  return isSound ? "audioOutputToken" : "outputToken";
}

/** The tokens of so much base64 of sound in an answer, for an estimate. */
export function estimateSound(request: ChatRequest, characters: number): Meters {
  if (characters === 0) return {};
  const { audio } = request as { audio?: { format?: unknown } | null };
  const isSampled = audio?.format === "pcm16" || audio?.format === "wav";
  const seconds = characters / (isSampled ? sampledCharactersPerSecond : encodedCharactersPerSecond);
  return { audioOutputToken: Math.ceil(seconds * outputTokensPerSecond) };
}

function soundsOf({ content }: ChatRequest["messages"][number]): InputAudio[] {
  return Array.isArray(content) ? content.filter((part) => part.type === "input_audio") : [];
}

/** The sound of a message or a delta, of which nothing is checked. */
export function getSound(message: object): { data?: unknown; transcript?: unknown } | undefined {
  const { audio } = message as { audio?: { data?: unknown; transcript?: unknown } | null };
  return audio ?? undefined;
}

/** What counts the sound of an answer, in characters of base64. */
interface SoundMeter {
  readonly output: { soundLength: number };
  produced: boolean;
}

/** Counts the sound that came with a message or a delta. Returns its words. */
export function countSound(meter: SoundMeter, message: object): unknown {
  const { data, transcript } = getSound(message) ?? {};
  if (typeof data === "string" && data !== "") {
    meter.output.soundLength += data.length;
    meter.produced = true;
  }
  return transcript;
}
