import {
  badRequest,
  type Call,
  type Handler,
  isRecord,
  type Model,
  type RequestOf,
  UpstreamError,
  warnOfOthers,
} from "modelgate/plugin";
import { readBase64 } from "../../src/lib/base64.ts";
import { joinWav } from "../../src/lib/wav.ts";
import { guessLanguageCode, toLanguageCode } from "./language.ts";

const translated = [
  "model",
  "input",
  "voice",
  "response_format",
  "speed",
  "target_language_code",
  "speech_sample_rate",
  "pace",
];

/** Text to speech: https://docs.sarvam.ai/api-reference-docs/text-to-speech/convert */
export const speech: Handler<"speech"> = async (call) => {
  return { audio: toWav(await call.upstream.json("/text-to-speech", toSpeechBody(call))) };
};

/**
 * Translates a request. Without a language it is that of the text's script. Voice, length and sample rate are
 * the kernel's to check, by the row.
 *
 * @throws {GatewayError} `invalid_request` when the model has no such language or pace.
 */
export function toSpeechBody({ request, model, warn }: Pick<Call<RequestOf<"speech">>, "request" | "model" | "warn">) {
  const { input, target_language_code: language, speech_sample_rate: sampleRate, voice: speaker } = request;
  const pace = toPace(request, model, warn);
  warnOfOthers(request, translated, warn);
  return {
    text: input,
    target_language_code: toLanguageCode(
      "target_language_code",
      language ?? guessLanguageCode(input, String(model.options?.languageDefault ?? "en-IN")),
      model.languages,
    ),
    model: model.upstreamId,
    ...(speaker !== null && speaker !== undefined && { speaker }),
    ...(pace !== undefined && { pace }),
    ...(sampleRate !== undefined && sampleRate !== null && { speech_sample_rate: sampleRate }),
    output_audio_codec: "wav",
  };
}

/**
 * The audio of an answer as one file; each of its parts is a whole WAV file of its own.
 *
 * @throws {UpstreamError} `bad_response` when there is none, or one cannot be read.
 */
export function toWav(answer: unknown): Uint8Array<ArrayBuffer> {
  const audios: unknown = isRecord(answer) ? answer.audios : undefined;
  if (!Array.isArray(audios) || audios.length === 0) {
    throw new UpstreamError("bad_response", "The provider's answer holds no audio");
  }
  return joinWav(audios.map(readBase64));
}

/** `pace` is Sarvam's own, so that its bounds are said; `speed` is OpenAI's with wider bounds, so that it is moved into them. */
function toPace(
  { pace, speed }: RequestOf<"speech">,
  model: Model,
  warn: Call<RequestOf<"speech">>["warn"],
): number | undefined {
  const { paceMin, paceMax } = { ...model.options };
  const min = typeof paceMin === "number" ? paceMin : Number.NEGATIVE_INFINITY;
  const max = typeof paceMax === "number" ? paceMax : Number.POSITIVE_INFINITY;
  if (pace !== undefined && pace !== null) {
    if (pace >= min && pace <= max) return pace;
    throw badRequest(`pace is ${pace}, but ${model.id} takes ${min} to ${max}`, "pace");
  }
  if (speed === undefined || speed === null) return undefined;
  const moved = Math.min(Math.max(speed, min), max);
  if (moved !== speed) warn(`Took speed ${moved} for ${speed}: the model takes ${min} to ${max}`, "speed");
  return moved;
}
