import { type Static, Type } from "@sinclair/typebox";
import { Elysia, t } from "elysia";
import {
  audioFileBytesMax,
  audioFormats,
  GatewayError,
  type Meters,
  sumPromptTokens,
  TokenUsage,
  type Transcript,
  TranscriptionFields,
  type TranscriptionRequest,
  TranscriptSegment,
  TranscriptWord,
} from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { replyOnce } from "../lifecycle/idempotency.ts";
import { callHeaders, jsonReply } from "../lifecycle/respond.ts";
import { apiKeyRoutes, readFormCall } from "../lifecycle/routes.ts";
import { requestBody } from "../lifecycle/validate.ts";
import { sseReplyOf } from "../sse/reply.ts";
import { responses } from "./openapi.ts";

const { model, ...otherFields } = TranscriptionFields.properties;
const fileDescription = "mp3, mp4, mpeg, mpga, m4a, wav or webm; at most 25 MB";
const Body = requestBody(
  Type.Object({
    model: Type.Optional(model),
    ...otherFields,
    file: t.File({ description: fileDescription, default: undefined }),
  }),
);

const Transcription = Type.Object({
  text: Type.String(),
  task: Type.Optional(Type.Literal("transcribe")),
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

/** POST /audio/transcriptions: a multipart form in; JSON, plain text or verbose JSON out. */
export function transcriptionsController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/audio/transcriptions",
    replyOnce<Static<typeof Body>>(
      deps,
      async ({ call, body: { model: name = model.default as string, stream, ...fields } }) => {
        const request: TranscriptionRequest = { ...fields, model: name };
        const answer = executeCall(deps, call, { capability: "transcription", request });
        if (stream === true) return await sseReplyOf(deps, call, answer, (whole) => toEvents(whole, call.meters));
        const transcript = await answer;
        if (request.response_format !== "text") return jsonReply(deps, call, toJson(transcript, request, call.meters));
        const headers = callHeaders(call, deps.snapshot().sandbox, "text/plain; charset=utf-8");
        return new Response(transcript.text, { headers });
      },
    ),
    {
      parse: [
        readFormCall(deps, { capability: "transcription", modelDefault: model.default as string, toBody }),
        "formdata",
      ],
      body: Body,
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
  );
}

const knownFields = [...Object.keys(TranscriptionFields.properties), "timestamp_granularities[]", "file"];

/** The fields of the form with the types of the schema. */
function toBody(form: FormData): Record<string, unknown> {
  const file = form.get("file");
  if (!(file instanceof File)) {
    const sentence = "file is missing: send the audio as a file field of the form";
    throw new GatewayError("invalid_request", sentence, { param: "file" });
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
  // Text that is not a number stays, so that the error shows it.
  if (typeof temperature === "string" && temperature !== "")
    body.temperature = Number.isNaN(Number(temperature)) ? temperature : Number(temperature);
  const stream = form.get("stream");
  if (stream !== null && stream !== "") body.stream = stream === "true" ? true : stream === "false" ? false : stream;
  return body;
}

function checkFile(file: File): void {
  if (file.size > audioFileBytesMax) {
    const sentence = `file has ${file.size} bytes, but at most ${audioFileBytesMax} (25 MB) are taken`;
    throw new GatewayError("payload_too_large", sentence, { param: "file" });
  }
  if (file.size === 0) throw new GatewayError("invalid_request", "file is empty", { param: "file" });
  const ending = file.name.includes(".") ? (file.name.split(".").at(-1) as string).toLowerCase() : "";
  if ((audioFormats as readonly string[]).includes(ending)) return;
  const sentence = `file is named '${file.name.slice(0, 100)}', but its ending must be one of: ${audioFormats.join(", ")}`;
  throw new GatewayError("invalid_request", sentence, { param: "file" });
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
