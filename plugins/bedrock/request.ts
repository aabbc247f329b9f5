import {
  badRequest,
  type Call,
  type ChatRequest,
  type ContentPart,
  isRecord,
  type Message,
  type Model,
  pickSupportedFields,
  readArguments,
} from "modelgate/plugin";
import { CallIds } from "../../src/lib/call-ids.ts";
import { type DataUrl, readMedia, readTextUrl } from "../../src/lib/data-url.ts";
import { SchemaBudget } from "../../src/lib/json-schema.ts";
import { countSystemMessages, limitMarks, readMark } from "../../src/protocols/cache-marks.ts";
import { claudeThoughts, strictSchema } from "../../src/protocols/messages/outbound.ts";
import { nearestEffort, toServiceTier } from "../../src/protocols/openai/request.ts";
import { openingText } from "../../src/protocols/openai/turn-order.ts";
import { warnOfLostMembers } from "../../src/protocols/supported-fields.ts";
import { toWholeSchema } from "../../src/protocols/tool-schema.ts";
import { getToolResults, readToolChoice, resultWithoutCall } from "../../src/protocols/tools.ts";
import { isClaude } from "./options.ts";

type Warn = Call<unknown>["warn"];
/** A member of a union of Converse: one field says what it is. */
export type Block = Record<string, unknown>;

export interface Turn {
  role: "user" | "assistant";
  content: Block[];
}

/** How to read an answer; the request decides it. */
export interface Reading {
  /** The tool that is forced to get JSON: its input is the content. */
  jsonTool?: string | undefined;
  /** Whether the content is JSON that may come in a code fence. */
  fenced?: boolean;
  /** `parallel_tool_calls: false`, which Converse does not know: the first call is kept. */
  firstOnly: boolean;
}

/** Images that were fetched, by their addresses. */
export type Fetched = Pick<ReadonlyMap<string, DataUrl>, "get">;

interface TranslationContext {
  model: Model;
  fetched: Fetched;
  warn: Warn;
}

const translated = `max_tokens max_completion_tokens temperature top_p stop tools tool_choice response_format
  reasoning_effort`.split(/\s+/);
/** Members that there is no place for; more of them where the model is not held to schemas. */
const lostMembers = { message: ["name", "refusal", "audio"], image: ["detail"], schema: ["description"] };
const looseMembers = { ...lostMembers, function: ["strict"], schema: ["description", "strict"] };
const jsonInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence.";
/** For a row that does not say how much its model writes. */
const outputTokensMaxDefault = 4096;
/** The gateway's own default, and the most that is taken. */
const temperatureDefaults = [0.7, 1];

/** The body of `Converse` and `ConverseStream`. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export function toConverse(requested: ChatRequest & { service_tier?: unknown }, around: TranslationContext) {
  const { model, warn } = around;
  const tier = toServiceTier(requested.service_tier, model);
  const supported = [...translated];
  if (tier !== undefined) supported.push("service_tier");
  if (model.options?.cachePoints === true) supported.push("cache_control");
  const request = pickSupportedFields(limitMarks(requested), supported, model, warn);
  warnOfLostMembers(request, model.options?.jsonSchema === true ? lostMembers : looseMembers, warn);
  const limit = model.outputTokensMax ?? outputTokensMaxDefault;
  const maxTokens = Math.min(request.max_completion_tokens ?? request.max_tokens ?? limit, limit);
  const { toolConfig, schema, reading } = toFormat(request, around);
  const isForced = toolConfig?.toolChoice !== undefined && !("auto" in toolConfig.toolChoice);
  const thinking = toThinking(request, { model, maxTokens, isForced, warn });
  const { system, messages } = toTurns(request.messages, thinking.fields.thinking !== undefined, around);
  // A mark of the whole request is one on its end.
  markEnd(messages.at(-1)?.content ?? [], request, model);
  if (reading.fenced === true) system.push({ text: jsonInstruction });
  const stops = [request.stop ?? []].flat().filter((text) => text.trim() !== "");
  const thinks = thinking.fields.thinking !== undefined;
  const hasFields = Object.keys(thinking.fields).length > 0;
  const textFormat = schema && { type: "json_schema", structure: { jsonSchema: schema } };
  const isPlain = thinking.effort === undefined && textFormat === undefined;
  const body = {
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: {
      maxTokens,
      ...toSampling(request, { isNarrow: isClaude(model), thinks, warn }),
      stopSequences: stops.length > 0 ? stops : undefined,
    },
    toolConfig,
    outputConfig: isPlain ? undefined : { effort: thinking.effort, textFormat },
    additionalModelRequestFields: hasFields ? thinking.fields : undefined,
    // The reason to stop says enough where there is one sequence.
    additionalModelResponseFieldPaths: isClaude(model) && stops.length > 1 ? ["/stop_sequence"] : undefined,
    serviceTier: tier === undefined ? undefined : { type: tier },
  };
  return { body, reading };
}

interface ToolConfig {
  tools: Block[];
  toolChoice?: Block | undefined;
}

interface Format {
  toolConfig?: ToolConfig | undefined;
  schema?: { name: string; schema: string } | undefined;
  reading: Reading;
}

function toFormat(request: ChatRequest, { model, warn }: TranslationContext): Format {
  const firstOnly = request.parallel_tool_calls === false;
  const budget = new SchemaBudget();
  const toolConfig = toTools(request, { model, warn, budget });
  const format = request.response_format;
  const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
  if (!format || format.type === "text") return { toolConfig, reading: { firstOnly } };
  if (schema === undefined) return { toolConfig, reading: { firstOnly, fenced: true } };
  const name = format.type === "json_schema" ? format.json_schema.name : "answer";
  if (model.options?.jsonSchema === true) {
    const reduced = strictSchema(schema, "response_format.json_schema.schema", budget, warn);
    return { toolConfig, schema: { name, schema: JSON.stringify(reduced) }, reading: { firstOnly } };
  }
  const isTaken = toolConfig?.toolChoice !== undefined && "tool" in toolConfig.toolChoice;
  if (isTaken) return { toolConfig, reading: { firstOnly } };
  if (model.options?.toolChoice === false || model.omit?.includes("tools") === true) {
    warn("Asked for response_format in words, because the model does not take it", "response_format");
    return { toolConfig, reading: { firstOnly, fenced: true } };
  }
  const toolNames = (toolConfig?.tools ?? []).map((tool) => (tool.toolSpec as { name?: string } | undefined)?.name);
  let jsonTool = "json_answer";
  while (toolNames.includes(jsonTool)) jsonTool += "_";
  const inputSchema = { json: { type: "object", ...schema } };
  const tool = { toolSpec: { name: jsonTool, description: "Gives the answer to the user", inputSchema } };
  const toolChoice = toolNames.length > 0 ? { any: {} } : { tool: { name: jsonTool } };
  return {
    toolConfig: { tools: [...(toolConfig?.tools ?? []), tool], toolChoice },
    reading: { firstOnly: true, jsonTool },
  };
}

/** The tools that the model may call. Calls in the conversation need a definition, even when none may be made. */
function toTools(
  request: ChatRequest,
  { model, warn, budget }: Pick<TranslationContext, "model" | "warn"> & { budget: SchemaBudget },
): ToolConfig | undefined {
  const { mode, names } = readToolChoice(request) ?? {};
  const called = new Set(
    request.messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map((call) => call.function.name)),
  );
  const toolList = request.tools ?? [];
  const shown = toolList.filter(({ function: { name } }) => names?.has(name) ?? true);
  if (mode === "none" || toolList.length === 0) {
    if (called.size === 0) return undefined;
    if (mode === "none")
      warn("Left out tool_choice, because calls in the conversation need their tools", "tool_choice");
  }
  const tools = shown.flatMap((tool, index): Block[] => {
    const { name, description, parameters, strict } = tool.function;
    if (!/^[\w-]{1,64}$/.test(name)) {
      const expected = "expected letters, digits, _ and -, at most 64 in all";
      throw badRequest(`${name} cannot name a function of this model: ${expected}`, `tools[${index}].function.name`);
    }
    const schema = toWholeSchema(parameters);
    const isStrict = strict === true && model.options?.jsonSchema === true;
    const param = `tools[${index}].function.parameters`;
    const inputSchema = { json: isStrict ? strictSchema(schema, param, budget, warn) : schema };
    const spec = { name, ...(description ? { description } : {}), inputSchema, ...(isStrict && { strict: true }) };
    const mark = readMark(tool) === undefined ? tool.function : tool;
    return [{ toolSpec: spec }, ...toCachePoint(mark, model)];
  });
  for (const name of tools.length === 0 ? called : []) {
    tools.push({
      toolSpec: { name: name.replace(/[^\w-]/g, "_").slice(0, 64), inputSchema: { json: { type: "object" } } },
    });
  }
  const toolChoice = mode === "required" ? toDemand(request, model, warn) : undefined;
  return { tools, toolChoice };
}

function toDemand({ tool_choice: choice }: ChatRequest, model: Model, warn: Warn): Block | undefined {
  if (model.options?.toolChoice === false) {
    warn("Left out tool_choice, because a call cannot be demanded of this model", "tool_choice");
    return undefined;
  }
  if (isRecord(choice) && choice.type === "function") {
    return { tool: { name: (choice.function as { name: string }).name } };
  }
  return { any: {} };
}

interface Thinking {
  /** Fields of the model's own API. */
  fields: { thinking?: object; reasoning_effort?: string };
  effort?: string | undefined;
}

function toThinking(
  request: ChatRequest,
  { model, maxTokens, isForced, warn }: { model: Model; maxTokens: number; isForced: boolean; warn: Warn },
): Thinking {
  const { reasoning_effort: requested } = request;
  if (model.options?.thinking === "effort") {
    const efforts = Array.isArray(model.options.efforts)
      ? (model.options.efforts as string[])
      : ["low", "medium", "high"];
    const effort = requested ? nearestEffort(requested, efforts) : undefined;
    return { fields: effort === undefined ? {} : { reasoning_effort: effort } };
  }
  const obstacle = isForced ? "a tool call is forced" : claudeThoughts.whyThinkingUnsupported(request.messages);
  const { thinking, effort } = claudeThoughts.toEffort(request, model, { maxTokens, obstacle, warn });
  return { fields: thinking === undefined ? {} : { thinking }, effort };
}

/** Claude takes temperature or top_p, not both, and neither while it thinks. */
function toSampling(
  { temperature, top_p: topP }: ChatRequest,
  { isNarrow, thinks, warn }: { isNarrow: boolean; thinks: boolean; warn: Warn },
) {
  const asksTopP = typeof topP === "number" && topP !== 1;
  const asksTemperature = typeof temperature === "number" && !temperatureDefaults.includes(temperature);
  if (thinks) {
    if (asksTopP || asksTemperature) {
      warn("Left out temperature and top_p, which do not go with thinking", ["temperature", "top_p"]);
    }
    return {};
  }
  if (typeof temperature === "number" && temperature > 1) {
    warn("Lowered temperature to 1, the most this provider takes", "temperature");
  }
  const lowered = typeof temperature === "number" ? Math.min(temperature, 1) : undefined;
  if (!isNarrow) return { temperature: lowered, topP: asksTopP ? topP : undefined };
  if (asksTopP && !asksTemperature) return { topP };
  if (asksTopP) warn("Left out top_p, which does not go with temperature", "top_p");
  return { temperature: lowered };
}

/**
 * The system text, and turns that alternate, with the results of calls first in theirs. A system message behind the first of
 * others is a part of the user's turn there: moved to the front, it would change what the provider has in its cache.
 */
function toTurns(messages: readonly Message[], thinks: boolean, around: TranslationContext) {
  const system: Block[] = [];
  const turns: Turn[] = [];
  const ids = new CallIds("converse");
  const documents = { count: 0 };
  const append = (role: Turn["role"], blocks: Block[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) turns.push({ role, content: blocks });
  };
  const systemMessages = countSystemMessages(messages);
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    const { role, tool_calls: calls } = message;
    const path = `messages[${index}]`;
    if (role === "tool" || role === "function") throw resultWithoutCall(`${path}.tool_call_id`);
    const isUser = role === "user";
    const blocks = toBlocks(message.content, { path: `${path}.content`, isUser, documents, around });
    if (index < systemMessages) {
      system.push(...markEnd(blocks, message, around.model));
      continue;
    }
    if (role !== "assistant") {
      append("user", markEnd(blocks, message, around.model));
      continue;
    }
    const sentIds = (calls ?? []).map((call) => ids.take(call.id));
    const used = (calls ?? []).flatMap((call, place): Block[] => {
      const input = readArguments(call, `${path}.tool_calls[${place}]`);
      return [
        { toolUse: { toolUseId: sentIds[place], name: call.function.name, input } },
        ...toCachePoint(call, around.model),
      ];
    });
    const thoughts = thinks ? toThoughts(message) : [];
    append("assistant", [...thoughts, ...markEnd([...blocks, ...used], message, around.model)]);
    append("user", toResults(messages, index, { taken: sentIds, documents, around }));
    if (used.length > 0) while (messages[index + 1]?.role === "tool") index++;
  }
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [{ text: openingText }] });
  const last = turns.at(-1);
  const end = last?.role === "assistant" ? last.content.at(-1) : undefined;
  // A turn that Claude is to go on with may not end in white space.
  if (typeof end?.text === "string") end.text = end.text.trimEnd();
  if (last !== undefined) return { system, messages: turns };
  const texts = system.filter((block) => "text" in block);
  if (texts.length === 0)
    throw badRequest("The messages hold nothing, expected text or another part in one", "messages");
  return { system: [] as Block[], messages: [{ role: "user" as const, content: texts }] };
}

/** The reasoning that a client sent back, with its signatures: unsigned reasoning is refused. */
function toThoughts(message: Message): Block[] {
  return claudeThoughts.readDetails(message).map(({ type, thinking, signature, data }) => {
    if (type === "redacted_thinking") return { reasoningContent: { redactedContent: data } };
    return { reasoningContent: { reasoningText: { text: thinking, signature } } };
  });
}

interface ResultsAround {
  taken: readonly string[];
  documents: { count: number };
  around: TranslationContext;
}

function toResults(
  messages: readonly Message[],
  index: number,
  { taken: sentIds, documents, around }: ResultsAround,
): Block[] {
  return getToolResults(messages, index).flatMap(({ message, index: at }, place) => {
    const path = `messages[${at}].content`;
    const blocks = toBlocks(message.content, { path, isUser: true, documents, around });
    const content = blocks.filter((block) => !("cachePoint" in block));
    const failed = "is_error" in message && message.is_error === true ? { status: "error" } : {};
    const toolResult = {
      toolUseId: sentIds[place],
      content: content.length > 0 ? content : [{ text: "(nothing)" }],
      ...failed,
    };
    return [{ toolResult }, ...blocks.filter((block) => "cachePoint" in block), ...toCachePoint(message, around.model)];
  });
}

/** A cache mark as the point that follows what it marks, where the model takes them. */
function toCachePoint(holder: object, { options, price }: Model): Block[] {
  const mark = readMark(holder);
  if (mark === undefined || options?.cachePoints !== true) return [];
  // An hour costs more, which not every price says.
  const isHour = mark.ttl === "1h" && price?.cacheWrite1hToken !== undefined;
  return [{ cachePoint: { type: "default", ...(isHour && { ttl: "1h" }) } }];
}

/**
 * Adds a cache point if the object that the blocks were made from is marked, unless they already end in one. Changes
 * the list in place.
 */
function markEnd(blocks: Block[], holder: object, model: Model): Block[] {
  const last = blocks.at(-1);
  if (last !== undefined && !("cachePoint" in last)) blocks.push(...toCachePoint(holder, model));
  return blocks;
}

interface BlocksAround {
  path: string;
  /** Users and tools send media, others text alone. */
  isUser: boolean;
  /** Names of documents differ. */
  documents: { count: number };
  around: TranslationContext;
}

/** Content as blocks. Blank text is left out, because the provider refuses it. */
function toBlocks(content: Message["content"], { path, ...rest }: BlocksAround): Block[] {
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts.flatMap((part, index): Block[] => {
    const block = toBlock(part, { path: `${path}[${index}]`, ...rest });
    const isBlank = typeof block.text === "string" && block.text.trim() === "";
    return isBlank ? [] : [block, ...toCachePoint(part, rest.around.model)];
  });
}

const imageFormats: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

function toBlock(part: ContentPart, { path, isUser, documents, around }: BlocksAround): Block {
  if (part.type === "text") return { text: part.text };
  if (part.type === "refusal") return { text: part.refusal };
  if (!isUser) throw badRequest(`Cannot send ${part.type} here, expected text: user and tool messages take it`, path);
  if (part.type === "image_url") {
    const { url } = part.image_url;
    const types = Object.keys(imageFormats);
    const { mediaType, base64 } = readMedia(around.fetched.get(url) ?? url, types, `${path}.image_url.url`);
    return { image: { format: imageFormats[mediaType], source: { bytes: base64 } } };
  }
  if (part.type === "input_audio") {
    throw badRequest("This model does not support audio input, expected text, image_url or file parts", path);
  }
  const { file_data: data, filename }: Record<string, unknown> = part.file;
  if (typeof data !== "string") {
    throw badRequest("Files must be sent with the request; expected file_data with a PDF or a text", `${path}.file`);
  }
  const text = readTextUrl(data);
  if (text !== undefined) return { text: text.toString() };
  const { base64 } = readMedia(data, ["application/pdf"], `${path}.file.file_data`);
  return { document: { format: "pdf", name: toName(filename, ++documents.count), source: { bytes: base64 } } };
}

/** Letters, digits, single spaces, hyphens and brackets, and each once. */
function toName(filename: unknown, number: number): string {
  const plain =
    typeof filename === "string" ? filename.replace(/[^\p{L}\p{N}\s()[\]-]+/gu, "-").replace(/\s+/g, " ") : "";
  return `${plain.trim().slice(0, 150) || "document"} ${number}`;
}
