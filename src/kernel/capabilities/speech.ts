import { GatewayError, getBasicMeters, type Meters, toTokenMeters, UpstreamError } from "../../contract/index.ts";
import { writeWavHead } from "../../lib/wav.ts";
import {
  type Call,
  getDisplayName,
  type Model,
  type ProviderPlugin,
  type Speech,
  type SpeechFormat,
  SpeechRequest,
} from "../../provider/index.ts";
import {
  AudioFile,
  type AudioFileOptions,
  expectSameFormat,
  type WavFormat,
  wavHeaderBytes,
} from "../audio/audio-file.ts";
import { withFailover } from "../failover.ts";
import { boundText, textPieces, tokensMax } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import type { ModelEntry } from "../routing/registry.ts";
import { type BegunStream, begin, pump, StreamReader } from "../streaming.ts";
import type { CapabilityHandler } from "../types.ts";
import { usualTokensPerSecond } from "./chat.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Tokens of audio: Gemini counts 32 for a second, OpenAI 20. */
const audioTokensPerSecond = 32;
/** Slower than anyone speaks, in any script; and the pauses of a short text. */
const secondsPerCharacterMax = 0.5;
const secondsMin = 60;
/** Tokens that a provider counts on top of the words of a prompt. */
const extraTokens = 64;
/** 128 kbit/s. */
const encodedBytesPerSecond = 16_000;
/** Speech at an ordinary pace, for a file that does not say how long it is. */
const charactersPerSecond = 15;

/** Maximum number of parts a longer text is split into; they are spoken in sequence. */
const partsMax = 50;
/** The voices that examples and SDKs of OpenAI name, whatever the model. */
const openaiVoices = [
  "alloy",
  "ash",
  "ballad",
  "cedar",
  "coral",
  "echo",
  "fable",
  "marin",
  "nova",
  "onyx",
  "sage",
  "shimmer",
  "verse",
];

/** The audio of one part of the text, which has begun. */
interface Sound {
  stream: BegunStream<Bytes>;
  charactersPerByte: number;
  bytesPerSecond: number;
  readUsage?: Speech["readUsage"];
  /** Known where the parts are joined. */
  format?: WavFormat | undefined;
}

export const speechCapability: CapabilityHandler<"speech"> = {
  validate({ request, modelEntry: { model } }) {
    checkLength(request, model);
    if (!isOpenaiVoice(request.voice)) checkOneOf("voice", request.voice, model.voices, model);
    checkOneOf("target_language_code", request.target_language_code, model.languages, model);
    checkOneOf("speech_sample_rate", request.speech_sample_rate, model.sampleRates, model);
  },

  upperBound({ request, modelEntry }) {
    const { model } = modelEntry;
    const parts = splitText(request.input, model.inputCharactersMax ?? Number.POSITIVE_INFINITY).length;
    return {
      upper: isByToken(model) ? toMost(request, model, parts) : toMeters(request, counterOf(modelEntry)),
      parts,
    };
  },
  promptTokens: ({ request }) => boundText(request, SpeechRequest),
  toReport: ({ modelEntry: { model } }, usage) => (isByToken(model) ? toReported(usage) : undefined),

  /**
   * Speech that broke off costs the characters, or the audio, spoken up to that point. A part of the text without any
   * audio costs all its characters if it was answered, or cut by the client or the gateway. For a price by token, a
   * call without any audio counts by the time that the provider worked on it.
   */
  async estimate(run) {
    const { request, modelEntry, usageMeter } = run;
    const { model } = modelEntry;
    const { length } = usageMeter.output;
    if (isByToken(model)) {
      const { cutAfterMs = 0, owedRequests, bounds } = run;
      const isUnheard = length === 0 && owedRequests.length > 0;
      const made = isUnheard ? Math.ceil((cutAfterMs / 1000) * usualTokensPerSecond) : length;
      return {
        inputToken: await countPieces(textPieces(request, SpeechRequest), true),
        audioOutputToken: Math.min(made, bounds.upper.audioOutputToken ?? made),
      };
    }
    // A part is a request. Of one without audio so far all is owed, which the provider has to speak.
    const parts = splitText(request.input, model.inputCharactersMax ?? Number.POSITIVE_INFINITY);
    const requested = parts.slice(0, run.owedRequests.length).map(counterOf(modelEntry));
    const last = requested.pop() ?? 0;
    const before = requested.reduce((sum, characters) => sum + characters, 0);
    return { character: length > before ? length : Math.max(length, before + last) };
  },

  async execute(kernel, run) {
    const { request, usageMeter, sink } = run;
    if (sink === undefined) throw new TypeError("There is no sink to send the audio to");
    const { model } = run.modelEntry;
    const count = counterOf(run.modelEntry);
    const format = chooseSpeechFormat(request, model);
    const parts = splitText(request.input, model.inputCharactersMax ?? Number.POSITIVE_INFINITY);
    const { opened, speak } = await withFailover(kernel, run, {
      requestFor: (model) => toPluginRequest(request, model, format),
      async run(plugin, pluginCall) {
        if (request.voice && pluginCall.request.voice !== request.voice)
          pluginCall.warn(`Used the default voice instead of ${request.voice}, which the model does not have`, "voice");
        if (request.response_format && request.response_format !== format)
          pluginCall.warn(
            `Returned ${format}: the model does not support ${request.response_format}`,
            "response_format",
          );
        const speak = createSpeaker(plugin, pluginCall, { format, isSamples: format === "pcm" || parts.length > 1 });
        return { opened: await speak(parts[0] as string), speak };
      },
    });
    usageMeter.produced = true;
    let [total, spoken, seconds] = [0, 0, 0];
    const usages: (Record<string, unknown> | undefined)[] = [];
    const write = (bytes: Bytes) => {
      total += bytes.length;
      if (total > kernel.network.bounds.streamBytesMax)
        throw new UpstreamError("bad_response", "The provider's audio exceeds the size limit", { isOfRequest: true });
      return sink.write(bytes);
    };
    sink.open();
    if (parts.length > 1 && format !== "pcm") await write(writeWavHead(opened.format as WavFormat));
    for (const [index, part] of parts.entries()) {
      const sound = index === 0 ? opened : await speak(part);
      if (index > 0) expectSameFormat(opened.format as WavFormat, sound.format as WavFormat);
      const all = count(part);
      let bytes = 0;
      const take = (piece: Bytes) => {
        if (piece.length === 0) return undefined;
        if (total > 0) run.call.throwIfCancelled();
        bytes += piece.length;
        seconds += piece.length / sound.bytesPerSecond;
        usageMeter.output.length = isByToken(model)
          ? Math.ceil(seconds * audioTokensPerSecond)
          : spoken + Math.min(all, Math.ceil(bytes * sound.charactersPerByte));
        return write(piece);
      };
      await pump(sound.stream, take);
      spoken += all;
      if (!isByToken(model)) usageMeter.output.length = spoken;
      usages.push(sound.readUsage?.());
    }
    const meters = isByToken(model) ? sumMeters(usages.map(toReported)) : toMeters(request, count);
    if (meters !== undefined) usageMeter.report(meters, ...usages);
    usageMeter.complete = true;
    return undefined;
  },
};

/**
 * The format to make. It is WAV if the model does not make the requested format, because some clients request MP3 by
 * default.
 */
export function chooseSpeechFormat(
  { response_format: requested }: SpeechRequest,
  { audioFormats }: Model,
): SpeechFormat {
  if (!requested || requested === "pcm") return requested || "wav";
  return audioFormats?.includes(requested) ? requested : "wav";
}

/** Speaks one part of the text after the other through the same route. It waits until the audio of a part begins. */
function createSpeaker(plugin: ProviderPlugin, call: Call<SpeechRequest>, options: AudioFileOptions) {
  return async (input: string): Promise<Sound> => {
    const request = { ...call.request, input };
    const speech = await plugin.handlers.speech?.({ ...call, request });
    if (speech === undefined) throw new TypeError(`Plugin '${plugin.name}' has no speech handler`);
    const file = new AudioFile(speech.audio, options);
    const stream = await begin(new StreamReader(file), () => true);
    return {
      stream,
      charactersPerByte: file.isWhole ? Number.POSITIVE_INFINITY : getCharactersPerByte(request, file.head),
      bytesPerSecond: getBytesPerSecond(file.head, options.format),
      ...(speech.readUsage && { readUsage: () => speech.readUsage?.() }),
      format: file.wavFormat,
    };
  };
}

/** A text that is too long for the model is spoken in parts, if those can be joined and are not too many. */
function checkLength(request: SpeechRequest, model: Model): void {
  const { input } = request;
  const format = chooseSpeechFormat(request, model);
  const max = model.inputCharactersMax;
  if (max === undefined || countCharacters(input) <= max) return;
  const has = `input has ${countCharacters(input)} characters, but ${getDisplayName(model)} takes at most ${max}`;
  if (format !== "wav" && format !== "pcm")
    throw invalid("input", `${has} as ${format}; send it in parts, or request wav or pcm`);
  if (splitText(input, max).length > partsMax)
    throw invalid("input", `${has} at once and ${partsMax} parts of that; send less`);
}

/**
 * The characters that a byte of the answer speaks: by the size that the header of the file says, otherwise by the time
 * that the byte plays. Infinite when neither is known.
 */
function getCharactersPerByte(request: SpeechRequest, first: Bytes): number {
  if (first.length < wavHeaderBytes) return Number.POSITIVE_INFINITY;
  const header = new DataView(first.buffer, first.byteOffset, wavHeaderBytes);
  const [fileBytes, bytesPerSecond] = [header.getUint32(4, true) + 8, header.getUint32(28, true)];
  // Encoders that stream write a size of nothing, or the largest there is.
  if (fileBytes > wavHeaderBytes && fileBytes < 2 ** 31) return countCharacters(request.input) / fileBytes;
  return (charactersPerSecond * (request.pace ?? request.speed ?? 1)) / bytesPerSecond;
}

function isOpenaiVoice(voice: string | null | undefined): boolean {
  return typeof voice === "string" && openaiVoices.includes(voice);
}

/** The request as a plugin gets it: with a voice that the model has, and in a format that it makes. */
function toPluginRequest(request: SpeechRequest, model: Model, format: SpeechFormat): SpeechRequest {
  const { voice, response_format: requested, ...rest } = request;
  const isForeign = isOpenaiVoice(voice) && model.voices !== undefined && !model.voices.includes(voice as string);
  const own = voice && !isForeign ? voice : model.voiceDefault;
  return {
    ...rest,
    ...(own !== undefined && { voice: own }),
    ...(requested && { response_format: format === "pcm" ? "wav" : format }),
  };
}

function toMeters(request: SpeechRequest, count: (text: string) => number): Meters {
  return { character: count(request.input) };
}

/** Counts characters as the providers of a model charge for them: where they differ, as the one that counts most. */
function counterOf({ routes }: ModelEntry): (text: string) => number {
  const counters = routes.map(({ plugin }) => plugin.handlers.speech?.countCharacters ?? countCharacters);
  return (text) => counters.reduce((most, count) => Math.max(most, count(text)), 0);
}

function checkOneOf<T>(
  param: string,
  value: T | null | undefined,
  allowed: readonly T[] | undefined,
  model: Model,
): void {
  if (value === undefined || value === null || allowed === undefined || allowed.includes(value)) return;
  throw invalid(param, `${param} is '${value}', but ${getDisplayName(model)} takes: ${allowed.join(", ")}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

/** Whether speech of this model is charged by tokens, not by characters. */
const isByToken = ({ price }: Model) => !getBasicMeters("speech", price).includes("character");

/**
 * The most tokens of a text that is spoken in a number of parts. Each part carries the same instructions, in whatever
 * fields.
 */
function toMost(request: SpeechRequest, { outputTokensMax }: Model, parts: number): Meters {
  const { input, ...others } = request;
  const pace = Math.min(1, request.speed ?? 1, request.pace ?? 1);
  const seconds = secondsMin * parts + (countCharacters(input) * secondsPerCharacterMax) / pace;
  const tokens = Math.ceil(seconds * audioTokensPerSecond);
  return {
    inputToken: tokensMax(input) + parts * (boundText(others, SpeechRequest) + extraTokens),
    audioOutputToken: outputTokensMax === undefined ? tokens : Math.min(tokens, parts * outputTokensMax),
  };
}

const toReported = (usage: unknown) => toTokenMeters(usage, { input: "text_tokens", output: "audio_tokens" });

/** The sum of all parts, or `undefined` when one is unknown. */
function sumMeters(parts: (Meters | undefined)[]): Meters | undefined {
  const sum: Meters = {};
  for (const part of parts) {
    if (part === undefined) return undefined;
    for (const [name, amount] of Object.entries(part) as [keyof Meters, number][])
      sum[name] = (sum[name] ?? 0) + amount;
  }
  return sum;
}

/** How much audio a byte is: by the header of a WAV file, which the provider wrote; otherwise by an ordinary bitrate. */
function getBytesPerSecond(first: Uint8Array<ArrayBuffer>, format: SpeechFormat): number {
  const isWav = (format === "wav" || format === "pcm") && first.length >= wavHeaderBytes;
  const byteRate = isWav ? new DataView(first.buffer, first.byteOffset, wavHeaderBytes).getUint32(28, true) : 0;
  return byteRate > 0 ? byteRate : encodedBytesPerSecond;
}

/** Characters as they are billed: Unicode code points. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** After these a sentence ends where a space follows; the others end one by themselves. */
const sentenceEnds = ".!?…؟।";
const wideSentenceEnds = "。！？\n";

/**
 * Splits a text into parts of at most so many characters (code points): between sentences if possible, else between
 * words. Joined they are the text. Parts of nothing but spaces are left out.
 */
export function splitText(text: string, charactersMax: number): string[] {
  const characters = Array.from(text);
  if (characters.length <= charactersMax) return [text];
  const parts: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const end =
      at + charactersMax < characters.length ? findEnd(characters, at, at + charactersMax) : characters.length;
    parts.push(characters.slice(at, end).join(""));
    at = end;
  }
  const spoken = parts.filter((part) => part.trim() !== "");
  return spoken.length === 0 ? parts.slice(0, 1) : spoken;
}

/** Finds the end of a part that begins at `from` and ends at `to` or earlier. */
function findEnd(characters: readonly string[], from: number, to: number): number {
  let word: number | undefined;
  for (let end = to; end > from; end--) {
    const [before, next] = [characters[end - 1] as string, characters[end] as string];
    const isSpace = /\s/.test(next);
    if (wideSentenceEnds.includes(before) || (isSpace && sentenceEnds.includes(before))) return end;
    if (isSpace) word ??= end;
  }
  return word ?? to;
}
