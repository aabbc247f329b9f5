import { Value } from "@sinclair/typebox/value";
import { Elysia } from "elysia";
import {
  audioFileBytesMax,
  audioFormats,
  GatewayError,
  TranscribeFields,
  type TranscribeRequest,
  type Transcript,
} from "../contract/index.ts";
import { readAudioMs } from "../kernel/index.ts";
import { authenticated, callerOf } from "./authenticate.ts";
import { answers } from "./describe.ts";
import { explain } from "./explain.ts";
import type { HttpGround } from "./ground.ts";
import { putProgress } from "./headers.ts";
import { begin, type ResponseHeaders, run } from "./run.ts";
import { TranscriptionAnswer, TranscriptionForm } from "./transcription-shapes.ts";

/** POST /audio/transcriptions: a multipart form in; JSON, plain text or verbose JSON out. */
export function transcriptionsController(ground: HttpGround) {
  return new Elysia().use(authenticated(ground.authenticate)).post(
    "/audio/transcriptions",
    async ({ body, request, set }) => {
      const caller = await callerOf(request, ground.authenticate);
      const headers = set.headers as ResponseHeaders;
      const progress = begin(ground, headers, request);
      const order = await readRequest(body);
      const transcript = await run(ground, { capability: "transcribe", caller, request: order, progress });
      putProgress(headers, progress, ground.sandbox);
      if (order.response_format !== "text") return toJson(transcript, order, progress.meters.audioMs);
      headers["content-type"] = "text/plain; charset=utf-8";
      return new Response(transcript.text);
    },
    {
      detail: {
        summary: "Speech to text",
        tags: ["Models at work"],
        requestBody: { required: true, content: { "multipart/form-data": { schema: TranscriptionForm as never } } },
        responses: answers(TranscriptionAnswer),
      },
    },
  );
}

async function readRequest(body: unknown): Promise<TranscribeRequest> {
  if (!(body instanceof FormData)) {
    throw new GatewayError("invalid_request", "The body is not multipart/form-data, which is how a file is sent here");
  }
  const file = body.get("file");
  if (!(file instanceof File)) {
    throw new GatewayError("invalid_request", "file is missing: send the audio as a file field of the form", {
      param: "file",
    });
  }
  checkFile(file);
  const fields = readFields(body);
  const audioMs = await readAudioMs(file);
  return { ...fields, file, ...(audioMs !== undefined && { audioMs }) };
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

/** The form's text fields, made typed by the schema. */
function readFields(form: FormData): TranscribeFields {
  const granularities = [...form.getAll("timestamp_granularities[]"), ...form.getAll("timestamp_granularities")];
  const fields: Record<string, unknown> = { timestamp_granularities: granularities };
  for (const name of ["model", "language", "response_format", "prompt"]) {
    const value = form.get(name);
    if (typeof value === "string" && value !== "") fields[name] = value;
  }
  const temperature = form.get("temperature");
  if (typeof temperature === "string" && temperature !== "") fields.temperature = Number(temperature);
  const filled = Value.Default(TranscribeFields, fields);
  const [first] = Value.Errors(TranscribeFields, filled);
  if (first !== undefined) throw explain(first);
  return filled as TranscribeFields;
}

function toJson(transcript: Transcript, request: TranscribeRequest, audioMs: number | undefined) {
  const seconds = transcript.duration ?? (audioMs === undefined ? undefined : audioMs / 1000);
  const usage = seconds === undefined ? undefined : { type: "duration", seconds: Math.ceil(seconds) };
  if (request.response_format !== "verbose_json") return { text: transcript.text, ...(usage && { usage }) };
  return {
    task: "transcribe",
    language: transcript.language?.toLowerCase() ?? request.language ?? "unknown",
    duration: seconds ?? 0,
    text: transcript.text,
    segments: transcript.segments ?? [],
    ...(transcript.words && { words: transcript.words }),
    ...(usage && { usage }),
  };
}
