import {
  type ChatRequest,
  isRecord,
  type Message,
  type Model,
  parseJson,
  readArguments,
  resultWithoutCall,
  toolResultsOf,
} from "modelgate/plugin";
import { type Fetched, toPart } from "./media.ts";
import { refuse } from "./refuse.ts";
import { jsonInstruction, toConfig } from "./to-config.ts";
import { toTools } from "./to-tools.ts";
import { type Signatures, sign } from "./tool-calls.ts";
import type { Content, GenerateBody, Note, Part } from "./wire.ts";

/** What a translation needs beside the request. */
export interface Surroundings {
  model: Model;
  signatures: Signatures;
  fetched: Fetched;
  note: Note;
}

const translated =
  `messages max_tokens max_completion_tokens temperature top_p frequency_penalty presence_penalty stop n
  seed tools tool_choice parallel_tool_calls response_format logprobs top_logprobs reasoning_effort`.split(/\s+/);
/** Fields that ask nothing of the model. */
const silent = "model stream stream_options user metadata store safety_identifier prompt_cache_key".split(" ");

/** The body of `generateContent`. */
export function toContents(asked: ChatRequest, surroundings: Surroundings): GenerateBody {
  const { model, note } = surroundings;
  const request = leaveOut(asked, model, note);
  const system = toSystem(request, surroundings.fetched);
  const contents = toTurns(request.messages, surroundings);
  const rest = { ...toTools(request, note), generationConfig: toConfig(request, model, note) };
  if (contents.length > 0)
    return { contents, systemInstruction: system.length > 0 ? { parts: system } : undefined, ...rest };
  if (system.length === 0) throw refuse("The messages hold no text", "messages");
  return { contents: [{ role: "user", parts: system }], ...rest };
}

function leaveOut(asked: ChatRequest, { omit = [] }: Model, note: Note): ChatRequest {
  const fields = Object.entries(asked).filter(([, value]) => value !== undefined && value !== null);
  const kept = fields.filter(([field]) => translated.includes(field) && !omit.includes(field));
  const lost = fields
    .map(([field]) => field)
    .filter((field) => !silent.includes(field) && !kept.some(([name]) => name === field));
  if (lost.length > 0) note(`Left out, because the model does not take it: ${lost.join(", ")}`);
  return Object.fromEntries(kept) as ChatRequest;
}

function isSystem({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

function toSystem(request: ChatRequest, fetched: Fetched): Part[] {
  const parts = request.messages.flatMap((message, index) =>
    isSystem(message) ? toParts(message, fetched, index) : [],
  );
  const instruction = jsonInstruction(request);
  return instruction === undefined ? parts : [...parts, { text: instruction }];
}

/** The conversation, in which turns of one side that follow each other become one. */
function toTurns(messages: Message[], surroundings: Surroundings): Content[] {
  const contents: Content[] = [];
  const add = (role: Content["role"], parts: Part[]) => {
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  };
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    if (isSystem(message)) continue;
    if (message.role === "tool" || message.role === "function")
      throw resultWithoutCall(`messages[${index}].tool_call_id`);
    add(message.role === "user" ? "user" : "model", toParts(message, surroundings.fetched, index));
    if (message.role === "user" || !message.tool_calls || message.tool_calls.length === 0) continue;
    add("model", toCalls(message.tool_calls, surroundings, `messages[${index}].tool_calls`));
    add("user", toResponses(messages, index, surroundings.fetched));
    index += message.tool_calls.length;
  }
  return contents;
}

function toParts({ content }: Message, fetched: Fetched, index: number): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  const parts = (content ?? []).map((part, position) =>
    toPart(part, fetched, `messages[${index}].content[${position}]`),
  );
  return parts.filter((part) => part !== undefined);
}

function toCalls(calls: NonNullable<Message["tool_calls"]>, { model, signatures }: Surroundings, path: string): Part[] {
  const parts = calls.map((call, index): Part => {
    return { functionCall: { name: call.function.name, args: readArguments(call, `${path}[${index}]`) } };
  });
  sign(parts, calls, { signatures, checks: model.options?.thinking === "level" });
  return parts;
}

/** One response for each call, in their order: the provider pairs them by number. Pictures follow after them. */
function toResponses(messages: Message[], at: number, fetched: Fetched): Part[] {
  const pictures: Part[] = [];
  const responses = toolResultsOf(messages, at).map(({ message, index }, position): Part => {
    const parts = toParts(message, fetched, index);
    pictures.push(...parts.filter((part) => part.text === undefined));
    const name = messages[at]?.tool_calls?.[position]?.function.name ?? "";
    return { functionResponse: { name, response: toResponse(parts.map((part) => part.text ?? "").join("")) } };
  });
  return [...responses, ...pictures];
}

/** The provider takes objects only. */
function toResponse(text: string): Record<string, unknown> {
  const value = parseJson(text);
  return isRecord(value) ? value : { output: Array.isArray(value) ? value : text };
}
