import { type AnswerOf, type Handler, isRecord, type RequestOf, UpstreamError } from "modelgate/plugin";
import type { TranscriptWord } from "../../src/provider/index.ts";
import { toLanguageCode } from "./language.ts";

/** Speech to text; the kernel has held its length to the row already: https://docs.sarvam.ai/api-reference-docs/speech-to-text/transcribe */
export const transcription: Handler<"transcription"> = async (call) => {
  const { request, model, upstream } = call;
  const { file } = request;
  const form = new FormData();
  form.append("file", file, file.name);
  form.append("model", model.upstreamId);
  if (request.language !== undefined) {
    form.append("language_code", toLanguageCode("language", request.language, model.languages));
  }
  // Only the times say how long the provider listened.
  form.append("with_timestamps", "true");
  for (const field of ["prompt", "temperature"] as const) {
    if (request[field] !== undefined) call.warn(`Left out ${field}: the provider does not take it`, field);
  }
  return toTranscript(await upstream.form("/speech-to-text", form), request);
};

/**
 * Converts an answer to a transcript. The provider times sentences and phrases rather than words, so its entries become
 * segments; words are returned only if each entry is one word. The length is the end of the last entry, or the length
 * of the file if that is more: the provider is paid for silence too.
 *
 * @throws {UpstreamError} `bad_response` when there is no text in it.
 */
export function toTranscript(
  answer: unknown,
  { audioMs, timestamp_granularities: granularities = [] }: Omit<RequestOf<"transcription">, "file" | "model">,
): AnswerOf<"transcription"> {
  if (!isRecord(answer) || typeof answer.transcript !== "string") {
    throw new UpstreamError("bad_response", "The provider's answer holds no transcript");
  }
  const transcript: AnswerOf<"transcription"> = { text: answer.transcript };
  if (typeof answer.language_code === "string") transcript.language = answer.language_code;
  const pieces = toPieces(answer.timestamps);
  if (pieces.length === 0) return transcript;
  transcript.segments = pieces.map(({ word: text, start, end }, id) => ({
    id,
    seek: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 0,
    no_speech_prob: 0,
  }));
  if (granularities.includes("word") && pieces.every(({ word }) => !/\s/.test(word))) transcript.words = pieces;
  const fileSeconds = audioMs === undefined ? 0 : audioMs / 1000;
  transcript.duration = Math.max(fileSeconds, ...pieces.map(({ end }) => end));
  return transcript;
}

/** The three parallel arrays as one; entries without a time are left out. */
function toPieces(timestamps: unknown): TranscriptWord[] {
  if (!isRecord(timestamps)) return [];
  const { words, start_time_seconds: starts, end_time_seconds: ends } = timestamps;
  if (!Array.isArray(words) || !Array.isArray(starts) || !Array.isArray(ends)) return [];
  return words.flatMap((text: unknown, index): TranscriptWord[] => {
    const [start, end]: unknown[] = [starts[index], ends[index]];
    if (typeof text !== "string" || typeof start !== "number" || typeof end !== "number") return [];
    return [{ word: text.trim(), start, end }];
  });
}
