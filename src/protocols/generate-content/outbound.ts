import { badRequest, getOwn } from "../../contract/index.ts";
import { type DataUrl, readMedia } from "../../lib/data-url.ts";
import { isRecord, JsonTexts } from "../../lib/json.ts";
import { jsonSchemaSubset, openApiSubset, reduceSchema, SchemaBudget } from "../../lib/json-schema.ts";
import { LruMap } from "../../lib/lru-map.ts";
import type {
  Call,
  ChatRequest,
  ContentPart,
  Message,
  Model,
  ModelOptions,
  ToolCall,
  Warn,
} from "../../provider/index.ts";
import { countSystemMessages } from "../cache-marks.ts";
import { placeholderImages as fetched, fetchImages, precheckMultimodal } from "../multimodal.ts";
import { nearestEffort, toServiceTier } from "../openai/request.ts";
import type { Outbound } from "../outbound.ts";
import { withStops } from "../stops.ts";
import { pickSupportedFields, warnOfLostMembers } from "../supported-fields.ts";
import { getToolResults, readArguments, resultWithoutCall, withFunctionsAsTools } from "../tools.ts";
import { fromCandidates, GenerateContentStream, readAnswerUsage } from "./answers.ts";
import type { GenerateBody, GeneratePart, GenerateTurn } from "./schema.ts";
import { eachOnce, getSignature, randomCallId, type Signatures, toTools } from "./tools.ts";

const signaturesMax = 10_000;
/** https://ai.google.dev/api/generate-content#generationconfig */
const stopsMax = 5;

/** Options of a row. */
const modelOptions: ModelOptions = {
  thinking: ["level", "budget"],
  levels: "texts",
  budgetMin: "number",
  budgetMax: "number",
  canDisable: "boolean",
};

/**
 * The chat part of a plugin whose provider speaks Google's `generateContent`.
 *
 * @example
 * Object.keys(gemini().handlers); // => ["chat", "countChatTokens"]
 */
export function gemini(): Outbound {
  const signatures: Signatures = new LruMap(signaturesMax);
  const send = async ({ request, model, upstream, warn }: Call<ChatRequest>) => {
    const images = await fetchImages(request.messages, upstream);
    const body = toContents(request, { model, signatures, fetched: images, warn });
    const reading = { firstOnly: request.parallel_tool_calls === false, signatures, newId: randomCallId };
    const path = `/models/${model.upstreamId}`;
    if (request.stream === true) {
      return new GenerateContentStream(await upstream.events(`${path}:streamGenerateContent?alt=sse`, body), reading);
    }
    return fromCandidates(await upstream.json(`${path}:generateContent`, body), reading);
  };
  const chat = (call: Call<ChatRequest>) =>
    withStops(call, { max: call.model.omit?.includes("stop") ? 0 : stopsMax }, send);
  /** https://ai.google.dev/api/tokens#method:-models.counttokens */
  const countChatTokens = async ({ request, model, upstream }: Call<ChatRequest>): Promise<number> => {
    const images = await fetchImages(request.messages, upstream);
    const around = { model, signatures, fetched: images, warn: () => undefined };
    const { serviceTier: _, ...body } = toContents(request, around);
    const counted = { generateContentRequest: { model: `models/${model.upstreamId}`, ...body } };
    return (await upstream.json<{ totalTokens: number }>(`/models/${model.upstreamId}:countTokens`, counted))
      .totalTokens;
  };
  return {
    handlers: { chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }), countChatTokens },
    checks: {
      chat: precheckMultimodal((request, requested) => toContents(request, { ...requested, signatures, fetched })),
    },
    // The bound of `candidateCount`.
    maxChoices: { chat: 8 },
    modelOptions,
    readUsage: readAnswerUsage,
  };
}

/** Context of a translation in addition to the request. */
interface TranslationContext {
  model: Model;
  signatures: Pick<Signatures, "get">;
  fetched: Fetched;
  warn: Warn;
}

const translated =
  `max_tokens max_completion_tokens temperature top_p frequency_penalty presence_penalty stop n seed tools
  tool_choice response_format logprobs top_logprobs reasoning_effort`.split(/\s+/);

const lostMembers = {
  message: ["name", "refusal", "audio"],
  image: ["detail"],
  file: ["filename"],
  function: ["strict"],
  schema: ["description", "strict"],
};

/** The body of `generateContent`. */
export function toContents(
  requested: ChatRequest & { service_tier?: unknown },
  around: TranslationContext,
): GenerateBody {
  const surroundings = { ...around, signatures: eachOnce(around.signatures) };
  const { model, warn } = surroundings;
  const tier = toServiceTier(requested.service_tier, model);
  const supported = tier === undefined ? translated : [...translated, "service_tier"];
  const request = pickSupportedFields(requested, supported, model, warn);
  warnOfLostMembers(request, lostMembers, warn);
  const system = toSystem(request, surroundings.fetched);
  const contents = toTurns(request.messages, surroundings);
  const budget = new SchemaBudget();
  const generationConfig = toConfig(request, model, budget, warn);
  const serviceTier = tier === "default" ? undefined : tier;
  const rest = { ...toTools(request, budget, warn), generationConfig, serviceTier };
  if (system.length === 0 && contents.length === 0) throw badRequest("The messages have no text", "messages");
  if (contents.length === 0) return { contents: [{ role: "user", parts: system }], ...rest };
  return { contents, systemInstruction: system.length > 0 ? { parts: system } : undefined, ...rest };
}

function toSystem(request: ChatRequest, fetched: Fetched): GeneratePart[] {
  const messages = request.messages.slice(0, countSystemMessages(request.messages));
  const parts = messages.flatMap((message, at) => toParts(message, fetched, at));
  const instruction = jsonInstruction(request);
  return instruction === undefined ? parts : [...parts, { text: instruction }];
}

/**
 * Translates the conversation; consecutive turns of one side become one turn. A system message after other messages
 * becomes a part of the user's turn in its place: moved to the front, it would change the prompt that the provider has
 * cached.
 */
function toTurns(messages: Message[], surroundings: TranslationContext): GenerateTurn[] {
  const contents: GenerateTurn[] = [];
  const texts = new JsonTexts();
  const add = (role: GenerateTurn["role"], parts: GeneratePart[]) => {
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  };
  for (let at = countSystemMessages(messages); at < messages.length; at++) {
    const message = messages[at] as Message;
    const { role } = message;
    if (role === "tool" || role === "function") throw resultWithoutCall(`messages[${at}].tool_call_id`);
    add(role === "assistant" ? "model" : "user", toParts(message, surroundings.fetched, at));
    const calls = role === "assistant" ? (message.tool_calls ?? []) : [];
    if (calls.length === 0) continue;
    add("model", toCalls(calls, surroundings, `messages[${at}].tool_calls`));
    add("user", toResponses(messages, at, { fetched: surroundings.fetched, texts }));
    at += calls.length;
  }
  return contents;
}

function toParts({ content }: Message, fetched: Fetched, at: number): GeneratePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  const parts = content?.map((part, index) => toPart(part, fetched, `messages[${at}].content[${index}]`));
  return (parts ?? []).filter((part) => part !== undefined);
}

function toCalls(calls: ToolCall[], { model, signatures }: TranslationContext, path: string): GeneratePart[] {
  const isChecked = model.options?.thinking === "level";
  return calls.map((call, index) => ({
    functionCall: { name: call.function.name, args: readArguments(call, `${path}[${index}]`) },
    thoughtSignature: getSignature(call, signatures, isChecked && index === 0),
  }));
}

/** One response for each call, in their order: the provider pairs them by number. Images follow after them. */
function toResponses(
  messages: Message[],
  at: number,
  { fetched, texts }: { fetched: Fetched; texts: JsonTexts },
): GeneratePart[] {
  const results = getToolResults(messages, at).map(({ call, message, index }) => {
    const parts = toParts(message, fetched, index);
    const text = parts.map((part) => part.text ?? "").join("");
    const isFailed = "is_error" in message && message.is_error === true;
    const response = isFailed ? { error: text } : toResponse(text, texts);
    const pictures = parts.filter((part) => part.text === undefined);
    return { pictures, part: { functionResponse: { name: call.function.name, response } } };
  });
  return [...results.map(({ part }) => part), ...results.flatMap(({ pictures }) => pictures)];
}

/** The provider takes objects only. What is too deep or too wide to be read as one stays a text. */
function toResponse(text: string, texts: JsonTexts): Record<string, unknown> {
  const value = texts.parse(text);
  return isRecord(value) ? value : { output: Array.isArray(value) ? value : text };
}

/** https://ai.google.dev/gemini-api/docs/image-understanding and /audio, each under "Supported formats". */
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const audioTypes = ["audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];
const fileTypes = ["application/pdf", "text/plain", ...imageTypes, ...audioTypes];

/** Images that were fetched, by their addresses. */
type Fetched = Pick<ReadonlyMap<string, DataUrl>, "get">;

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
  throw badRequest("Files must be sent with the request; expected file_data", `${path}.file`);
}

type Config = Record<string, unknown>;
/** As Google's own OpenAI-compatible endpoint has it. https://ai.google.dev/gemini-api/docs/openai#thinking */
const budgets: Record<string, number> = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };

/** `generationConfig`. What is undefined is not sent. */
function toConfig(request: ChatRequest, model: Model, budget: SchemaBudget, warn: Warn): Config {
  const { n, seed, stop, logprobs, top_logprobs: topLogprobs } = request;
  const stops = [stop ?? []].flat().filter((text) => text !== "");
  return {
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    temperature: request.temperature,
    // The provider's own default is another than ours.
    topP: request.top_p ?? (model.omit?.includes("top_p") ? undefined : 1),
    stopSequences: stops.length > 0 ? stops : undefined,
    // An int32 there.
    seed: typeof seed === "number" ? seed % 2 ** 31 : undefined,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    candidateCount: typeof n === "number" && n > 1 ? n : undefined,
    responseLogprobs: logprobs === true ? true : undefined,
    logprobs: logprobs === true && topLogprobs ? topLogprobs : undefined,
    thinkingConfig: toThinking(request.reasoning_effort, model, warn),
    ...toFormat(request, model, budget, warn),
  };
}

function toThinking(effort: ChatRequest["reasoning_effort"], { options, id }: Model, warn: Warn): Config | undefined {
  if (typeof effort !== "string") return undefined;
  const includeThoughts = effort !== "none";
  if (options?.thinking === "level") {
    const level = nearestEffort(effort, options.levels as string[]);
    if (level !== effort)
      warn(`Used reasoning_effort ${level}, because ${id} does not support ${effort}`, "reasoning_effort");
    return { thinkingLevel: level, includeThoughts };
  }
  if (options?.thinking === "budget") {
    if (effort === "none" && options.canDisable === true) return { thinkingBudget: 0 };
    const { budgetMin: min = 0, budgetMax: max = 0 } = options as Record<string, number>;
    if (effort === "none") warn(`Used ${min} thinking tokens, because ${id} always reasons`, "reasoning_effort");
    return { thinkingBudget: Math.min(Math.max(getOwn(budgets, effort) ?? max, min), max), includeThoughts };
  }
  warn(`Left out reasoning_effort, because ${id} does not reason`, "reasoning_effort");
  return undefined;
}

/** The instruction that asks for JSON where a response type cannot: the provider refuses one together with tools. */
function jsonInstruction({ response_format: format, tools }: ChatRequest): string | undefined {
  if (!format || format.type === "text" || !tools || tools.length === 0) return undefined;
  const plain = "Unless you call a function, answer with one JSON object and no text or Markdown fence around it";
  if (format.type === "json_object") return `${plain}.`;
  return `${plain}, valid against this JSON schema:\n${JSON.stringify(format.json_schema.schema ?? {})}`;
}

function toFormat(request: ChatRequest, { options }: Model, budget: SchemaBudget, warn: Warn): Config {
  const { response_format: format } = request;
  if (!format || format.type === "text") return {};
  if (jsonInstruction(request) !== undefined) {
    warn(
      "Added response_format to the prompt, because the provider does not support it together with tools",
      "response_format",
    );
    return {};
  }
  const responseMimeType = "application/json";
  if (format.type === "json_object" || format.json_schema.schema === undefined) return { responseMimeType };
  // Every model since 2.5 thinks, and reads real JSON Schema.
  const subset = options?.thinking === undefined ? openApiSubset : jsonSchemaSubset;
  const param = "response_format.json_schema.schema";
  const { schema, dropped } = reduceSchema(format.json_schema.schema, subset, param, budget);
  if (dropped.length > 0) warn(`Left out of ${param}: ${dropped.join(", ")}`, param);
  return { responseMimeType, [subset === openApiSubset ? "responseSchema" : "responseJsonSchema"]: schema };
}
