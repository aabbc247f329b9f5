import { type AnswerOf, type Handler, isRecord, type RequestOf, UpstreamError } from "modelgate/plugin";
import type { TranscriptWord } from "../../src/provider/index.ts";

/** Speech to text: https://elevenlabs.io/docs/api-reference/speech-to-text/convert */
export const transcription: Handler<"transcription"> = async ({ request, model, upstream, warn }) => {
  const form = new FormData();
  form.append("model_id", model.upstreamId);
  form.append("file", request.file, request.file.name);
  form.append("tag_audio_events", "false");
  form.append("timestamps_granularity", "word");
  if (request.language !== undefined) form.append("language_code", request.language.split("-")[0] as string);
  if (request.temperature !== undefined) form.append("temperature", String(request.temperature));
  if (request.prompt !== undefined) warn("Left out prompt: the provider does not take it", "prompt");
  return toTranscript(await upstream.form("/speech-to-text", form), request);
};

/**
 * The provider does not say how long it listened: that is the end of the last word, or what the file says where that is more.
 *
 * @throws {UpstreamError} `bad_response` when there is no text in it.
 */
function toTranscript(answer: unknown, request: RequestOf<"transcription">): AnswerOf<"transcription"> {
  if (!isRecord(answer) || typeof answer.text !== "string") {
    throw new UpstreamError("bad_response", "The provider's answer holds no transcript");
  }
  const transcript: AnswerOf<"transcription"> = { text: answer.text };
  if (typeof answer.language_code === "string") transcript.language = answer.language_code;
  const words = Array.isArray(answer.words) ? answer.words.flatMap(toWord) : [];
  if (request.timestamp_granularities?.includes("word")) transcript.words = words;
  const { audioMs = 0 } = request;
  const seconds = Math.max(audioMs / 1000, ...words.map(({ end }) => end));
  if (seconds > 0) transcript.duration = seconds;
  return transcript;
}

function toWord(entry: unknown): TranscriptWord[] {
  if (!isRecord(entry) || entry.type !== "word") return [];
  const { text, start, end } = entry;
  return typeof text === "string" && typeof start === "number" && typeof end === "number"
    ? [{ word: text, start, end }]
    : [];
}
