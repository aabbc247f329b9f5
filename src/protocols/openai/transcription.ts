import { UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { Call, Transcript, TranscriptionRequest, TranscriptSegment } from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { resolveOptions, type TranscriptionOptions } from "./request.ts";

/** The transcription handler of a provider that speaks OpenAI's dialect. */
export function transcriptionHandler(options: TranscriptionOptions) {
  return async (call: Call<TranscriptionRequest>): Promise<Transcript> => {
    const form = toForm(call, resolveOptions(options, call.model));
    return toTranscript(await call.upstream.form("/audio/transcriptions", form));
  };
}

/** Transcribes audio and translates it into English. */
export function translationHandler(options: TranscriptionOptions) {
  return async (call: Call<TranscriptionRequest>): Promise<Transcript> => {
    const form = toForm(call, resolveOptions(options, call.model));
    return toTranscript(await call.upstream.form("/audio/translations", form));
  };
}

/** The form to send. It always asks for `verbose_json`: only the provider can be trusted with the length that is paid for. */
function toForm(call: Call<TranscriptionRequest>, options: TranscriptionOptions): FormData {
  const { file, language, prompt, temperature } = call.request;
  const granularities = call.request.timestamp_granularities ?? [];
  const { omit = [], rename = {}, extra = {}, verbose = true } = options;
  const form = new FormData();
  const put = (field: string, value: string | undefined) => {
    if (value === undefined) return;
    if (omit.includes(field)) call.warn(`Left out ${field}: the provider does not take it`, field);
    else form.append(rename[field] ?? field, value);
  };
  form.append("file", file, file.name);
  form.append("model", call.model.upstreamId);
  if (!omit.includes("response_format")) put("response_format", verbose ? "verbose_json" : "json");
  put("language", language?.split("-")[0]?.toLowerCase());
  put("prompt", prompt);
  put("temperature", temperature?.toString());
  if (verbose) for (const granularity of granularities) put("timestamp_granularities[]", granularity);
  for (const [field, value] of Object.entries(extra)) form.append(field, String(value));
  return form;
}

/**
 * The transcript of an answer.
 *
 * @throws {UpstreamError} When the answer holds an error or no text.
 */
export function toTranscript(answer: unknown): Transcript {
  if (!isRecord(answer) || typeof answer.text !== "string") throw classifyError(answer);
  const usage = isRecord(answer.usage) ? answer.usage : {};
  const { language, segments, words } = answer;
  const transcript: Transcript = { text: answer.text };
  const duration = [answer.duration, usage.seconds, usage.prompt_audio_seconds]
    .map(toSeconds)
    .find((seconds) => seconds !== undefined);
  if (duration !== undefined) transcript.duration = duration;
  if (typeof language === "string") transcript.language = language;
  if (Array.isArray(segments)) transcript.segments = segments.map(toSegment);
  if (Array.isArray(words)) transcript.words = words;
  if (usage.type === "tokens") transcript.usage = usage;
  return transcript;
}

/** Seconds as a number; OpenAI has sent them as text too. */
function toSeconds(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : undefined;
}

function toSegment(segment: unknown, index: number): TranscriptSegment {
  if (!isRecord(segment))
    throw new UpstreamError("bad_response", `Segment ${index} of the provider's transcript is not an object`);
  const blank = { id: index, seek: 0, start: 0, end: 0, text: "", tokens: [], temperature: 0 };
  return { ...blank, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0, ...segment };
}
