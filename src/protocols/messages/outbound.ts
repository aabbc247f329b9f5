import { badRequest } from "../../contract/index.ts";
import { CallIds } from "../../lib/call-ids.ts";
import { readMedia, readTextUrl } from "../../lib/data-url.ts";
import { reduceSchema, SchemaBudget, strictSubset } from "../../lib/json-schema.ts";
import type {
  Call,
  ChatRequest,
  ContentPart,
  Message,
  Model,
  ModelOptions,
  Tool,
  ToolCall,
  Warn,
} from "../../provider/index.ts";
import { countSystemMessages, limitMarks, markOf, readMark, sendMarked } from "../cache-marks.ts";
import { precheckMultimodal } from "../multimodal.ts";
import { nearestEffort } from "../openai/request.ts";
import type { Outbound } from "../outbound.ts";
import { readClaudeBlocks, toClaudeDetail } from "../reasoning.ts";
import { withStops } from "../stops.ts";
import { pickSupportedFields, warnOfLostMembers } from "../supported-fields.ts";
import { toWholeSchema } from "../tool-schema.ts";
import {
  getToolResults,
  readArguments,
  readToolChoice,
  resultWithoutCall,
  type ToolDecision,
  withFunctionsAsTools,
} from "../tools.ts";
import { readError } from "./errors.ts";
import { messagesHandlers } from "./passthrough.ts";
import { fromMessage, MessagesOutboundStream, readMessagesUsage, toUsage } from "./provider-stream.ts";
import type { Block, Reading, Turn } from "./schema.ts";

/** How a provider that speaks Anthropic's Messages protocol is asked. */
export interface AnthropicOptions {
  /** Headers of every request, such as the version of the protocol. */
  headers: Readonly<Record<string, string>>;
  /** Whether it takes a mark for its prompt cache on the request itself, which stands for one on its last block. Default false. */
  takesRequestMark?: boolean;
}

/** The header that names the version of the protocol. */
const versionHeader = "anthropic-version";

/**
 * The version of the protocol that a row is asked in. Anthropic and its clouds take new versions at different times, so that the
 * operator may name one in the `options` of a row.
 *
 * @param version The version of the provider where the row names none.
 */
export function versionOf({ options }: Model, version: string): string {
  return typeof options?.anthropicVersion === "string" ? options.anthropicVersion : version;
}

/** Options of a row. */
const modelOptions: ModelOptions = {
  anthropicVersion: "text",
  thinking: ["adaptive", "budget"],
  jsonSchema: "boolean",
  efforts: "texts",
  pass: "texts",
};

/**
 * The parts of a plugin whose provider speaks Anthropic's Messages protocol, beside its name, its address and its
 * models: chat is translated into the protocol, and clients of the protocol are passed through.
 *
 * @example
 * const provider = anthropic({ headers: { "anthropic-version": "2023-06-01" } });
 * Object.keys(provider.handlers); // => ["chat", "countChatTokens", "messages", "countMessagesTokens"]
 */
export function anthropic({ headers, takesRequestMark = false }: AnthropicOptions): Outbound {
  const { [versionHeader]: version } = headers;
  // A cloud has the version elsewhere.
  const headersFor = (model: Model) =>
    version === undefined ? headers : { ...headers, [versionHeader]: versionOf(model, version) };
  const send = async ({ request, model, upstream, warn }: Call<ChatRequest>) => {
    const { body, reading } = toMessagesBody(request, model, warn, takesRequestMark);
    const init = { headers: headersFor(model) };
    if (body.stream) return new MessagesOutboundStream(await upstream.events("/messages", body, init), reading);
    return fromMessage(await upstream.json("/messages", body, init), reading, Date.now());
  };
  const chat = (call: Call<ChatRequest>) =>
    withStops(call, { max: call.model.omit?.includes("stop") ? 0 : undefined, blank: false }, (stopped) =>
      sendMarked(stopped, takesRequestMark ? "request" : "message", send),
    );
  const countChatTokens = async ({ request, model, upstream }: Call<ChatRequest>): Promise<number> => {
    const { body } = toMessagesBody(request, model, () => undefined);
    const { max_tokens: _, stream: __, metadata: ___, stop_sequences: ____, temperature: _____, ...counted } = body;
    const init = { headers: headersFor(model) };
    return (await upstream.json<{ input_tokens: number }>("/messages/count_tokens", counted, init)).input_tokens;
  };
  return {
    handlers: {
      chat: Object.assign(withFunctionsAsTools(chat), { omits: () => [] }),
      countChatTokens,
      ...messagesHandlers({ headers, toUsage }),
    },
    checks: { chat: precheckMultimodal((request, { model, warn }) => toMessagesBody(request, model, warn)) },
    maxChoices: { chat: 1 },
    modelOptions,
    readError,
    readUsage: readMessagesUsage,
  };
}

const jsonInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence.";
/** For a row that does not say how much its model writes: what every model of this provider can. */
const outputTokensMaxDefault = 4096;
/** The gateway's own default, and the provider's. */
const temperatureDefaults = [0.7, 1];

const translated = `max_tokens max_completion_tokens temperature top_p stop n tools
  tool_choice parallel_tool_calls response_format reasoning_effort user cache_control`.split(/\s+/);

/** Members that there is no place for; more of them where the model is not held to schemas. */
const lostMembers = { message: ["name", "refusal", "audio"], image: ["detail"], schema: ["description"] };
const looseMembers = { ...lostMembers, function: ["strict"], schema: ["description", "strict"] };

/**
 * Translates a request, and says how its answer is to be read. What is undefined in the body is not there.
 *
 * @param takesRequestMark As {@link AnthropicOptions} has it.
 */
export function toMessagesBody(requested: ChatRequest, model: Model, warn: Warn, takesRequestMark = false) {
  const request = pickSupportedFields(limitMarks(requested), translated, model, warn);
  warnOfLostMembers(request, model.options?.jsonSchema === true ? lostMembers : looseMembers, warn);
  const limit = model.outputTokensMax ?? outputTokensMaxDefault;
  const maxTokens = Math.min(request.max_completion_tokens ?? request.max_tokens ?? limit, limit);
  const { tools, choice, schema, reading } = toFormat(request, model, warn);
  const forced = choice?.type === "any" || choice?.type === "tool";
  const obstacle = forced ? "a tool call is forced" : whyThinkingUnsupported(request.messages);
  const { thinking, effort } = toEffort(request, model, { maxTokens, obstacle, warn });
  const { system, turns } = toTurns(request.messages, thinking !== undefined);
  const requestMark: Pick<Block, "cache_control"> = takesRequestMark ? markOf(request) : {};
  if (!takesRequestMark) markLast(turns.at(-1)?.content ?? [], request);
  if (model.price?.cacheWrite1hToken === undefined) {
    shortenMarks([requestMark, { content: system }, { content: tools }, ...turns]);
  }
  if (reading.fenced) system.push({ type: "text", text: jsonInstruction });
  const marked = system.some((block) => block.cache_control);
  const stops = [request.stop ?? []].flat().filter((stop) => stop.trim() !== "");
  const body = {
    model: model.upstreamId,
    max_tokens: maxTokens,
    messages: turns,
    stream: request.stream === true,
    system: marked ? system : system.map(({ text }) => text).join("\n") || undefined,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: choice,
    thinking,
    output_config: effort || schema ? { effort, format: schema && { type: "json_schema", schema } } : undefined,
    ...toSampling(request, thinking !== undefined, warn),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: request.user ? { user_id: request.user } : undefined,
    ...requestMark,
  };
  return { body, reading };
}

interface Format extends ToolPlan {
  reading: Reading;
  schema?: object;
}

function toFormat(request: ChatRequest, model: Model, warn: Warn): Format {
  const budget = new SchemaBudget();
  const plan = toTools(request, model, budget, warn);
  const format = request.response_format;
  const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
  if (schema === undefined) return { ...plan, reading: { fenced: !!format && format.type !== "text" } };
  if (model.options?.jsonSchema === true) {
    return {
      ...plan,
      reading: {},
      schema: strictSchema(schema, "response_format.json_schema.schema", budget, warn),
    };
  }
  if (plan.choice?.type === "tool") return { ...plan, reading: {} };
  let name = "json_answer";
  const names = new Set(plan.tools.map((tool) => tool.name));
  while (names.has(name)) name += "_";
  const tool = { name, description: "Gives the answer to the user", input_schema: toWholeSchema(schema) };
  const others = plan.tools.length > 0 && plan.choice?.type !== "none";
  const choice = others ? ({ type: "any" } as const) : ({ type: "tool", name } as const);
  const single = { ...choice, disable_parallel_tool_use: true } as const;
  return { tools: [...plan.tools, tool], choice: single, reading: { jsonTool: name } };
}

/** The provider takes temperature up to 1, or top_p, not both, and neither with thinking. */
function toSampling({ temperature, top_p: topP }: ChatRequest, thinks: boolean, warn: Warn) {
  const asksTopP = typeof topP === "number" && topP !== 1;
  const asksTemperature = typeof temperature === "number" && !temperatureDefaults.includes(temperature);
  const asks = asksTopP || asksTemperature;
  if (thinks && asks) warn("Left out temperature and top_p, which do not go with thinking", ["temperature", "top_p"]);
  if (thinks) return {};
  if (asksTopP && !asksTemperature) return { top_p: topP };
  if (asksTopP) warn("Left out top_p, which does not go with temperature", "top_p");
  if (typeof temperature !== "number") return {};
  if (temperature > 1) warn("Lowered temperature to 1, the most this provider takes", "temperature");
  return { temperature: Math.min(temperature, 1) };
}

/**
 * Sorts messages into the system text and turns that alternate, each call's results first in theirs. A system message behind
 * the first of others is a part of the user's turn there: moved to the front, it would change what the provider has in its cache.
 * Reasoning that the client brought back go along only while the model is to think.
 */
function toTurns(messages: readonly Message[], thinks: boolean): { system: Block[]; turns: Turn[] } {
  const system: Block[] = [];
  const turns: Turn[] = [];
  const ids = new CallIds("messages");
  const systemMessages = countSystemMessages(messages);
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    const { role, tool_calls: calls } = message;
    const path = `messages[${index}]`;
    if (role === "tool" || role === "function") throw resultWithoutCall(`${path}.tool_call_id`);
    const blocks = toBlocks(message.content, `${path}.content`, role === "user" ? "media" : "text");
    if (index < systemMessages) system.push(...markLast(blocks, message));
    else if (role !== "assistant") append(turns, "user", markLast(blocks, message));
    else {
      const called = (calls ?? []).map((call, place) => toCall(call, ids, `${path}.tool_calls[${place}]`));
      const thoughts = thinks ? readDetails(message) : [];
      append(turns, role, [...thoughts, ...markLast([...blocks, ...called], message)]);
      append(turns, "user", toResults(messages, index, called));
      if (called.length > 0) while (messages[index + 1]?.role === "tool") index++;
    }
  }
  const last = turns.at(-1);
  const end = last?.role === "assistant" ? last.content.at(-1) : undefined;
  // A turn that the model is to go on with may not end in white space.
  if (end?.text !== undefined) end.text = end.text.trimEnd();
  if (last !== undefined) return { system, turns };
  if (system.length === 0)
    throw badRequest("The messages hold nothing, expected text or another part in one", "messages");
  return { system: [], turns: [{ role: "user", content: system }] };
}

function append(turns: Turn[], role: Turn["role"], blocks: Block[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, content: blocks });
}

function toCall(call: ToolCall, ids: CallIds, path: string): Block {
  const id = ids.take(call.id);
  return { type: "tool_use", id, name: call.function.name, input: readArguments(call, path), ...markOf(call) };
}

/** The results of a message's calls. A client of the Messages protocol may have marked one as failed, or to be cached. */
function toResults(messages: readonly Message[], index: number, calls: Block[]): Block[] {
  return getToolResults(messages, index).map(({ message, index: at }, place) => {
    const blocks = toBlocks(message.content, `messages[${at}].content`, "media");
    const content = blocks.length > 0 ? blocks : undefined;
    const failed = "is_error" in message && message.is_error === true ? { is_error: true } : {};
    return { type: "tool_result", tool_use_id: calls[place]?.id, content, ...failed, ...markOf(message) };
  });
}

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Content as blocks. Blank text is left out, because the provider refuses it. */
function toBlocks(content: Message["content"], path: string, takes: "text" | "media"): Block[] {
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts
    .map((part, index) => ({ ...toBlock(part, `${path}[${index}]`, takes), ...markOf(part) }))
    .filter((block) => block.text?.trim() !== "");
}

/** Gives the last of the blocks the mark of what they were made of. Blocks that have just been made are changed in place. */
function markLast(blocks: Block[], holder: object): Block[] {
  const last = blocks.at(-1);
  const mark = readMark(holder);
  if (last !== undefined && mark !== undefined) last.cache_control ??= mark;
  return blocks;
}

/** Makes marks those of five minutes, in place: an hour's write costs more, which not every price says. */
function shortenMarks(blocks: Partial<Pick<Block, "cache_control" | "content">>[]): void {
  for (const block of blocks) {
    if (block.cache_control !== undefined) block.cache_control = { type: "ephemeral" };
    if (Array.isArray(block.content)) shortenMarks(block.content);
  }
}

function toBlock(part: ContentPart, path: string, takes: "text" | "media"): Block {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "refusal") return { type: "text", text: part.refusal };
  if (takes === "text")
    throw badRequest(`Cannot send ${part.type} here, expected text: user and tool messages take it`, path);
  if (part.type === "image_url") {
    return { type: "image", source: toSource(part.image_url.url, imageTypes, `${path}.image_url.url`) };
  }
  if (part.type === "input_audio")
    throw badRequest("This model does not support audio input, expected text, image_url or file parts", path);
  const { file_data: data, filename: name }: Record<string, unknown> = part.file;
  const url = typeof data === "string" ? data : "";
  const text = readTextUrl(url);
  const source =
    text === undefined
      ? toSource(url, ["application/pdf"], `${path}.file.file_data`)
      : { type: "text", media_type: "text/plain", data: text.toString() };
  return { type: "document", source, title: typeof name === "string" ? name : undefined };
}

function toSource(url: string, mediaTypes: string[], path: string): Record<string, string> {
  if (url.startsWith("https://")) return { type: "url", url };
  const { mediaType, base64 } = readMedia(url, mediaTypes, path);
  return { type: "base64", media_type: mediaType, data: base64 };
}

/** The tools of a request as the provider takes them, and which of them the model may or must call. */
interface ToolPlan {
  tools: { name: string; [field: string]: unknown }[];
  choice?: { type: "none" | "auto" | "any" | "tool"; name?: string; disable_parallel_tool_use?: true } | undefined;
}

function toTools(request: ChatRequest, model: Model, budget: SchemaBudget, warn: Warn): ToolPlan {
  const decision = readToolChoice(request);
  const choice = toChoice(request, decision);
  // Calls in the conversation need their tools defined, even when the request no longer has tools.
  const called = request.messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function.name));
  if (!request.tools?.length && called.length > 0) {
    const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" } }));
    return { tools, choice: { type: "none" } };
  }
  const canBeStrict = model.options?.jsonSchema === true;
  const tools = (request.tools ?? [])
    .map((tool, index) => {
      const param = `tools[${index}].function.parameters`;
      return toTool(tool, (schema) => (canBeStrict ? strictSchema(schema, param, budget, warn) : undefined));
    })
    .filter(({ name }) => decision?.names?.has(name) ?? true);
  if (tools.length === 0) return { tools };
  if (request.parallel_tool_calls !== false || choice?.type === "none") return { tools, choice };
  return { tools, choice: { type: "auto", ...choice, disable_parallel_tool_use: true } };
}

/** A schema that the provider can hold the model to. */
export function strictSchema(schema: object, param: string, budget: SchemaBudget, warn: Warn): object {
  const { schema: reduced, dropped } = reduceSchema(schema, strictSubset, param, budget);
  if (dropped.length > 0) warn(`Left out of ${param}: ${dropped.join(", ")}`, param);
  return reduced;
}

function toTool(tool: Tool, toStrict: (schema: object) => object | undefined) {
  const { name, description, parameters, strict } = tool.function;
  const schema = toWholeSchema(parameters);
  const definition = {
    name,
    description: description ?? undefined,
    input_schema: schema,
    ...markOf(tool),
    ...markOf(tool.function),
  };
  const reduced = strict ? toStrict(schema) : undefined;
  return reduced === undefined ? definition : { ...definition, input_schema: reduced, strict };
}

function toChoice({ tool_choice: choice }: ChatRequest, decision: ToolDecision | undefined): ToolPlan["choice"] {
  if (decision?.mode !== "required") return decision && { type: decision.mode };
  if (typeof choice === "string" || choice?.type !== "function") return { type: "any" };
  return { type: "tool", name: choice.function.name };
}

const budgetTokensMin = 1024;
const budgetTokens = new Map(Object.entries({ low: 2048, medium: 8192, high: 24_576, xhigh: 32_000, max: 32_000 }));

/** The reasoning that a client sent back on an assistant message; that of other providers is left out. */
function readDetails(message: Message & { reasoning_details?: unknown }): Block[] {
  return readClaudeBlocks(message.reasoning_details);
}

/** Why the model cannot think in this conversation: an open tool turn must come back with its reasoning in front. */
function whyThinkingUnsupported(messages: readonly Message[]): string | undefined {
  if (messages.at(-1)?.role === "assistant") return "the last message is the beginning of the answer";
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const question = messages.findLastIndex(({ role }, index) => role === "user" && index < last);
  const open = messages.slice(question + 1);
  const bare = open.some((message) => (message.tool_calls ?? []).length > 0 && readDetails(message).length === 0);
  return bare ? "a tool turn came back without its reasoning_details" : undefined;
}

/** Translates the requested effort for a model. `obstacle` says why it cannot reason in this call. */
function toEffort(
  { reasoning_effort: requested }: ChatRequest,
  { options }: Model,
  { maxTokens, obstacle, warn }: { maxTokens: number; obstacle: string | undefined; warn: Warn },
) {
  if (!requested || requested === "none") return {};
  if (options?.thinking !== "adaptive" && options?.thinking !== "budget") {
    warn("Left out reasoning_effort, because this model does not think", "reasoning_effort");
    return {};
  }
  const adaptive = options.thinking === "adaptive";
  const effort = adaptive && Array.isArray(options.efforts) ? nearestEffort(requested, options.efforts) : undefined;
  if (adaptive && effort !== requested) {
    warn(`Took reasoning_effort ${effort}, because this model does not have ${requested}`, "reasoning_effort");
  }
  const narrow = !adaptive && maxTokens <= budgetTokensMin ? "max_tokens leaves no room for it" : undefined;
  const reason = obstacle ?? narrow;
  if (reason !== undefined) warn(`Turned thinking off, because ${reason}`, "reasoning_effort");
  if (reason !== undefined) return { effort };
  if (adaptive) return { thinking: { type: "adaptive" }, effort };
  const budget = Math.min(budgetTokens.get(requested) ?? budgetTokensMin, Math.floor(maxTokens * 0.8));
  return { thinking: { type: "enabled", budget_tokens: Math.max(budget, budgetTokensMin) } };
}

/**
 * How Claude's reasoning travels, for other protocols in which it is served: its signatures are good wherever it is. `toDetail`
 * and `readDetails` carry them out and back, `whyThinkingUnsupported` and `toEffort` say whether and how much it may think.
 *
 * @example
 * claudeThoughts.toDetail({ type: "redacted_thinking", data: "x" }, 0).type; // => "reasoning.encrypted"
 */
export const claudeThoughts = { toDetail: toClaudeDetail, readDetails, whyThinkingUnsupported, toEffort };
