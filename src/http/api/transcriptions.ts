import { Type } from "@sinclair/typebox";
import { GatewayError, type Meters, sumPromptTokens, TokenUsage } from "../../contract/index.ts";
import {
  audioFileBytesMax,
  audioFormats,
  type Transcript,
  TranscriptionFields,
  type TranscriptionRequest,
  TranscriptSegment,
  TranscriptWord,
} from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, multipartBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { callHeaders, jsonReply, sseReplyOf } from "../lifecycle/respond.ts";
import { uploadedFile } from "../lifecycle/validate.ts";
import { responses } from "./openapi.ts";

const { model, ...otherFields } = TranscriptionFields.properties;
const fileDescription = "mp3, mp4, mpeg, mpga, m4a, wav or webm; at most 25 MB";
/** Formats of an answer; the two of subtitles are made here of the segments. */
const ResponseFormat = Type.Optional(
  Type.Union(["json", "text", "srt", "verbose_json", "vtt"].map((format) => Type.Literal(format))),
);
const Body = Type.Object({
  model: Type.Optional(model),
  ...otherFields,
  response_format: ResponseFormat,
  file: uploadedFile(fileDescription),
});

const Transcription = Type.Object({
  text: Type.String(),
  task: Type.Optional(Type.Union([Type.Literal("transcribe"), Type.Literal("translate")])),
  language: Type.Optional(Type.String()),
  duration: Type.Optional(Type.Number({ description: "Seconds" })),
  segments: Type.Optional(Type.Array(TranscriptSegment)),
  words: Type.Optional(Type.Array(TranscriptWord)),
  usage: Type.Optional(
    Type.Union([
      Type.Object({ type: Type.Literal("duration"), seconds: Type.Integer() }),
      Type.Object({
        type: Type.Literal("tokens"),
        ...TokenUsage.properties,
        input_token_details: Type.Object({ text_tokens: Type.Integer(), audio_tokens: Type.Integer() }),
      }),
    ]),
  ),
});

/** POST /audio/transcriptions: a multipart form in; JSON, plain text, verbose JSON or subtitles out. */
export function transcriptionsController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/audio/transcriptions",
        body: multipartBody(deps, Body, { capability: "transcription", modelDefault: model.default as string, toBody }),
        detail: {
          summary: "Speech to text",
          description: "With `stream: true` a `transcript.text.delta` event, then `transcript.text.done`.",
          tags: ["Calls"],
          responses: responses({
            "application/json": Transcription,
            "text/plain": Type.String(),
            "text/event-stream": Type.Unknown({ description: "transcript.text.delta, then transcript.text.done" }),
          }),
        },
      },
      async ({ call, body: { model: name = model.default as string, stream, response_format: format, ...fields } }) => {
        const request = toRequest({ ...fields, model: name }, format);
        const answer = executeCall(deps, call, { capability: "transcription", request });
        if (stream === true) return await sseReplyOf(deps, call, answer, (whole) => toEvents(whole, call.meters));
        return reply(deps, call, { transcript: await answer, request, format });
      },
    ),
  ];
}

const { language: _, stream: __, timestamp_granularities: ___, ...ofTranslation } = otherFields;
const TranslationBody = Type.Object({
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, default: "whisper-1" })),
  ...ofTranslation,
  response_format: ResponseFormat,
  file: uploadedFile(fileDescription),
});

const Translation = Type.Omit(Transcription, ["words"]);

/** POST /audio/translations: the same into English, also as subtitles, which are made here of the segments. */
export function translationsController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/audio/translations",
        body: multipartBody(deps, TranslationBody, { capability: "translation", toBody, modelDefault: "whisper-1" }),
        detail: {
          summary: "Speech in any language to English text",
          tags: ["Calls"],
          responses: responses({ "application/json": Translation, "text/plain": Type.String() }),
        },
      },
      async ({ call, body: { model: name = "whisper-1", response_format: format, ...fields } }) => {
        const request = toRequest({ ...fields, model: name }, format);
        const transcript = await executeCall(deps, call, { capability: "translation", request });
        return reply(deps, call, { transcript, request, format, others: { task: "translate", language: "english" } });
      },
    ),
  ];
}

/** The request for plugins: subtitles are made of what a verbose answer has. */
function toRequest(fields: Omit<TranscriptionRequest, "response_format">, format = "json"): TranscriptionRequest {
  const isShort = format === "json" || format === "text";
  return { ...fields, response_format: isShort ? format : "verbose_json" };
}

interface Transcribed {
  readonly transcript: Transcript;
  readonly request: TranscriptionRequest;
  readonly format: string | undefined;
  /** Fields of a verbose answer that differ. */
  readonly others?: object;
}

function reply(
  deps: HttpDeps,
  call: HttpCall,
  { transcript, request, format = "json", others }: Transcribed,
): Response | Promise<Response> {
  if (format === "json" || format === "verbose_json") {
    const json = toJson(transcript, request, call.meters);
    return jsonReply(deps, call, format === "json" ? json : { ...json, ...others });
  }
  const headers = callHeaders(call, deps.snapshot().sandbox, "text/plain; charset=utf-8");
  return new Response(format === "text" ? transcript.text : toSubtitles(transcript, request, format), { headers });
}

/** Subtitles, each for a segment. Without segments the whole text is one subtitle. */
function toSubtitles(transcript: Transcript, request: TranscriptionRequest, format: string): string {
  const end = transcript.duration ?? (request.audioMs ?? 0) / 1000;
  const segments = transcript.segments?.length ? transcript.segments : [{ start: 0, end, text: transcript.text }];
  const isVtt = format === "vtt";
  const cues = segments.map((segment, index) => {
    const times = `${toTime(segment.start, isVtt)} --> ${toTime(segment.end, isVtt)}`;
    return `${isVtt ? "" : `${index + 1}\n`}${times}\n${segment.text.trim()}\n`;
  });
  return `${isVtt ? "WEBVTT\n\n" : ""}${cues.join("\n")}`;
}

/** `00:01:02,500`, or with a point in WebVTT. */
function toTime(seconds: number, isVtt: boolean): string {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const pad = (value: number, digits = 2) => String(value).padStart(digits, "0");
  const [hours, minutes, rest] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, ms % 60_000];
  return `${pad(hours)}:${pad(minutes)}:${pad(Math.floor(rest / 1000))}${isVtt ? "." : ","}${pad(rest % 1000, 3)}`;
}

const knownFields = [...Object.keys(TranscriptionFields.properties), "timestamp_granularities[]", "file"];

/** The fields of the form with the types of the schema. */
function toBody(form: FormData): Record<string, unknown> {
  const file = form.get("file");
  if (!(file instanceof File)) {
    const message = "file is missing: send the audio as a file field of the form";
    throw new GatewayError("invalid_request", message, { param: "file" });
  }
  checkFile(file);
  const granularities = [...form.getAll("timestamp_granularities[]"), ...form.getAll("timestamp_granularities")];
  const unknownFields = [...new Set(form.keys())].filter((name) => !knownFields.includes(name)).slice(0, 20);
  const body: Record<string, unknown> = {
    file,
    timestamp_granularities: granularities,
    unknownFields,
  };
  for (const name of ["model", "language", "response_format", "prompt"]) {
    const value = form.get(name);
    if (typeof value === "string" && value !== "") body[name] = value;
  }
  const temperature = form.get("temperature");
  // Text that is not a number stays: the error shows it.
  if (typeof temperature === "string" && temperature !== "")
    body.temperature = Number.isNaN(Number(temperature)) ? temperature : Number(temperature);
  const stream = form.get("stream");
  if (stream !== null && stream !== "") body.stream = stream === "true" ? true : stream === "false" ? false : stream;
  return body;
}

function checkFile(file: File): void {
  if (file.size > audioFileBytesMax) {
    const message = `file has ${file.size} bytes, but at most ${audioFileBytesMax} (25 MB) are taken`;
    throw new GatewayError("payload_too_large", message, { param: "file" });
  }
  if (file.size === 0) throw new GatewayError("invalid_request", "file is empty", { param: "file" });
  const ending = file.name.includes(".") ? (file.name.split(".").at(-1) as string).toLowerCase() : "";
  if ((audioFormats as readonly string[]).includes(ending)) return;
  const message = `file is named '${file.name.slice(0, 100)}', but its ending must be one of: ${audioFormats.join(", ")}`;
  throw new GatewayError("invalid_request", message, { param: "file" });
}

/** The whole text as one event: no provider here sends it in pieces. */
function toEvents({ text }: Transcript, meters: Meters) {
  const usage = toUsage(meters);
  return [
    { type: "transcript.text.delta", delta: text },
    { type: "transcript.text.done", text, ...(usage && { usage }) },
  ];
}

/** The length or the tokens that are charged. */
function toUsage(meters: Meters) {
  const { audioMs, inputToken = 0, outputToken: output } = meters;
  if (audioMs !== undefined) return { type: "duration", seconds: Math.ceil(audioMs / 1000) };
  if (output === undefined) return undefined;
  const input = sumPromptTokens(meters);
  return {
    type: "tokens",
    input_tokens: input,
    input_token_details: { text_tokens: inputToken, audio_tokens: input - inputToken },
    output_tokens: output,
    total_tokens: input + output,
  };
}

function toJson(transcript: Transcript, request: TranscriptionRequest, meters: Meters) {
  const audioMs = meters.audioMs ?? request.audioMs;
  const seconds = transcript.duration ?? (audioMs === undefined ? undefined : audioMs / 1000);
  const usage = toUsage(meters);
  if (request.response_format !== "verbose_json") return { text: transcript.text, ...(usage && { usage }) };
  return {
    task: "transcribe",
    // A name or an ISO 639-1 code; some providers add a region.
    language: transcript.language?.toLowerCase().split("-")[0] ?? request.language ?? "unknown",
    duration: seconds,
    text: transcript.text,
    segments: transcript.segments ?? [],
    ...(transcript.words && { words: transcript.words }),
    ...(usage && { usage }),
  };
}
