import { createHash } from "node:crypto";
import { badRequest, GatewayError, getOwn, quoteValue } from "../../contract/index.ts";
import { isRecord, JsonTexts } from "../../lib/json.ts";
import type {
  ChatRequest,
  ContentPart,
  Loss,
  Message,
  ResponseFormat,
  Tool,
  ToolChoice,
  Warn,
} from "../../provider/index.ts";
import { markOf, readMark } from "../cache-marks.ts";
import { Conversation, toContent } from "../conversation.ts";
import { Losses, listOthers, namesOf } from "../losses.ts";
import { isOwnEnvelope, type ReasoningEnvelope } from "../reasoning.ts";
import type {
  CustomTool,
  FunctionTool,
  ItemReference,
  MessageItem,
  NamespaceTool,
  ResponseItem,
  ResponsePart,
  ResponsesRequest,
  ResponseTool,
  ToolSearchTool,
  TypedItem,
} from "./schema.ts";

/** Fields with a counterpart in a chat request, and fields that the gateway itself keeps to. */
const readFields =
  namesOf(`model input instructions stream stream_options max_output_tokens temperature top_p top_logprobs
  tools tool_choice parallel_tool_calls text reasoning include store previous_response_id background prompt_cache_key
  prompt_cache_retention prompt_cache_options service_tier truncation metadata user safety_identifier cache_control
  prompt_cache_breakpoint`);
/** The members that are read of fields that have others. */
const readMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  text: namesOf("format verbosity"),
  reasoning: namesOf("effort summary"),
  stream_options: namesOf(""),
};
/** Parts of an answer that `include` asks for, and that every model can give. */
const included: ReadonlySet<string> = new Set(["reasoning.encrypted_content", "message.output_text.logprobs"]);

/** Members that an item, a part or a tool of any type may have. */
const commonMembers = namesOf("type id status cache_control prompt_cache_breakpoint");
const partOf = (text: string) => namesOf(text).union(commonMembers);
const itemMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  message: partOf("role content"),
  function_call: partOf("call_id name namespace arguments"),
  function_call_output: partOf("call_id output"),
  custom_tool_call: partOf("call_id name namespace input"),
  custom_tool_call_output: partOf("call_id output"),
  tool_search_call: partOf("call_id execution arguments"),
  tool_search_output: partOf("call_id execution tools"),
  additional_tools: partOf("role tools"),
  reasoning: partOf("summary content encrypted_content"),
};
const partMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: partOf("text"),
  output_text: partOf("text"),
  text: partOf("text"),
  refusal: partOf("refusal"),
  input_image: partOf("image_url detail"),
  input_file: partOf("file_data filename"),
  input_audio: partOf("input_audio"),
};
const toolMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  function: partOf("name description parameters strict"),
  custom: partOf("name description format"),
  namespace: partOf("name description tools"),
  tool_search: partOf("execution description parameters"),
};

/** Says of a tool that a search is to find it first. */
const deferred = namesOf("defer_loading");

/** Tells of the members of a part of the request that are not read; of a part of another kind something else is told. */
function noteOthers(part: object, read: ReadonlySet<string> | undefined, path: string, warn: Warn): void {
  if (read === undefined) return;
  for (const name of listOthers(part, read)) {
    warn(`Left out ${name}, which only its own provider takes`, path === "" ? name : `${path}.${name}`);
  }
}

/** Options of a request's translation. */
export interface TranslationOptions extends StoredContext {
  /** For the caller's account. */
  envelope: ReasoningEnvelope;
  /** The id of the model; default the name in the request. */
  model?: string;
}

/** Facts of a request that the translation of its answer needs. */
export interface ResponsePlan {
  request: ResponsesRequest;
  tools: ToolSet;
  envelope: ReasoningEnvelope;
  stored: boolean;
  /** Whether reasoning items carry `encrypted_content`. */
  sealsThoughts: boolean;
  /** The items of this turn with references resolved, without the earlier ones: what is to be stored with the answer. */
  input: ResponseItem[];
  /** Fields left out or changed. */
  losses: readonly Loss[];
}

/**
 * Refuses what no route serves: background answers and stored conversations.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkResponsesRequest(request: unknown): void {
  if (!isRecord(request)) return;
  if (request.background === true) {
    throw badRequest("background is not available here, expected false: use stream for long answers", "background");
  }
  if (request.conversation !== undefined && request.conversation !== null) {
    const message = "conversation is not available here, expected previous_response_id or the items in input";
    throw badRequest(message, "conversation");
  }
  if (isRecord(request.prompt)) {
    throw badRequest("Prompt templates are stored at their own provider, expected the text in input", "prompt");
  }
}

/**
 * Translates a request to chat, and says how the answer is to be translated back.
 *
 * @throws {GatewayError} `invalid_request` for what chat cannot express, a reference to an unknown item, a call without
 *   its output or the reverse, and two tools that become one function.
 */
export function fromResponsesRequest(
  request: ResponsesRequest,
  options: TranslationOptions,
): { chat: ChatRequest; plan: ResponsePlan } {
  checkResponsesRequest(request);
  const { envelope, model = request.model, earlier = [], stored } = options;
  const input = resolveInput(request, options);
  const losses = new Losses();
  const { warn } = losses;
  const tools = new ToolSet(warn);
  tools.add(request.tools ?? [], "tools", false);
  const reader = new ConversationReader({ tools, envelope, model, items: [...earlier, ...input], warn });
  reader.addSystem(request.instructions ?? "");
  for (const item of earlier) reader.add(item, "previous_response_id");
  input.forEach((item, index) => {
    reader.add(item, typeof request.input === "string" ? "input" : `input[${index}]`);
  });
  const messages = reader.end();
  if (messages.length === 0) throw badRequest("input is empty, expected text or items", "input");
  const chat: ChatRequest = {
    model: request.model,
    messages,
    ...toToolFields(request, tools, warn),
    ...toSettings(request, warn),
    ...markOf(request),
  };
  const sealsThoughts = stored || includes(request, "reasoning.encrypted_content");
  const plan = { request, tools, envelope, stored, sealsThoughts, input, losses: losses.list };
  return { chat, plan };
}

function includes({ include }: ResponsesRequest, name: string): boolean {
  return include?.includes(name) === true;
}

function toSettings(request: ResponsesRequest & Record<string, unknown>, warn: Warn) {
  const { text, reasoning, truncation, include, service_tier: tier } = request;
  if (truncation === "auto") warn("Left out truncation auto: an input that is too long is refused", "truncation");
  noteOthers(request, readFields, "", warn);
  for (const [field, read] of Object.entries(readMembers)) {
    const value = request[field];
    if (isRecord(value)) noteOthers(value, read, field, warn);
  }
  const missing = include?.filter((name) => !included.has(name)) ?? [];
  if (missing.length > 0) warn(`Left out ${missing.join(", ")} of include: only its own provider has it`, "include");
  const format = toResponseFormat(text?.format);
  const wantsLogprobs = Boolean(request.top_logprobs) || includes(request, "message.output_text.logprobs");
  return omitAbsent({
    stream: request.stream,
    stream_options: request.stream === true ? { include_usage: true } : undefined,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    logprobs: wantsLogprobs ? true : undefined,
    top_logprobs: request.top_logprobs ? request.top_logprobs : undefined,
    response_format: format,
    verbosity: text?.verbosity,
    reasoning_effort: reasoning?.effort,
    prompt_cache_key: request.prompt_cache_key,
    prompt_cache_retention: request.prompt_cache_retention,
    prompt_cache_options: request.prompt_cache_options,
    user: request.user,
    safety_identifier: request.safety_identifier,
    // `auto` is a provider's behaviour without the field.
    service_tier: tier === "auto" ? undefined : tier,
  });
}

function toResponseFormat(format: NonNullable<ResponsesRequest["text"]>["format"]): ResponseFormat | undefined {
  if (format?.type === "json_object") return { type: "json_object" };
  if (format?.type !== "json_schema") return undefined;
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, ...omitAbsent({ strict, description }) } };
}

type Present<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> };

function omitAbsent<Fields extends object>(fields: Fields): Present<Fields> {
  const present: Present<Fields> = {};
  for (const name in fields) if (fields[name] !== undefined && fields[name] !== null) present[name] = fields[name];
  return present;
}

/**
 * Explains a chat body on the Responses endpoint.
 *
 * @returns `undefined` for any other body.
 */
export function refuseChatBody(body: unknown): GatewayError | undefined {
  if (!isRecord(body) || !Array.isArray(body.messages) || "input" in body) return undefined;
  const message = "This is a body of /chat/completions, expected input in place of messages: send it there";
  return badRequest(message, "messages");
}

/** Context of the translation of a conversation. */
interface ConversationOptions {
  tools: ToolSet;
  envelope: ReasoningEnvelope;
  /** The id of the model that the request is for: it alone can use what was sealed for it. */
  model: string;
  /** The items of the whole conversation. */
  items: readonly ResponseItem[];
  warn: Warn;
}

type Mark = ReturnType<typeof markOf>;

/** An item of a type that is not among those of the schema. */
type OtherItem = { type: string } & Record<string, unknown>;

/** Reads items into a conversation: what the model said in a row becomes one message. */
class ConversationReader {
  readonly #conversation = new Conversation();
  readonly #texts = new JsonTexts();
  readonly #tools: ToolSet;
  readonly #envelope: ReasoningEnvelope;
  readonly #model: string;
  readonly #items: readonly ResponseItem[];
  readonly #warn: Warn;
  #answeredCalls: ReadonlySet<unknown> | undefined;

  constructor({ tools, envelope, model, items, warn }: ConversationOptions) {
    this.#items = items;
    this.#tools = tools;
    this.#envelope = envelope;
    this.#model = model;
    this.#warn = warn;
  }

  /** @throws {GatewayError} `invalid_request` when an output answers no call, or a part has no meaning in chat. */
  add(item: ResponseItem, path: string): void {
    noteOthers(item, isMessage(item) ? itemMembers.message : getOwn(itemMembers, item.type ?? ""), path, this.#warn);
    if (isMessage(item)) this.#addMessage(item, path);
    else this.#addTyped(item as TypedItem, path);
  }

  addSystem(text: string): void {
    if (text !== "") this.#conversation.add("system", text);
  }

  /** @throws {GatewayError} `invalid_request` when a call has no output. */
  end(): Message[] {
    const call = this.#conversation.findOpenCall();
    if (call === undefined) return this.#conversation.toMessages();
    if (call.isRepeated) {
      const message = `The call ${quoteValue(call.id)} is there twice, expected an id of its own for each call`;
      throw badRequest(message, `${call.path}.call_id`);
    }
    throw badRequest(`No tool output found for the call ${quoteValue(call.id)}, expected one for each call`, "input");
  }

  #addMessage(item: MessageItem, path: string): void {
    this.#addParts(item, toParts(item.content, `${path}.content`, this.#warn));
  }

  #addParts(item: Pick<MessageItem, "role">, parts: ContentPart[]): void {
    const { role } = item;
    const last = parts.at(-1);
    const mark = readMark(item);
    if (last !== undefined && mark !== undefined)
      parts.splice(-1, 1, { ...last, cache_control: mark, ...markOf(last) });
    if (role === "assistant") {
      const text = joinText(parts, "");
      if (text !== "") this.#addText(text, markOf(parts.findLast((part) => readMark(part) !== undefined) ?? {}));
      return;
    }
    const inner = toContent(parts);
    // "system" is the name that every provider knows for both roles.
    if (inner !== undefined) this.#conversation.add(role === "user" ? "user" : "system", inner);
  }

  /** Adds text to the answer that goes on. Several messages of it are paragraphs of one text. */
  #addText(text: string, mark: Mark): void {
    const { parts } = this.#conversation.turn();
    const before = parts.pop();
    parts.push({ type: "text", text: before?.type === "text" ? `${before.text}\n\n${text}` : text, ...mark });
  }

  #addTyped(item: TypedItem, path: string): void {
    switch (item.type) {
      case "function_call":
        this.#texts.checkField(item.arguments, `The text of the arguments of ${item.name}`, `${path}.arguments`);
        this.#addCall(item, item.arguments, path);
        break;
      case "custom_tool_call":
        this.#addCall(item, JSON.stringify({ input: item.input }), path);
        break;
      case "tool_search_call": {
        const { call_id: id, arguments: query } = item as typeof item & { arguments?: unknown };
        // Without an id the provider searched by itself.
        if (!id) this.#warn("Left out a search for tools that the provider ran", path);
        else this.#addCall({ call_id: id, name: "tool_search" }, JSON.stringify(query ?? {}), path);
        break;
      }
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addResult(item.call_id, toParts(item.output, `${path}.output`, this.#warn), path, markOf(item));
        break;
      case "tool_search_output": {
        const names = this.#tools.add(item.tools, `${path}.tools`, true);
        const text = names.length > 0 ? `Now available: ${names.join(", ")}` : "No tools were found";
        if (item.call_id) this.#addResult(item.call_id, [{ type: "text", text }], path);
        break;
      }
      case "additional_tools":
        this.#tools.add(item.tools, `${path}.tools`, true);
        break;
      case "reasoning":
        this.#addThoughts(item, path);
        break;
      default:
        this.#addOther(item as OtherItem, path);
    }
  }

  /** An item of another type: a call or its output, a message if it has text, or something that only its own provider can read. */
  #addOther(item: OtherItem, path: string): void {
    const { type } = item;
    const name = /^(\w+)_call$/.exec(type)?.[1];
    // An output that names no call has the id of the call as its own.
    const outputId = type.endsWith("_output") ? (item.call_id ?? item.id) : undefined;
    if (typeof outputId === "string" && this.#conversation.hasCall(outputId)) {
      const { output } = item;
      const parts = toReadableParts(output, `${path}.output`, this.#warn);
      const text = typeof output === "string" ? output : JSON.stringify(output ?? null);
      this.#addResult(outputId, parts.length > 0 ? parts : [{ type: "text", text }], path, markOf(item));
      return;
    }
    if (name !== undefined && typeof item.call_id === "string" && this.#isAnswered(item.call_id)) {
      const { type: _, id: __, call_id: id, status: ___, cache_control: ____, ...args } = item;
      this.#addCall({ ...markOf(item), call_id: id as string, name }, JSON.stringify(args), path);
      return;
    }
    // Reasoning is the model's own, so it is no message of somebody else.
    const parts = type.endsWith("reasoning") ? [] : toReadableParts(item.content ?? item.text, path, this.#warn);
    if (parts.length > 0) this.#addParts(toSpoken(item), withSender(item, parts));
    else this.#warn(`Left out an item of type ${quoteValue(type)}, which only its own provider can read`, path);
  }

  #isAnswered(callId: string): boolean {
    this.#answeredCalls ??= new Set(
      this.#items.flatMap((item) => {
        const { type, call_id: answered, id } = item as OtherItem;
        return type?.endsWith("_output") ? [answered ?? id] : [];
      }),
    );
    return this.#answeredCalls.has(callId);
  }

  #addCall(item: { call_id: string; name: string; namespace?: string | null }, text: string, path: string): void {
    const { call_id: id, name, namespace } = item;
    const call = { name: toFunctionName(name, namespace), arguments: text };
    const turn = this.#conversation.turn();
    this.#conversation.addCall(turn, { id, type: "function", function: call, ...markOf(item) }, path);
  }

  #addResult(callId: string, parts: ContentPart[], path: string, mark: Mark = {}): void {
    if (!this.#conversation.hasCall(callId)) {
      const message = `No tool call found for the output of ${quoteValue(callId)}, expected its call before it`;
      throw badRequest(message, `${path}.call_id`);
    }
    const isText = parts.every((part) => part.type === "text" && !("cache_control" in part));
    const content = isText ? joinText(parts, "\n") : parts;
    if (this.#conversation.addResult(callId, { content, ...mark })) return;
    throw badRequest(`The call ${quoteValue(callId)} has two outputs, expected one`, `${path}.call_id`);
  }

  #addThoughts(item: { encrypted_content?: string | null }, path: string): void {
    const { encrypted_content: encryptedContent } = item;
    if (!encryptedContent) {
      if (listOthers(item, commonMembers).length > 0) this.#warn("Left out reasoning that is not sealed", path);
      return;
    }
    const opened = this.#envelope.open(encryptedContent);
    if (opened.origin === "altered" || opened.origin === "foreign") throw unverified(`${path}.encrypted_content`);
    if (opened.origin !== "own" || opened.reasoning.model !== this.#model) {
      this.#warn("Left out encrypted_content that this model cannot use", path);
      return;
    }
    const { details = [], text = "" } = opened.reasoning;
    const turn = this.#conversation.turn();
    turn.details.push(...details);
    turn.reasoning += text;
  }
}

/** The refusal of an envelope of another account or gateway, or one that was changed. */
function unverified(param: string): GatewayError {
  const message = "Cannot verify encrypted_content: it was changed, or made for another account; leave the item out";
  return new GatewayError("invalid_request", message, { param, publicCode: "invalid_encrypted_content" });
}

/** The request without reasoning that was sealed here, for a native route: its provider refuses them. */
export function removeOwnThoughts(request: ResponsesRequest): ResponsesRequest {
  if (!Array.isArray(request.input)) return request;
  const input = request.input.filter(
    (item) => item.type !== "reasoning" || !("encrypted_content" in item && isOwnEnvelope(item.encrypted_content)),
  );
  return input.length === request.input.length ? request : { ...request, input };
}

type Content = string | readonly { type: string }[];

/**
 * The parts of a message or of a tool's output as parts of chat. Text that is empty is left out.
 *
 * @throws {GatewayError} `invalid_request` for a part that only one provider could read.
 */
function toParts(content: Content, path: string, warn: Warn): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content
    .map((part, index) => {
      const place = `${path}[${index}]`;
      if (part.type === "encrypted_content") return toSealedPart(place, warn);
      noteOthers(part, getOwn(partMembers, part.type), place, warn);
      return toPart(part as ResponsePart, place, warn);
    })
    .filter((part) => part.type !== "text" || part.text !== "");
}

/** The model is told of a part that it cannot read: it would guess what the others are about. */
function toSealedPart(path: string, warn: Warn): ContentPart {
  warn("Left out encrypted_content of a message, which only its own provider can read", path);
  return { type: "text", text: "[Encrypted content that only another model can read]" };
}

/** The text, the images and the files of an item whose type is not known; what else it has is left out. */
function toReadableParts(content: unknown, path: string, warn: Warn): ContentPart[] {
  if (typeof content === "string") return toParts(content, path, warn);
  const parts = listOf(content).flatMap((part): { type: string }[] => {
    const { type, text, image_url: url, file_data: data, filename } = part;
    if (type === "encrypted_content") return [{ type }];
    if (typeof text === "string") return [{ ...part, type: "text" }];
    if (typeof url === "string" && url !== "") return [{ ...part, type: "input_image" }];
    if (typeof data !== "string" || data === "") return [];
    return [Object.assign({ type: "input_file", file_data: data }, typeof filename === "string" && { filename })];
  });
  return toParts(parts, path, warn);
}

function listOf(value: unknown): Record<string, unknown>[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isRecord);
}

/** The role of an item that has text. What does not say that the model wrote it is a user's. */
function toSpoken(item: OtherItem): Pick<MessageItem, "role"> {
  const { role } = item;
  return { ...item, role: role === "assistant" || role === "system" || role === "developer" ? role : "user" };
}

/** The parts of a message between agents, after a line that says from whom and to whom it is. */
function withSender({ author, recipient }: OtherItem, parts: ContentPart[]): ContentPart[] {
  const names = [
    ...(typeof author === "string" ? [`from ${author}`] : []),
    ...(typeof recipient === "string" ? [`to ${recipient}`] : []),
  ];
  if (names.length === 0) return parts;
  const line = `Message ${names.join(" ")}:`;
  const [first, ...rest] = parts;
  return first?.type === "text"
    ? [{ ...first, text: `${line}\n${first.text}` }, ...rest]
    : [{ type: "text", text: line }, ...parts];
}

function toPart(part: ResponsePart, path: string, warn: Warn): ContentPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part.text, ...markOf(part) };
    case "refusal":
      return { type: "text", text: part.refusal };
    case "input_image": {
      if (!part.image_url) throw ownFile("image_url", path);
      const { image_url: url, detail } = part;
      const isKnown = detail === "low" || detail === "high" || detail === "auto";
      if (detail && !isKnown) warn(`Left out the detail ${detail} of an image`, `${path}.detail`);
      return { type: "image_url", image_url: { url, ...(isKnown && { detail }) }, ...markOf(part) };
    }
    case "input_file": {
      if (!part.file_data) throw ownFile("file_data", path);
      const file = { file_data: part.file_data, ...(part.filename && { filename: part.filename }) };
      return { type: "file", file, ...markOf(part) };
    }
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    default: {
      const { type } = part as { type: string };
      throw badRequest(
        `This model takes no part of type ${quoteValue(type)}, expected text, image or file parts`,
        `${path}.type`,
      );
    }
  }
}

function ownFile(field: string, path: string) {
  return badRequest(
    `This model cannot read a file that is stored elsewhere, expected its content in ${field}`,
    `${path}.${field}`,
  );
}

/** All text of parts, those of other kinds left out. */
function joinText(parts: readonly ContentPart[], separator: string): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join(separator);
}

/** Whether an item is a message, also without its `type`. */
function isMessage(item: ResponseItem): item is MessageItem {
  return (item.type === undefined || item.type === null || item.type === "message") && "role" in item;
}

/** How the ids of items begin; those of messages with `msg`. */
const idPrefixes: Readonly<Record<string, string>> = {
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  reasoning: "rs",
};

/**
 * The input with an id on every item and string content as parts: what is listed as input items, and kept for
 * `previous_response_id` and `item_reference`.
 */
export function toStoredItems(input: readonly ResponseItem[], responseId: string): ResponseItem[] {
  const suffix = responseId.slice(responseId.indexOf("_") + 1);
  return input.map((item, index): ResponseItem => {
    const prefix = isMessage(item) ? "msg" : getOwn(idPrefixes, item.type ?? "");
    const id = item.id ?? `${prefix ?? "item"}_${suffix}_in${index}`;
    if (!isMessage(item)) return Object.assign(prefix === undefined ? {} : { status: "completed" }, item, { id });
    const message = { status: "completed", ...item, type: "message" as const, id };
    return typeof item.content === "string" ? { ...message, content: [toTextPart(item.role, item.content)] } : message;
  });
}

/** The response whose input has the item of this id, if {@link toStoredItems} made the id. */
export function getResponseOfInput(itemId: string): string | undefined {
  const suffix = /^[a-z]{1,8}_(\w{1,100})_in\d{1,5}$/.exec(itemId)?.[1];
  return suffix === undefined ? undefined : `resp_${suffix}`;
}

function toTextPart(role: MessageItem["role"], text: string): ResponsePart {
  if (role !== "assistant") return { type: "input_text", text };
  return Object.assign({ type: "output_text" as const, text }, { annotations: [], logprobs: [] });
}

/** The longest name that every provider takes. */
const nameCharactersMax = 64;
const hashCharacters = 8;

/** A tool as the client knows it. */
export interface ToolTarget {
  kind: "function" | "custom" | "tool_search";
  name: string;
  namespace?: string;
}

/** The tools of a request as functions of chat, with the way back from a function's name to the client's tool. */
class ToolSet {
  readonly tools: Tool[] = [];
  readonly #targets = new Map<string, ToolTarget>();
  readonly #warn: Warn;

  constructor(warn: Warn) {
    this.#warn = warn;
  }

  /** The client's tool behind a function's name; a name that the model made up is a function of that name. */
  getTarget(functionName: string): ToolTarget {
    return this.#targets.get(functionName) ?? { kind: "function", name: functionName };
  }

  has(functionName: string): boolean {
    return this.#targets.has(functionName);
  }

  /**
   * Adds tools of the request, or those that a tool search has loaded.
   *
   * @param isLoaded Tools that are loaded may be there already, and are then left out.
   * @returns Their function names.
   * @throws {GatewayError} `invalid_request` when two tools come to the same function name.
   */
  add(tools: readonly ResponseTool[], path: string, isLoaded: boolean): string[] {
    return tools.flatMap((tool, index) => {
      const place = `${path}[${index}]`;
      this.#noteOthers(tool, place, isLoaded);
      if (tool.type === "namespace") return this.#addNamespace(tool as NamespaceTool, place, isLoaded);
      if (tool.type === "tool_search") return this.#addToolSearch(tool as ToolSearchTool, place, isLoaded);
      return this.#addCallable(tool, { path: place, isLoaded });
    });
  }

  /** A tool that was loaded is no longer deferred. */
  #noteOthers(tool: ResponseTool, path: string, isLoaded: boolean): void {
    const read = getOwn(toolMembers, tool.type);
    noteOthers(tool, isLoaded ? read?.union(deferred) : read, path, this.#warn);
  }

  #addNamespace({ name, description, tools }: NamespaceTool, path: string, isLoaded: boolean): string[] {
    return tools.flatMap((tool, index) => {
      // Chat has no place for the description of a namespace, so its first function carries it.
      const lead = index === 0 && description ? `${description}\n\n` : "";
      const place = `${path}.tools[${index}]`;
      this.#noteOthers(tool, place, isLoaded);
      return this.#addCallable(tool, { path: place, isLoaded, namespace: name, lead });
    });
  }

  #addCallable(
    tool: ResponseTool,
    { path, isLoaded, namespace, lead = "" }: { path: string; isLoaded: boolean; namespace?: string; lead?: string },
  ): string[] {
    if (!isCallable(tool)) {
      this.#warn(`Left out the tool ${quoteValue(tool.type)}, which only its own provider can run`, path);
      return [];
    }
    const target: ToolTarget = { kind: tool.type, name: tool.name, ...(namespace !== undefined && { namespace }) };
    const name = toFunctionName(tool.name, namespace);
    if (!this.#register(name, target, path, isLoaded)) return [name];
    const description = lead + (tool.type === "custom" ? describeCustom(tool) : (tool.description ?? ""));
    const definition = tool.type === "custom" ? { parameters: inputSchema } : pickDefinition(tool);
    this.tools.push({
      type: "function",
      function: { name, ...(description !== "" && { description }), ...definition },
      ...markOf(tool),
    });
    return [name];
  }

  #addToolSearch(tool: ToolSearchTool, path: string, isLoaded: boolean): string[] {
    const { execution, description, parameters } = tool;
    if (execution !== "client") {
      this.#warn("Left out tool_search: all tools are shown to the model at once", path);
      return [];
    }
    const name = "tool_search";
    if (!this.#register(name, { kind: "tool_search", name }, path, isLoaded)) return [name];
    this.tools.push({
      type: "function",
      function: { name, ...(description && { description }), ...(parameters && { parameters }) },
      ...markOf(tool),
    });
    return [name];
  }

  /** @returns Whether it is new. */
  #register(name: string, target: ToolTarget, path: string, isLoaded: boolean): boolean {
    const other = this.#targets.get(name);
    if (other === undefined) {
      this.#targets.set(name, target);
      return true;
    }
    const isSame = other.name === target.name && other.namespace === target.namespace && other.kind === target.kind;
    if (isSame && isLoaded) return false;
    const message = `${describeTarget(target)} and ${describeTarget(other)} both become the function ${name} for this model`;
    throw badRequest(`${message}, expected different names`, `${path}.name`);
  }
}

function isCallable(tool: ResponseTool): tool is FunctionTool | CustomTool {
  return tool.type === "function" || tool.type === "custom";
}

function describeTarget({ kind, name, namespace }: ToolTarget): string {
  return `the ${kind} tool ${namespace === undefined ? name : `${name} of ${namespace}`}`;
}

/**
 * The function name of a tool. A name that is too long keeps its beginning and ends in a hash of all of it, so that it is
 * the same in every turn.
 */
function toFunctionName(name: string, namespace: string | null | undefined): string {
  const full = namespace ? `${namespace}__${name}` : name;
  if (full.length <= nameCharactersMax) return full;
  const hash = createHash("sha256").update(full).digest("hex").slice(0, hashCharacters);
  return `${full.slice(0, nameCharactersMax - hashCharacters - 1)}_${hash}`;
}

function pickDefinition({ parameters, strict }: FunctionTool) {
  return { ...(parameters && { parameters }), ...(typeof strict === "boolean" && { strict }) };
}

const inputSchema = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool as plain text" } },
  required: ["input"],
  additionalProperties: false,
};

/** Describes a custom tool to the model: its description, and the grammar, which is not enforced here. */
function describeCustom({ description, format }: CustomTool): string {
  const text = description ?? "";
  if (format?.type !== "grammar" || typeof format.definition !== "string") return text;
  const syntax = format.syntax === "regex" ? "regular expression" : "Lark grammar";
  return `${text}\n\nThe input must match this ${syntax}:\n${format.definition}`.trimStart();
}

/** `tool_choice`, `parallel_tool_calls` and the tools as chat has them; nothing of it when no tool is left. */
function toToolFields(
  request: ResponsesRequest,
  set: ToolSet,
  warn: Warn,
): Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls"> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (set.tools.length === 0) {
    if (choice && choice !== "auto" && choice !== "none")
      warn("Left out tool_choice, because no tool is left", "tool_choice");
    return {};
  }
  const chosen = choice ? toToolChoice(choice, set, warn) : undefined;
  return {
    tools: set.tools,
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(typeof parallel === "boolean" && { parallel_tool_calls: parallel }),
  };
}

type Choice = NonNullable<ResponsesRequest["tool_choice"]>;

function toToolChoice(choice: Choice, set: ToolSet, warn: Warn): ToolChoice | undefined {
  if (typeof choice === "string") return choice;
  if (choice.type === "allowed_tools") return toAllowedTools(choice, set, warn);
  const name = getChosen(choice, "tool_choice", set);
  if (name !== undefined) return { type: "function", function: { name } };
  warn(`Left out tool_choice ${quoteValue(choice.type)}, which only its own provider can run`, "tool_choice");
  return undefined;
}

function toAllowedTools(choice: Record<string, unknown>, set: ToolSet, warn: Warn): ToolChoice {
  const listed = Array.isArray(choice.tools) ? choice.tools : [];
  const functionsOf = Map.groupBy(
    set.tools.map((one) => one.function.name),
    (name) => set.getTarget(name).namespace,
  );
  // Each function once, however often it is named: a namespace stands for many.
  const names = new Set<string>();
  listed.forEach((tool, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isRecord(tool)) throw badRequest(`${path} is not an object, expected a tool's type and name`, path);
    // All functions of a namespace are allowed with it.
    if (tool.type === "namespace") {
      const functions = typeof tool.name === "string" ? functionsOf.get(tool.name) : undefined;
      for (const name of functions ?? []) names.add(name);
      functionsOf.delete(tool.name as string);
      return;
    }
    const name = getChosen(tool, path, set);
    if (name !== undefined) names.add(name);
    else warn("Left out a tool of tool_choice, which only its own provider can run", path);
  });
  if (names.size === 0) return "none";
  const tools = [...names].map((name) => ({ type: "function", function: { name } }));
  return {
    type: "allowed_tools",
    allowed_tools: { mode: choice.mode === "required" ? "required" : "auto", tools },
  };
}

/** The function behind a tool that is named by type; `undefined` for a tool that was left out. */
function getChosen(choice: Record<string, unknown>, path: string, set: ToolSet): string | undefined {
  if (choice.type === "tool_search") return set.has("tool_search") ? "tool_search" : undefined;
  if (choice.type !== "function" && choice.type !== "custom") return undefined;
  const { name, namespace } = choice;
  if (typeof name !== "string") throw badRequest(`${path}.name is missing, expected a tool's name`, `${path}.name`);
  const functionName = toFunctionName(name, typeof namespace === "string" ? namespace : undefined);
  if (set.has(functionName)) return functionName;
  throw badRequest(`${path} names ${functionName}, which is not among the tools`, `${path}.name`);
}

/** Stored items that a request refers to. */
export interface StoredContext {
  /** The items before `input`: those of the chain of `previous_response_id`, oldest first. */
  earlier?: readonly ResponseItem[];
  /** The stored items that `input` may refer to, by id; those of `earlier` are known anyway. */
  referenced?: ReadonlyMap<string, ResponseItem>;
  /** Whether the items are kept for later requests, as the answer says. */
  stored: boolean;
}

function isReference(item: ResponseItem): item is ItemReference {
  return item.type === "item_reference" || ((item.type === undefined || item.type === null) && !isMessage(item));
}

/** The ids of stored items that a request refers to by `item_reference`. */
export function listReferences({ input }: ResponsesRequest): string[] {
  return Array.isArray(input) ? input.filter(isReference).map(({ id }) => id) : [];
}

/**
 * The items of this turn, without the earlier ones and with the items in place of references: what is to be stored with
 * the answer.
 *
 * @throws {GatewayError} `invalid_request` for a previous response or an item that is not stored, and for an item that is
 *   referred to twice: each reference would send all of it once more.
 */
function resolveInput(request: ResponsesRequest, { earlier, referenced }: StoredContext): ResponseItem[] {
  const { input, previous_response_id: previousId } = request;
  if (previousId && earlier === undefined) throw previousResponseNotFound(previousId);
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!input.some(isReference)) return input;
  const earlierItems = new Map(earlier?.map((item) => [item.id, item]));
  const ids = new Set<string>();
  return input.map((item, index) => {
    if (!isReference(item)) return item;
    if (ids.has(item.id)) throw duplicateItem(item.id, `input[${index}].id`);
    ids.add(item.id);
    const stored = earlierItems.get(item.id) ?? referenced?.get(item.id);
    if (stored === undefined) throw itemNotFound(item.id, `input[${index}].id`);
    return stored;
  });
}

/**
 * The same request without anything that is stored here, for a provider that speaks the protocol: all items stand in
 * `input`, and the provider stores nothing.
 *
 * @returns The request, and the items of this turn to be stored with the answer.
 * @throws {GatewayError} As {@link resolveInput}.
 */
export function expandRequest(
  request: ResponsesRequest,
  context: StoredContext,
): { request: ResponsesRequest; input: ResponseItem[] } {
  const input = resolveInput(request, context);
  const isPlain = !context.earlier?.length && listReferences(request).length === 0;
  const { previous_response_id: _, ...rest } = request;
  if (isPlain) return { request: removeOwnThoughts({ ...rest, store: false }), input };
  const own = new Set(Array.isArray(request.input) ? request.input : input);
  const items = [...(context.earlier ?? []), ...input].flatMap((item) => (own.has(item) ? item : toSendable(item)));
  return { request: removeOwnThoughts({ ...rest, input: items, store: false }), input };
}

/** A stored item as a provider takes it that never saw its id; nothing of reasoning that only its store could read. */
function toSendable(item: ResponseItem): ResponseItem[] {
  if (item.type === "reasoning") return "encrypted_content" in item && item.encrypted_content ? [item] : [];
  const { id: _, ...rest } = item;
  return [rest as ResponseItem];
}

/** The refusal of a reference to an item that is not stored, has expired, or belongs to another account. */
function itemNotFound(id: string, param: string): GatewayError {
  const message = `Item ${quoteValue(id)} not found: it has expired or was never stored; send the item itself, or set store to false`;
  return new GatewayError("invalid_request", message, { param, publicCode: "item_not_found" });
}

/** The words are OpenAI's. */
function duplicateItem(id: string, param: string): GatewayError {
  const message = `Duplicate item found with id ${quoteValue(id)}. Remove duplicate items from your input and try again`;
  return new GatewayError("invalid_request", message, { param });
}

/** The refusal of a `previous_response_id` that is not stored, has expired, or belongs to another account. */
export function previousResponseNotFound(id: string): GatewayError {
  const message = `Previous response ${quoteValue(id)} not found: it, or one before it, has expired, was deleted or was never stored; send all items in input`;
  return new GatewayError("invalid_request", message, {
    param: "previous_response_id",
    publicCode: "previous_response_not_found",
  });
}
