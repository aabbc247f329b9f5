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
 * Translates a request. If it names no language, the script of the text decides. The kernel checks voice, length and
 * sample rate by the row.
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
 * Joins the audio of an answer into one file; each of its parts is a whole WAV file.
 *
 * @throws {UpstreamError} `bad_response` when there is no audio, or a part cannot be read.
 */
export function toWav(answer: unknown): Uint8Array<ArrayBuffer> {
  const audios: unknown = isRecord(answer) ? answer.audios : undefined;
  if (!Array.isArray(audios) || audios.length === 0) {
    throw new UpstreamError("bad_response", "The provider's answer holds no audio");
  }
  return joinWav(audios.map(readBase64));
}

/**
 * Chooses the pace. `pace` is Sarvam's own field, so a value out of bounds is refused. `speed` is OpenAI's and has
 * wider bounds, so it is moved into Sarvam's.
 */
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
  if (moved !== speed) warn(`Used speed ${moved} instead of ${speed}: the model accepts ${min} to ${max}`, "speed");
  return moved;
}
