import { fromIterable, type Handler, streamWav, UpstreamError, warnOfOthers } from "modelgate/plugin";
import { getOwn } from "../../src/contract/index.ts";
import { boundSpeed, nearestSampleRate } from "../../src/protocols/speech-settings.ts";
import { voices } from "./voices.ts";

const translated = [
  "model",
  "input",
  "voice",
  "response_format",
  "stream_format",
  "speed",
  "target_language_code",
  "speech_sample_rate",
];
/** Sample rates that every plan offers. */
const sampleRates = [8000, 16_000, 22_050, 24_000] as const;
const sampleRateDefault = 24_000;
const compressed: Readonly<Record<string, string>> = { mp3: "mp3_44100_128", opus: "opus_48000_128" };
const speeds = [0.7, 1.2] as const;

/** Text to speech, as it is made: https://elevenlabs.io/docs/api-reference/text-to-speech/stream */
export const speech: Handler<"speech"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, translated, warn);
  const { input, voice, response_format: format, target_language_code: language } = request;
  const name = voice ?? model.voiceDefault ?? "";
  const sampleRate = nearestSampleRate(sampleRates, request.speech_sample_rate ?? sampleRateDefault);
  const file = compressed[format ?? "wav"];
  const speed = boundSpeed({ request, warn }, speeds);
  const body = {
    text: input,
    model_id: model.upstreamId,
    ...(language !== undefined && language !== null && { language_code: language.split("-")[0] }),
    ...(speed !== undefined && { voice_settings: { speed } }),
  };
  // A voice of the operator's own is named by its id.
  const path = `/text-to-speech/${encodeURIComponent(getOwn(voices, name.toLowerCase()) ?? name)}/stream`;
  const { mediaType, chunks } = await upstream.bytes(`${path}?output_format=${file ?? `pcm_${sampleRate}`}`, body);
  if (!/^(audio\/|application\/octet-stream)/.test(mediaType)) {
    throw new UpstreamError("bad_response", `The provider answered speech with ${mediaType}`);
  }
  const isSamples = file === undefined;
  return {
    audio: isSamples ? streamWav(chunks, { sampleRate, channels: 1, bitsPerSample: 16 }) : fromIterable(chunks),
  };
};
