import { type AnswerOf, type Handler, isRecord, UpstreamError } from "modelgate/plugin";
import type { TranscriptWord } from "../../src/provider/index.ts";

/** Speech to text: the file is the body, all else is in the query. https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded */
export const transcription: Handler<"transcription"> = async (call) => {
  const { request, model, upstream } = call;
  const query = new URLSearchParams({ model: model.upstreamId, smart_format: "true" });
  if (request.language === undefined) query.set("detect_language", "true");
  else query.set("language", request.language);
  for (const field of ["prompt", "temperature"] as const) {
    if (request[field] !== undefined) call.warn(`Left out ${field}: the provider does not take it`, field);
  }
  const wantsWords = request.timestamp_granularities?.includes("word") === true;
  return toTranscript(await upstream.form(`/listen?${query}`, request.file), wantsWords);
};

/**
 * Reads the best alternative of the first channel.
 *
 * @throws {UpstreamError} `bad_response` when the answer has no transcript.
 */
function toTranscript(answer: unknown, wantsWords: boolean): AnswerOf<"transcription"> {
  const results = isRecord(answer) ? answer.results : undefined;
  const [channel]: unknown[] = isRecord(results) && Array.isArray(results.channels) ? results.channels : [];
  const [best]: unknown[] = isRecord(channel) && Array.isArray(channel.alternatives) ? channel.alternatives : [];
  if (!isRecord(channel) || !isRecord(best) || typeof best.transcript !== "string") {
    throw new UpstreamError("bad_response", "The provider's answer holds no transcript");
  }
  const { metadata } = answer as { metadata?: unknown };
  const transcript: AnswerOf<"transcription"> = { text: best.transcript };
  if (isRecord(metadata) && typeof metadata.duration === "number") transcript.duration = metadata.duration;
  if (typeof channel.detected_language === "string") transcript.language = channel.detected_language;
  if (wantsWords && Array.isArray(best.words)) transcript.words = best.words.flatMap(toWord);
  return transcript;
}

function toWord(entry: unknown): TranscriptWord[] {
  if (!isRecord(entry)) return [];
  const { punctuated_word: shown, word = shown, start, end } = entry;
  if (typeof word !== "string" || typeof start !== "number" || typeof end !== "number") return [];
  return [{ word: typeof shown === "string" ? shown : word, start, end }];
}
