import type { ChatRequest, ContentPart, Message, Model, ToolCall } from "../../../contract/index.ts";
import { type DataUrl, readMedia } from "../../data-url.ts";
import { badRequest } from "../../errors.ts";
import { isRecord, parseJson } from "../../json.ts";
import { SchemaBudget } from "../../schema-budget.ts";
import { toServiceTier } from "../../service-tier.ts";
import { pickSupportedFields } from "../../supported-fields.ts";
import { getToolResults, readArguments, resultWithoutCall } from "../../tools.ts";
import type { GenerateBody, GeneratePart, GenerateTurn } from "../generate-content/wire.ts";
import { jsonInstruction, toConfig } from "./to-config.ts";
import { eachOnce, getSignature, type Signatures, toTools, type Warn } from "./tools.ts";

/** What a translation needs beside the request. */
export interface Surroundings {
  model: Model;
  signatures: Pick<Signatures, "get">;
  fetched: Fetched;
  warn: Warn;
}

const translated =
  `max_tokens max_completion_tokens temperature top_p frequency_penalty presence_penalty stop n seed tools
  tool_choice response_format logprobs top_logprobs reasoning_effort`.split(/\s+/);

/** The body of `generateContent`. */
export function toContents(asked: ChatRequest & { service_tier?: unknown }, around: Surroundings): GenerateBody {
  const surroundings = { ...around, signatures: eachOnce(around.signatures) };
  const { model, warn } = surroundings;
  const tier = toServiceTier(asked.service_tier, model);
  const taken = tier === undefined ? translated : [...translated, "service_tier"];
  const request = pickSupportedFields(asked, taken, model, warn);
  const system = toSystem(request, surroundings.fetched);
  const contents = toTurns(request.messages, surroundings);
  const budget = new SchemaBudget();
  const generationConfig = toConfig(request, model, budget, warn);
  const serviceTier = tier === "default" ? undefined : tier;
  const rest = { ...toTools(request, budget, warn), generationConfig, serviceTier };
  if (system.length === 0 && contents.length === 0) throw badRequest("The messages hold no text", "messages");
  if (contents.length === 0) return { contents: [{ role: "user", parts: system }], ...rest };
  return { contents, systemInstruction: system.length > 0 ? { parts: system } : undefined, ...rest };
}

const isSystem = ({ role }: Message) => role === "system" || role === "developer";

function toSystem(request: ChatRequest, fetched: Fetched): GeneratePart[] {
  const parts = request.messages.map((message, at) => (isSystem(message) ? toParts(message, fetched, at) : []));
  const instruction = jsonInstruction(request);
  return instruction === undefined ? parts.flat() : [...parts.flat(), { text: instruction }];
}

/** The conversation, in which turns of one side that follow each other become one. */
function toTurns(messages: Message[], surroundings: Surroundings): GenerateTurn[] {
  const contents: GenerateTurn[] = [];
  const add = (role: GenerateTurn["role"], parts: GeneratePart[]) => {
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  };
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Message;
    const { role } = message;
    if (isSystem(message)) continue;
    if (role !== "user" && role !== "assistant") throw resultWithoutCall(`messages[${at}].tool_call_id`);
    add(role === "user" ? "user" : "model", toParts(message, surroundings.fetched, at));
    const calls = role === "user" ? [] : (message.tool_calls ?? []);
    if (calls.length === 0) continue;
    add("model", toCalls(calls, surroundings, `messages[${at}].tool_calls`));
    add("user", toResponses(messages, at, surroundings.fetched));
    at += calls.length;
  }
  return contents;
}

function toParts({ content }: Message, fetched: Fetched, at: number): GeneratePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  const parts = content?.map((part, index) => toPart(part, fetched, `messages[${at}].content[${index}]`));
  return (parts ?? []).filter((part) => part !== undefined);
}

function toCalls(calls: ToolCall[], { model, signatures }: Surroundings, path: string): GeneratePart[] {
  const isChecked = model.options?.thinking === "level";
  return calls.map((call, index) => ({
    functionCall: { name: call.function.name, args: readArguments(call, `${path}[${index}]`) },
    thoughtSignature: getSignature(call, signatures, isChecked && index === 0),
  }));
}

/** One response for each call, in their order: the provider pairs them by number. Pictures follow after them. */
function toResponses(messages: Message[], at: number, fetched: Fetched): GeneratePart[] {
  const results = getToolResults(messages, at).map(({ call, message, index }) => {
    const parts = toParts(message, fetched, index);
    const response = toResponse(parts.map((part) => part.text ?? "").join(""));
    const pictures = parts.filter((part) => part.text === undefined);
    return { pictures, part: { functionResponse: { name: call.function.name, response } } };
  });
  return [...results.map(({ part }) => part), ...results.flatMap(({ pictures }) => pictures)];
}

/** The provider takes objects only. */
function toResponse(text: string): Record<string, unknown> {
  const value = parseJson(text);
  return isRecord(value) ? value : { output: Array.isArray(value) ? value : text };
}

/** https://ai.google.dev/gemini-api/docs/image-understanding and /audio, each under "Supported formats". */
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const audioTypes = ["audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];
const fileTypes = ["application/pdf", "text/plain", ...imageTypes, ...audioTypes];

/** Pictures that were fetched, by their addresses. */
export type Fetched = Pick<ReadonlyMap<string, DataUrl>, "get">;

/** A part of a message's content. Empty text is nothing: the provider refuses it. */
function toPart(part: ContentPart, fetched: Fetched, path: string): GeneratePart | undefined {
  if (part.type === "text") return part.text === "" ? undefined : { text: part.text };
  if (part.type === "refusal") return part.refusal === "" ? undefined : { text: part.refusal };
  const { mediaType, base64 } = toMedia(part, fetched, path);
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

function toMedia(part: Exclude<ContentPart, { text: string } | { refusal: string }>, fetched: Fetched, path: string) {
  if (part.type === "image_url") {
    const { url } = part.image_url;
    return readMedia(fetched.get(url) ?? url, imageTypes, `${path}.image_url.url`);
  }
  if (part.type === "input_audio") {
    const { data, format } = part.input_audio;
    return readMedia(`data:audio/${format};base64,${data}`, audioTypes, `${path}.input_audio`);
  }
  const data = isRecord(part.file) ? part.file.file_data : undefined;
  if (typeof data === "string") return readMedia(data, fileTypes, `${path}.file.file_data`);
  throw badRequest("Files are read only when they are sent along, expected file_data", `${path}.file`);
}
