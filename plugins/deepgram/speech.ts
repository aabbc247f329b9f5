import {
  badRequest,
  fromIterable,
  type Handler,
  type Model,
  type RequestOf,
  streamWav,
  UpstreamError,
  warnOfOthers,
} from "modelgate/plugin";

const translated = ["model", "input", "voice", "response_format", "stream_format", "speech_sample_rate"];
const sampleRateDefault = 24_000;
/** The query parameters of each compressed format. */
const encodings: Readonly<Record<string, string>> = {
  mp3: "encoding=mp3",
  opus: "encoding=opus&container=ogg",
  aac: "encoding=aac",
  flac: "encoding=flac",
};

/** Text to speech: https://developers.deepgram.com/reference/text-to-speech/speak-request */
export const speech: Handler<"speech"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, translated, warn);
  const { input, response_format: format, speech_sample_rate: requestedRate } = request;
  const sampleRate = requestedRate ?? sampleRateDefault;
  const encoding = encodings[format ?? "wav"];
  const query = encoding ?? `encoding=linear16&container=none&sample_rate=${sampleRate}`;
  const body = { text: input };
  const { mediaType, chunks } = await upstream.bytes(`/speak?model=${toVoice(request, model)}&${query}`, body);
  if (!/^(audio\/|application\/octet-stream)/.test(mediaType)) {
    throw new UpstreamError("bad_response", `The provider answered speech with ${mediaType}`);
  }
  const isSamples = encoding === undefined;
  return {
    audio: isSamples ? streamWav(chunks, { sampleRate, channels: 1, bitsPerSample: 16 }) : fromIterable(chunks),
  };
};

/**
 * Returns the provider's name of a voice, which includes the model and the language: `aura-2-thalia-en`.
 *
 * @throws {GatewayError} `invalid_request` when the model has no such voice.
 */
export function toVoice({ voice }: RequestOf<"speech">, { id, upstreamId, voices = [], voiceDefault }: Model): string {
  const name = voice ?? voiceDefault ?? "";
  if (voices.includes(name)) return `${upstreamId}-${name}`;
  throw badRequest(`voice is ${JSON.stringify(name)}, but ${id} has ${voices.join(", ")}`, "voice");
}
