import { badRequest } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { toObjectText } from "../../lib/tool-arguments.ts";
import type { Call, ChatRequest, ContentPart, Handlers, Message, ResponseFormat } from "../../provider/index.ts";
import { withCoveredLifetimes } from "../cache-marks.ts";

import { type ChatOptions, fitReasoning, resolveOptions, toBody, warnOfTier, withCacheKey } from "../openai/request.ts";
import { readResponsesItems } from "../reasoning.ts";
import { withStops } from "../stops.ts";
import { warnOfLostMembers } from "../supported-fields.ts";
import { toWholeSchema, withWholeSchema } from "../tool-schema.ts";
import { withCallIds, withFunctionsAsTools } from "../tools.ts";
import { fromResponse, ResponsesOutboundStream } from "./provider-stream.ts";

const path = "/responses";

/**
 * A chat handler that asks for the models by the Responses protocol whose rows have that endpoint, and where the provider has
 * both for the reasoning that chat does not do.
 */
export function withResponsesEndpoint(
  chat: NonNullable<Handlers["chat"]>,
  defaults: ChatOptions,
  hasBoth: boolean,
): typeof chat {
  // The protocol has no `stop`.
  const chatByResponses = withFunctionsAsTools((call) =>
    withStops(call, { max: 0 }, (stopped) => ask(stopped, resolveOptions(defaults, call.model))),
  );
  return (call) => {
    const isByResponses =
      call.model.endpoint === "responses" ||
      (hasBoth && wantsMoreThanChat(call.request, resolveOptions(defaults, call.model)));
    return isByResponses ? chatByResponses(call) : chat(call);
  };
}

/**
 * Whether reasoning is asked for that the model does not do beside tools in chat. What only chat takes, which is several
 * choices in one request, audio and a very short answer, stays there.
 */
function wantsMoreThanChat(request: ChatRequest, { toolEfforts }: ChatOptions): boolean {
  const { tools, functions, reasoning_effort: effort, n, messages } = request;
  if (toolEfforts === undefined || typeof effort !== "string" || toolEfforts.includes(effort)) return false;
  if (!tools?.length && !functions?.length) return false;
  const limit = request.max_completion_tokens ?? request.max_tokens;
  if ((n ?? 1) > 1 || (typeof limit === "number" && limit < outputTokensMin)) return false;
  return !messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type === "input_audio"));
}

/** A count of the tokens of a chat request, by the count of the Responses protocol. */
export function countChatTokens(defaults: ChatOptions): NonNullable<Handlers["countChatTokens"]> {
  return async ({ request, model, upstream }) => {
    const call = { request, model, warn: () => undefined };
    const { input, tools, tool_choice, text, reasoning } = toResponsesRequest(call, resolveOptions(defaults, model));
    const body = { model: model.upstreamId, input, tools, tool_choice, text, reasoning };
    return (await upstream.json<{ input_tokens: number }>("/responses/input_tokens", body)).input_tokens;
  };
}

/** The protocol takes tools beside any effort. */
async function ask(call: Call<ChatRequest>, defaults: ChatOptions) {
  const { toolEfforts: _, toolEffortDefault: __, ...options } = defaults;
  const body = toResponsesRequest({ ...call, request: withCacheKey(call.request, call, options) }, options);
  const format = call.request.response_format?.type;
  const asksJson = format === "json_schema" || format === "json_object";
  const onTier = (tier: unknown) => warnOfTier(tier, call, options);
  if (body.stream === true) {
    return new ResponsesOutboundStream(await call.upstream.events(path, body), onTier, asksJson);
  }
  const answer = await call.upstream.json(path, body);
  onTier(isRecord(answer) ? answer.service_tier : undefined);
  return fromResponse(answer, asksJson);
}

type Item = Record<string, unknown>;

/** The least that the protocol takes. */
const outputTokensMin = 16;

/** Fields that mean the same in both protocols. */
const sameFields: ReadonlySet<string> = new Set(
  `model stream temperature top_p parallel_tool_calls metadata user safety_identifier prompt_cache_key
  prompt_cache_retention prompt_cache_options service_tier top_logprobs`.split(/\s+/),
);
/** Fields that are translated, and those that ask for what happens anyway. */
const otherFields: ReadonlySet<string> = new Set(
  `messages max_tokens max_completion_tokens reasoning_effort verbosity response_format tools tool_choice logprobs
  stream_options store n`.split(/\s+/),
);

const lostMembers = { message: ["name", "refusal", "audio"] };

/**
 * The Responses request that a chat request comes to. Nothing is stored at the provider, so that the reasoning of a model
 * that reasons travel sealed in `reasoning_details`.
 *
 * @throws {GatewayError} `invalid_request` for audio, and for a limit that the protocol does not take.
 */
function toResponsesRequest(
  requested: Pick<Call<ChatRequest>, "request" | "model" | "keepsLonger" | "warn">,
  options: ChatOptions,
): Item {
  const { model, warn } = requested;
  const call = { model, warn, request: withCoveredLifetimes(requested.request, requested) };
  const chat = toBody(call, options);
  fitReasoning(chat, call, options);
  warnOfLostMembers(call.request, lostMembers, warn);
  if (chat.store === true) warn("Left out store: the gateway stores nothing at providers", "store");
  const body: Item = { store: false, input: toInput(call.request.messages, options) };
  for (const [field, value] of Object.entries(chat)) {
    if (sameFields.has(field)) body[field] = value;
    else if (!otherFields.has(field)) call.warn(`Left out ${field}: /responses does not take it`, field);
  }
  if (chat.stream !== true || options.streams === false) delete body.stream;
  const limit = toLimit(chat);
  const include = [
    ...(call.model.reasoning === true ? ["reasoning.encrypted_content"] : []),
    ...(chat.logprobs === true ? ["message.output_text.logprobs"] : []),
  ];
  const text = {
    ...(isRecord(chat.response_format) && { format: toFormat(chat.response_format as ResponseFormat) }),
    ...(chat.verbosity !== undefined && { verbosity: chat.verbosity }),
  };
  const { tools, tool_choice: choice } = chat;
  return {
    ...body,
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...(include.length > 0 && { include }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(chat.reasoning_effort !== undefined && { reasoning: { effort: chat.reasoning_effort } }),
    ...(Array.isArray(tools) && tools.length > 0 && { tools: tools.map(toTool) }),
    ...(choice !== undefined && { tool_choice: isRecord(choice) ? toChoice(choice) : choice }),
  };
}

function toLimit({ max_completion_tokens: newer, max_tokens: older }: Item): unknown {
  const limit = newer ?? older;
  return typeof limit === "number" ? Math.max(limit, outputTokensMin) : limit;
}

/** Chat nests members under the name of the type; here they stand beside the type. */
function flatten(holder: Item): Item {
  const { type } = holder;
  const inner = typeof type === "string" ? holder[type] : undefined;
  return isRecord(inner) ? { type, ...inner } : holder;
}

function toFormat(format: ResponseFormat): Item {
  return flatten(format);
}

/** A function is strict here unless the tool says otherwise; in chat it is the other way round. */
function toTool(tool: Item): Item {
  const flat = flatten(tool);
  if (flat.type === "function") {
    const { name, description, parameters, strict } = withWholeSchema(flat);
    return {
      type: "function",
      name,
      ...(typeof description === "string" && { description }),
      parameters: isRecord(parameters) ? parameters : toWholeSchema(undefined),
      strict: strict === true,
    };
  }
  return isRecord(flat.format) ? { ...flat, format: flatten(flat.format) } : flat;
}

function toChoice(choice: Item): Item {
  const flat = flatten(choice);
  return Array.isArray(flat.tools) ? { ...flat, tools: flat.tools.map(flatten) } : flat;
}

function toInput(messages: readonly Message[], { systemRole }: ChatOptions): Item[] {
  const customCalls = new Set<string>();
  return withCallIds(messages, "responses").flatMap((message, index): Item[] => {
    const path = `messages[${index}].content`;
    const { role, content } = message;
    if (role === "assistant") return toTurn(message, path, customCalls);
    if (role === "tool" || role === "function") return [toResult(message, path, customCalls)];
    return [{ role: role === "user" ? role : (systemRole ?? role), content: toContent(content, path) }];
  });
}

/** Translates an answer of the model: its reasoning, its text, its calls. */
function toTurn(message: Message & { reasoning_details?: unknown }, path: string, customCalls: Set<string>): Item[] {
  const { content, tool_calls: calls = [] } = message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : (content ?? []);
  const contentItems = parts.flatMap((part, index): Item[] => {
    // Some servers refuse a text without annotations.
    if (part.type === "text")
      return part.text === "" ? [] : [{ type: "output_text", text: part.text, annotations: [] }];
    if (part.type === "refusal") return [part];
    throw badRequest(`Cannot send ${part.type} here, expected text`, `${path}[${index}]`);
  });
  const items: Item[] = contentItems.length === 0 ? [] : [{ role: "assistant", content: contentItems }];
  for (const { id, ...call } of calls ?? []) {
    const { type, name, input, arguments: text } = flatten(call);
    if (type === "custom") customCalls.add(id);
    if (type === "custom") items.push({ type: "custom_tool_call", call_id: id, name, input });
    else items.push({ type: "function_call", call_id: id, name, arguments: toObjectText(String(text)) });
  }
  // Reasoning is refused without what followed from it.
  return items.length === 0 ? [] : [...readResponsesItems(message.reasoning_details), ...items];
}

function toResult(message: Message & { is_error?: unknown }, path: string, customCalls: ReadonlySet<string>): Item {
  const { content, is_error: isError } = message;
  const id = message.tool_call_id ?? "";
  const contentParts = toContent(content, path);
  const failed =
    typeof contentParts === "string"
      ? `Error: ${contentParts}`
      : [{ type: "input_text", text: "Error:" }, ...contentParts];
  const type = customCalls.has(id) ? "custom_tool_call_output" : "function_call_output";
  return { type, call_id: id, output: isError === true ? failed : contentParts };
}

function toContent(content: Message["content"], path: string): string | Item[] {
  if (!Array.isArray(content)) return content ?? "";
  return content.map((part, index) => toPart(part, `${path}[${index}]`));
}

function toPart(part: ContentPart, path: string): Item {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "refusal":
      return { type: "input_text", text: part.refusal };
    case "image_url": {
      const { url, detail = "auto" } = part.image_url;
      return { type: "input_image", image_url: url, detail };
    }
    case "file": {
      const { file_data: data, file_id: id, filename }: Item = part.file;
      return { type: "input_file", ...(data ? { file_data: data, filename } : { file_id: id }) };
    }
    default:
      throw badRequest("This model does not support audio input, expected text, image_url or file parts", path);
  }
}
