import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
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
import { bodyBytesOf } from "./body-room.ts";
import { answers } from "./describe.ts";
import { checked, endpoint, type Visit } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { callHeaders } from "./headers.ts";
import { formBytesMax, readForm } from "./read-body.ts";
import { jsonReply, run } from "./run.ts";
import { TranscriptionAnswer, TranscriptionForm } from "./transcription-shapes.ts";

const soundForm = { schema: TranscriptionForm as never, encoding: { file: { contentType: "audio/wav, audio/mpeg" } } };
const fieldsCheck = TypeCompiler.Compile(TranscribeFields);

/** POST /audio/transcriptions: a multipart form in; JSON, plain text or verbose JSON out. */
export function transcriptionsController(ground: HttpGround) {
  const transcribe = async (visit: Visit) => {
    const { progress } = visit;
    const order = await readRequest(await readForm(visit.request));
    const transcript = await run(ground, visit, { capability: "transcribe", request: order });
    if (order.response_format !== "text") {
      return jsonReply(ground, progress, toJson(transcript, order, progress.meters.audioMs));
    }
    return new Response(transcript.text, {
      headers: callHeaders(progress, ground.sandbox, "text/plain; charset=utf-8"),
    });
  };
  const answer = endpoint(ground, (visit) =>
    ground.bodies.during(bodyBytesOf(visit.request, formBytesMax), () => transcribe(visit)),
  );
  return new Elysia().post("/audio/transcriptions", answer, {
    parse: "none",
    detail: {
      summary: "Speech to text",
      tags: ["Models at work"],
      requestBody: { required: true, content: { "multipart/form-data": soundForm } },
      responses: answers({ "application/json": TranscriptionAnswer, "text/plain": Type.String() }),
    },
  });
}

async function readRequest(form: FormData): Promise<TranscribeRequest> {
  const file = form.get("file");
  if (!(file instanceof File)) {
    const sentence = "file is missing: send the audio as a file field of the form";
    throw new GatewayError("invalid_request", sentence, { param: "file" });
  }
  checkFile(file);
  const fields = readFields(form);
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
  return checked(fieldsCheck, Value.Default(TranscribeFields, fields));
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
