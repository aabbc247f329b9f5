import { createHash } from "node:crypto";
import { type ChatUsage, GatewayError, getOwn, quoteValue, UpstreamError } from "../../contract/index.ts";
import { fitCallId } from "../../lib/call-ids.ts";
import { isRecord, JsonTexts } from "../../lib/json.ts";
import { carryArguments } from "../../lib/tool-arguments.ts";
import type {
  BesideChoice,
  ChatCompletion,
  ChatRequest,
  ContentPart,
  Message,
  ResponseFormat,
  Tool,
  Warn,
} from "../../provider/index.ts";
import { type AssistantTurn, Conversation, type MarkedPart, toContent } from "../conversation.ts";
import { listOthers, namesOf } from "../losses.ts";
import {
  findForeignDetails,
  isOwnEnvelope,
  type Reasoning,
  type ReasoningEnvelope,
  readClaudeBlocks,
  toClaudeDetail,
} from "../reasoning.ts";
import { describeClientTool, isServerTool } from "./client-tools.ts";
import type {
  MessagesAnswer,
  MessagesBlock,
  MessagesCountRequest,
  MessagesEnding,
  MessagesRequest,
  MessagesUsage,
} from "./schema.ts";

interface TranslationOptions {
  envelope: ReasoningEnvelope;
  /** The id of the model; default the name in the request. */
  model?: string | undefined;
  /** The most that the model writes. Agents ask for 128 000 tokens of every model, which others refuse. */
  outputTokensMax?: number | undefined;
  /** Takes what the translation had to leave out, with its path as Anthropic writes it. */
  warn: Warn;
}

/** How the answer to a translated request is to be written. */
export interface MessagesPlan {
  readonly envelope: ReasoningEnvelope;
  readonly names: ToolNames;
  /** Whether the client wants reasoning with its text, without its text, or not at all. Claude's is always passed on. */
  readonly thoughts: "shown" | "omitted" | "none";
  readonly stopSequences: readonly string[];
}

/** Fields with a counterpart in a chat request. */
const translatedFields = namesOf(`model messages max_tokens system stream temperature top_p stop_sequences tools
  tool_choice thinking output_config output_format metadata cache_control service_tier`);
/** The members that are translated of fields that have others. */
const translatedMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  thinking: namesOf("type budget_tokens display"),
  output_config: namesOf("effort format"),
  metadata: namesOf("user_id"),
  tool_choice: namesOf("type name disable_parallel_tool_use"),
};
/** Values of fields that ask for what happens without them. */
const defaults: Readonly<Record<string, unknown>> = { speed: "standard", inference_geo: "global" };

const blockOf = (text: string) => namesOf(`type cache_control ${text}`);
/** The members of each block that are translated, beside those that every block has. */
const blockMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  text: blockOf("text"),
  image: blockOf("source"),
  document: blockOf("source title context"),
  search_result: blockOf("source title content"),
  tool_use: blockOf("id name input"),
  tool_result: blockOf("tool_use_id content is_error"),
  tool_reference: blockOf("tool_name"),
  compaction: blockOf("content"),
};
const messageMembers = namesOf("role content");
/** The members of a tool that are translated, and the one that only says how its calls are streamed. */
const toolMembers = namesOf(
  "type name description input_schema strict cache_control defer_loading eager_input_streaming",
);

/**
 * Translates a Messages request into the uniform format. Cache marks stay on parts, tools, calls and results as
 * `cache_control`, failed results carry `is_error`, and Claude's reasoning travels as `reasoning_details`.
 *
 * @throws {GatewayError} `invalid_request` with a path as Anthropic writes it.
 */
export function fromMessagesRequest(
  body: MessagesRequest,
  { envelope, model = body.model, outputTokensMax, warn }: TranslationOptions,
): { request: ChatRequest; plan: MessagesPlan } {
  refuseOtherProtocols(body);
  const names = new ToolNames();
  const { messages, toolChanges } = toConversation(body, { envelope, model, names, warn });
  if (body.cache_control) markLast(messages, body.cache_control);
  const effort = toEffort(body);
  const {
    max_tokens: outputTokens,
    stop_sequences: stops,
    temperature,
    top_p: topP,
    metadata,
    service_tier: tier,
  } = body;
  if (outputTokens < 1)
    throw invalid("max_tokens", "This model has no cache to fill without an answer, expected 1 or more");
  const format = toFormat(body);
  const dropped = listOthers(body, translatedFields).filter(
    (field) => getOwn(defaults, field) !== body[field as keyof MessagesRequest],
  );
  for (const [field, read] of Object.entries(translatedMembers)) {
    const value: unknown = body[field as keyof MessagesRequest];
    if (isRecord(value)) dropped.push(...listOthers(value, read).map((name) => `${field}.${name}`));
  }
  warnOfForeign(dropped, warn);
  const request: ChatRequest = {
    model: body.model,
    messages,
    max_completion_tokens: outputTokensMax === undefined ? outputTokens : Math.min(outputTokens, outputTokensMax),
    ...(body.stream === true && { stream: true, stream_options: { include_usage: true } }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { top_p: topP }),
    ...(stops && stops.length > 0 && { stop: stops }),
    ...toTools(body, toolChanges, names, warn),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(format !== undefined && { response_format: format }),
    ...(metadata?.user_id && { user: toUser(metadata.user_id) }),
    ...(tier && tier !== "auto" && { service_tier: tier === "standard_only" ? "default" : tier }),
  };
  return { request, plan: { envelope, names, thoughts: toDisplay(body), stopSequences: stops ?? [] } };
}

function warnOfForeign(fields: readonly string[], warn: Warn): void {
  if (fields.length > 0) warn(`Left out ${fields.join(", ")}, which only Anthropic takes`, fields);
}

/** A mark of the whole request stands for one on its last block. */
function markLast(messages: ChatRequest["messages"], mark: unknown): void {
  const last = messages.at(-1);
  if (last === undefined) return;
  if (last.role === "tool") Object.assign(last, { ...cacheMark({ cache_control: mark }), ...cacheMark(last) });
  else if (typeof last.content === "string") {
    last.content = [{ type: "text", text: last.content, ...cacheMark({ cache_control: mark }) }];
  } else {
    const part = last.content?.at(-1);
    if (part !== undefined) Object.assign(part, { ...cacheMark({ cache_control: mark }), ...cacheMark(part) });
  }
}

const efforts = ["low", "medium", "high", "xhigh", "max"];
const budgets: [effort: string, tokens: number][] = [
  ["low", 2048],
  ["medium", 8192],
  ["high", 24_576],
];

/** The effort asked for, or the one whose reasoning is about as long as the budget. */
function toEffort({ thinking, output_config: config }: MessagesRequest): ChatRequest["reasoning_effort"] {
  const effort = config?.effort;
  if (thinking?.type === "disabled") return "none";
  if (typeof effort === "string") {
    if (efforts.includes(effort)) return effort;
    throw invalid("output_config.effort", `got ${quoteValue(effort)}, expected one of ${efforts.join(", ")}`);
  }
  if (thinking === undefined || thinking === null) return undefined;
  // Anthropic's own default where thinking is on.
  if (thinking.type !== "enabled") return "high";
  const budget = thinking.budget_tokens;
  if (typeof budget !== "number") throw invalid("thinking.budget_tokens", "expected a number of tokens");
  return effortOfBudget(budget);
}

/** The effort whose reasoning is about as long as a budget of tokens. */
export function effortOfBudget(budget: number): string {
  const distance = (tokens: number) => Math.abs(tokens - budget);
  return budgets.reduce((nearest, next) => (distance(next[1]) < distance(nearest[1]) ? next : nearest))[0];
}

/** A client that did not ask for reasoning reads the first block as text. */
function toDisplay({ thinking, output_config: config }: MessagesRequest): MessagesPlan["thoughts"] {
  if (thinking?.type === "disabled") return "none";
  if (thinking === undefined || thinking === null) return config?.effort ? "shown" : "none";
  return thinking.display === "omitted" ? "omitted" : "shown";
}

function toFormat(body: MessagesRequest & { output_format?: unknown }): ResponseFormat | undefined {
  const { output_config: config, output_format: older } = body;
  const format = config?.format ?? older;
  if (!isRecord(format)) return undefined;
  const path = config?.format ? "output_config.format" : "output_format";
  const { type, schema } = format;
  if (type !== "json_schema") throw invalid(`${path}.type`, `got ${quoteValue(type)}, expected json_schema`);
  if (!isRecord(schema)) throw invalid(`${path}.schema`, "expected a JSON schema");
  const strict = isClosed(schema) ? { strict: true } : {};
  return { type: "json_schema", json_schema: { name: "answer", schema, ...strict } };
}

/** Whether every object of a schema names all its members and takes no others, as OpenAI's strict mode demands. */
function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isRecord(schema)) return true;
  const { properties, required, additionalProperties: others } = schema;
  if (isRecord(properties) || schema.type === "object") {
    const members = isRecord(properties) ? Object.keys(properties) : [];
    if (others !== false || !Array.isArray(required)) return false;
    const names = new Set(required);
    if (!members.every((name) => names.has(name))) return false;
  }
  return Object.values(schema).every(isClosed);
}

/** OpenAI takes up to 64 characters. Claude Code's identifier is longer, and only has to stay the same. */
function toUser(id: string): string {
  return id.length <= 64 ? id : createHash("sha256").update(id).digest("hex");
}

/** Context of the translation of a conversation. */
interface TranslationContext {
  envelope: ReasoningEnvelope;
  /** The id of the model that the request is for, the only one to read reasoning that was sealed for it. */
  model: string;
  names: ToolNames;
  warn: Warn;
}

/** A block that adds a tool in the middle of a conversation or removes one, and its path. */
interface ToolChange {
  block: MessagesBlock;
  path: string;
}

/** The messages of a conversation, and the changes of tools that stood in it. */
interface TranslatedConversation {
  messages: Message[];
  toolChanges: ToolChange[];
}

/**
 * A line of Claude Code's in front of the system prompt. It is meant for Anthropic, and it changes with each request, so no cache
 * would hit. It may be a block of its own, or the first line of one.
 */
const attribution = /^\s*x-anthropic-billing-header:[^\r\n]*[\r\n]*/i;

/** A system block without that line; undefined where nothing else is in it. */
function withoutAttribution(block: MessagesBlock): MessagesBlock | undefined {
  const { text } = block;
  if (typeof text !== "string" || !attribution.test(text)) return block;
  const rest = text.replace(attribution, "");
  return rest.trim() === "" ? undefined : { ...block, text: rest };
}

/** Translates `system` and `messages`. @throws {GatewayError} `invalid_request` with the block's path. */
function toConversation(
  { system, messages }: Pick<MessagesRequest, "system" | "messages">,
  surroundings: TranslationContext,
): TranslatedConversation {
  const reader = new ConversationReader(surroundings);
  if (system !== undefined && system !== null) reader.addSystem(toBlocks(system, "system"), "system");
  for (const [index, message] of messages.entries()) {
    const { role, content } = message;
    const path = `messages.${index}`;
    reader.noteOthers(message, messageMembers, path);
    const blocks = toBlocks(content, `${path}.content`);
    if (role === "user") reader.addUser(blocks, `${path}.content`);
    else if (role === "assistant") reader.addAssistant(blocks, `${path}.content`);
    else if (role === "system") reader.addSystem(blocks, `${path}.content`);
    else throw invalid(`${path}.role`, `got ${quoteValue(role)}, expected user, assistant or system`);
  }
  return reader.end();
}

class ConversationReader {
  readonly #surroundings: TranslationContext;
  readonly #conversation = new Conversation();
  readonly #toolChanges: ToolChange[] = [];

  constructor(surroundings: TranslationContext) {
    this.#surroundings = surroundings;
  }

  addSystem(blocks: MessagesBlock[], path: string): void {
    const parts = blocks.flatMap((block, index) => {
      const rest = withoutAttribution(block);
      return rest === undefined ? [] : this.#toParts(rest, `${path}.${index}`);
    });
    this.#add("system", parts);
  }

  addUser(blocks: MessagesBlock[], path: string): void {
    const rest: MarkedPart[] = [];
    for (const [index, block] of blocks.entries()) {
      const place = `${path}.${index}`;
      if (block.type === "tool_result") this.#addResult(block, place);
      else rest.push(...this.#toParts(block, place));
    }
    this.#add("user", rest);
  }

  addAssistant(blocks: MessagesBlock[], path: string): void {
    this.#expectResults();
    let turn = this.#conversation.beginTurn();
    for (const [index, block] of blocks.entries()) {
      const place = `${path}.${index}`;
      if (block.type === "thinking" || block.type === "redacted_thinking") {
        turn = this.#addThought(block, place, turn);
      } else if (block.type === "tool_use") this.#addCall(block, place, turn);
      else turn.parts.push(...this.#toParts(block, place));
    }
  }

  /** Tells of the members of a message or block that are not read. */
  noteOthers(part: object, read: ReadonlySet<string>, path: string): void {
    for (const name of listOthers(part, read)) {
      this.#surroundings.warn(`Left out ${name} of the conversation, which only Anthropic takes`, `${path}.${name}`);
    }
  }

  end(): TranslatedConversation {
    this.#expectResults();
    const messages = this.#conversation.toMessages();
    if (messages.length === 0) throw invalid("messages", "They hold nothing, expected text or another block");
    return { messages, toolChanges: this.#toolChanges };
  }

  #add(role: "system" | "user", parts: MarkedPart[]): void {
    const content = toContent(parts);
    if (content !== undefined) this.#conversation.add(role, content);
  }

  #toParts(block: MessagesBlock, path: string): MarkedPart[] {
    const { type } = block;
    if (isProviderBlock(type)) {
      this.#surroundings.warn(`Left out blocks of type ${type}, which only Anthropic reads`, path);
    } else if (type === "tool_addition" || type === "tool_removal") this.#toolChanges.push({ block, path });
    else {
      this.#noteMembers(block, path);
      return toParts(block, path);
    }
    return [];
  }

  #noteMembers(block: MessagesBlock, path: string): void {
    const read = getOwn(blockMembers, block.type);
    if (read !== undefined) this.noteOthers(block, read, path);
  }

  #addResult(block: MessagesBlock, path: string): void {
    const id = getText(block, "tool_use_id", path);
    this.#noteMembers(block, path);
    const { content, is_error: isError } = block;
    const blocks = content === undefined || content === null ? [] : toBlocks(content, `${path}.content`);
    const parts = blocks.flatMap((part, index) => this.#toParts(part, `${path}.content.${index}`));
    const flags = { ...(isError === true && { is_error: true }), ...cacheMark(block) };
    if (this.#conversation.addResult(id, { content: toContent(parts) ?? "", ...flags })) return;
    const message = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${quoteValue(id)}`;
    throw invalid(path, `${message}; expected the id of a \`tool_use\` block in the message before`);
  }

  #addCall(block: MessagesBlock, path: string, turn: AssistantTurn): void {
    const id = getText(block, "id", path);
    const input = block.input ?? {};
    if (id === "") throw invalid(`${path}.id`, "expected an id");
    if (!isRecord(input)) throw invalid(`${path}.input`, "expected an object");
    this.#noteMembers(block, path);
    const name = this.#surroundings.names.toSent(getText(block, "name", path), `${path}.name`);
    const call = { name, arguments: JSON.stringify(input) };
    this.#conversation.addCall(turn, { id, type: "function", function: call, ...cacheMark(block) }, path);
  }

  /** Claude's reasoning keeps its place: where one follows other content, another message begins with it. */
  #addThought(block: MessagesBlock, path: string, turn: AssistantTurn): AssistantTurn {
    const { envelope, model } = this.#surroundings;
    if (block.type === "redacted_thinking" && typeof block.data !== "string") {
      throw invalid(`${path}.data`, "expected a string");
    }
    if (block.type === "thinking") {
      const thought = getText(block, "thinking", path);
      const { signature } = block;
      if (typeof signature !== "string" || signature === "") {
        this.#surroundings.warn("Left out reasoning without a signature", path);
        return turn;
      }
      const opened = envelope.open(signature, thought);
      // Anthropic's own words: clients look for them, take the reasoning out and send the request again.
      if (opened.origin === "altered") throw invalid(path, "Invalid `signature` in `thinking` block");
      if (opened.origin === "foreign") this.#surroundings.warn("Left out reasoning that another gateway signed", path);
      if (opened.origin === "own") {
        const { text = thought, details = [], model: reasonedBy } = opened.reasoning;
        if (text !== "") turn.reasoning += turn.reasoning === "" ? text : `\n${text}`;
        if (reasonedBy === model) turn.details.push(...details);
        else if (details.length > 0) this.#surroundings.warn("Left out sealed reasoning of another model", path);
      }
      if (opened.origin !== "provider") return turn;
    }
    const hasContent = turn.parts.length > 0 && turn.calls.length === 0;
    const current = hasContent ? this.#conversation.beginTurn() : turn;
    current.details.push(toClaudeDetail(block as Record<string, string>, current.details.length));
    return current;
  }

  #expectResults(): void {
    const call = this.#conversation.findOpenCall();
    if (call === undefined) return;
    const { id, path, isRepeated } = call;
    if (isRepeated) throw invalid(`${path}.id`, `\`tool_use\` ids must be unique, got ${quoteValue(id)} twice`);
    const message = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}`;
    throw invalid(path, `${message}; expected a \`tool_result\` with its id in the next message`);
  }
}

/** Blocks that only Anthropic can read: its own tools' calls and results, and what its betas leave in a conversation. */
const providerBlocks = ["server_tool_use", "mcp_tool_use", "mcp_tool_listing", "container_upload", "fallback"];

/** Whether a translated conversation goes on without a block of this type. */
function isProviderBlock(type: string): boolean {
  return providerBlocks.includes(type) || (type !== "tool_result" && type.endsWith("_tool_result"));
}

/** Content as blocks: a text is one block. */
function toBlocks(content: unknown, path: string): MessagesBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw invalid(path, "expected a string or a list of content blocks");
  const stranger = content.findIndex((block) => !isRecord(block) || typeof block.type !== "string");
  if (stranger !== -1) throw invalid(`${path}.${stranger}`, "expected a content block with a `type`");
  return content as MessagesBlock[];
}

/** The parts of a block that says something. Its cache mark goes to the last of them. */
function toParts(block: MessagesBlock, path: string): MarkedPart[] {
  const parts = toPlainParts(block, path);
  const last = parts.pop();
  return last === undefined ? [] : [...parts, { ...last, ...cacheMark(block) }];
}

/** A block's cache mark, whole: the provider's plugin decides about its lifetime. */
function cacheMark({ cache_control: mark }: Record<string, unknown>): { cache_control?: unknown } {
  return isRecord(mark) ? { cache_control: mark } : {};
}

function toPlainParts(block: MessagesBlock, path: string): ContentPart[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: getText(block, "text", path) }];
    case "image":
      return [{ type: "image_url", image_url: { url: toUrl(block.source, `${path}.source`) } }];
    case "document":
      return toDocument(block, path);
    case "search_result":
      return toSearchResult(block, path);
    case "tool_reference":
      return [{ type: "text", text: `The tool ${getText(block, "tool_name", path)} can be called now.` }];
    case "compaction":
      return typeof block.content === "string" ? [{ type: "text", text: block.content }] : [];
    default:
      throw invalid(path, `Cannot read a block of type ${quoteValue(block.type)} here, expected text or another part`);
  }
}

function toUrl(source: unknown, path: string): string {
  if (!isRecord(source)) throw invalid(path, "expected an object");
  if (source.type === "url") return getText(source, "url", path);
  if (source.type === "base64") {
    return `data:${getText(source, "media_type", path)};base64,${getText(source, "data", path)}`;
  }
  const message = `This model takes no source of type ${quoteValue(source.type)}, expected base64 or url`;
  throw invalid(`${path}.type`, message);
}

function toDocument(block: MessagesBlock, path: string): ContentPart[] {
  const { source, title, context } = block;
  const head = [title, context].filter((text) => typeof text === "string" && text !== "").join("\n");
  const introduction: ContentPart[] = head === "" ? [] : [{ type: "text", text: head }];
  const sourcePath = `${path}.source`;
  if (isRecord(source) && source.type === "text") {
    return [...introduction, { type: "text", text: getText(source, "data", sourcePath) }];
  }
  if (isRecord(source) && source.type === "content") {
    const blocks = toBlocks(source.content, `${sourcePath}.content`);
    return [...introduction, ...blocks.flatMap((part, index) => toPlainParts(part, `${sourcePath}.content.${index}`))];
  }
  const file = { file_data: toUrl(source, sourcePath), ...(typeof title === "string" && { filename: title }) };
  const note: ContentPart[] = typeof context === "string" ? [{ type: "text", text: context }] : [];
  return [...note, { type: "file", file }];
}

function toSearchResult(block: MessagesBlock, path: string): ContentPart[] {
  const head = `${getText(block, "title", path)} (${getText(block, "source", path)})`;
  const texts = toBlocks(block.content, `${path}.content`).map((part, index) => {
    return getText(part, "text", `${path}.content.${index}`);
  });
  return [{ type: "text", text: [head, ...texts].join("\n") }];
}

/** Anthropic's bound of a tool's name, and the bound of other providers. Longer ones are shortened on the way there. */
const nameCharactersMax = 128;
const sentCharactersMax = 64;

/** Shortens the names of tools that only Anthropic would take, and restores them in the answer. */
class ToolNames {
  readonly #original = new Map<string, string>();

  /** @throws {GatewayError} `invalid_request` for a name that no provider takes. */
  toSent(name: string, path: string): string {
    if (name === "" || name.length > nameCharactersMax) {
      throw invalid(path, `The name has ${name.length} characters, expected 1 to ${nameCharactersMax}`);
    }
    if (name.length <= sentCharactersMax) return name;
    const digest = createHash("sha256").update(name).digest("base64url").slice(0, 10);
    const sentName = `${name.slice(0, sentCharactersMax - 11)}_${digest}`;
    this.#original.set(sentName, name);
    return sentName;
  }

  toOriginal(sentName: string): string {
    return this.#original.get(sentName) ?? sentName;
  }
}

type ToolFields = Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

/**
 * The tools that the client runs, its own and Anthropic's, and the choice among them. Tools that run at Anthropic are left out.
 *
 * @param changes Blocks `tool_addition` and `tool_removal` of the conversation, in their order.
 */
function toTools(
  { tools, tool_choice: choice, messages }: MessagesRequest,
  changes: readonly ToolChange[],
  names: ToolNames,
  warn: Warn,
): ToolFields {
  const toolsByName = new Map<string, Tool>();
  const dropped: string[] = [];
  const isHidden = findHidden(tools ?? [], choice?.name, messages);
  const add = (tool: Record<string, unknown>, path: string) => {
    const { type } = tool;
    const described = describeClientTool(tool);
    const { tool: own, members } = described ?? { tool, members: [] };
    // A type that is not known is one more tool of the client's where it comes with a schema.
    const isOwn = type === undefined || type === null || type === "custom" || isRecord(own.input_schema);
    if (isOwn && !isServerTool(type)) {
      const converted = toTool(own, path, names);
      toolsByName.set(converted.function.name, converted);
      const others = listOthers(tool, toolMembers).filter((name) => !members.includes(name));
      warnOfForeign(
        others.map((name) => `${path}.${name}`),
        warn,
      );
      return;
    }
    const name = typeof tool.name === "string" ? tool.name : quoteValue(type);
    dropped.push(name);
    const reason = isServerTool(type) ? "runs at Anthropic only" : "is of a type that is not known here";
    warn(`Left out the tool ${name}, which ${reason}`, path);
  };
  for (const [index, tool] of (tools ?? []).entries()) if (!isHidden(tool)) add(tool, `tools.${index}`);
  for (const { block, path } of changes) {
    const { type, tool } = block;
    if (!isRecord(tool)) continue;
    if (type === "tool_addition" && isRecord(tool.definition)) add(tool.definition, `${path}.tool.definition`);
    else if (type === "tool_removal" && typeof tool.name === "string")
      toolsByName.delete(names.toSent(tool.name, "tool"));
  }
  if (toolsByName.size === 0) {
    if (choice?.type === "any" || choice?.type === "tool") warn("Left out tool_choice: no tool is left", "tool_choice");
    return {};
  }
  const chosen = toChoice(choice, { known: toolsByName, dropped, names });
  if (choice && chosen === undefined) warn("Left out tool_choice, whose tool was left out", "tool_choice");
  return {
    tools: [...toolsByName.values()],
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(choice?.disable_parallel_tool_use === true && chosen !== "none" && { parallel_tool_calls: false }),
  };
}

/**
 * Finds the tools that the model does not see yet. A tool with `defer_loading` is one that a search has to name first;
 * a client that searches by itself has no answer to a call of one that it has not named. Where the search would run at
 * Anthropic, or nothing could search, all are seen from the beginning.
 */
function findHidden(
  tools: readonly Record<string, unknown>[],
  chosen: unknown,
  messages: MessagesRequest["messages"],
): (tool: Record<string, unknown>) => boolean {
  const isDeferred = (tool: Record<string, unknown>) => tool.defer_loading === true;
  const isSearch = ({ type }: Record<string, unknown>) => typeof type === "string" && type.startsWith("tool_search");
  if (!tools.some(isDeferred) || tools.every(isDeferred) || tools.some(isSearch)) return () => false;
  const named = new Set<unknown>([chosen]);
  const addNames = (content: unknown) => {
    for (const block of Array.isArray(content) ? content : []) {
      if (!isRecord(block)) continue;
      const { type, name, tool_name: referred, tool } = block;
      if (type === "tool_use") named.add(name);
      else if (type === "tool_reference") named.add(referred);
      else if (type === "tool_addition" && isRecord(tool)) named.add(tool.name ?? tool.tool_name);
      else if (type === "tool_result") addNames(block.content);
    }
  };
  for (const { content } of messages) addNames(content);
  return (tool) => isDeferred(tool) && !named.has(tool.name);
}

function toTool(tool: Record<string, unknown>, path: string, names: ToolNames): Tool {
  const { description, input_schema: parameters, strict } = tool;
  const name = names.toSent(getText(tool, "name", path), `${path}.name`);
  if (!isRecord(parameters)) throw invalid(`${path}.input_schema`, "expected a JSON schema of type object");
  const definition = {
    name,
    ...(typeof description === "string" && { description }),
    parameters,
    ...(typeof strict === "boolean" && { strict }),
  };
  return { type: "function", function: definition, ...cacheMark(tool) };
}

interface Choosable {
  known: ReadonlyMap<string, Tool>;
  dropped: readonly string[];
  names: ToolNames;
}

function toChoice(
  choice: MessagesRequest["tool_choice"],
  { known: toolsByName, dropped, names }: Choosable,
): Exclude<ChatRequest["tool_choice"], null> {
  if (choice === undefined || choice === null) return undefined;
  const { type, name } = choice;
  if (type === "auto" || type === "none") return type;
  if (type === "any") return "required";
  if (type !== "tool") {
    throw invalid("tool_choice.type", `got ${quoteValue(type)}, expected auto, any, tool or none`);
  }
  if (typeof name === "string" && dropped.includes(name)) return undefined;
  const sentName = typeof name === "string" ? names.toSent(name, "tool_choice.name") : "";
  if (toolsByName.has(sentName)) return { type: "function", function: { name: sentName } };
  throw invalid("tool_choice.name", `Tool ${quoteValue(name)} is not among the tools of this request`);
}

/** The field of a conversation that Anthropic keeps, and is told only what is new of. */
export const threadField = "thread";

/**
 * The body without the field by which Anthropic would keep the conversation: it would be kept under the operator's account,
 * another key or model could not go on with it, and nobody here could say what the prompt costs.
 *
 * @throws {GatewayError} `not_found` for the continuation of a thread, by which clients send the whole conversation again.
 */
export function withoutThread<Body extends object>(body: Body): Body {
  if (!(threadField in body)) return body;
  const { [threadField]: thread, ...rest } = body;
  if (isRecord(thread) && thread.type !== "create") {
    const message = "This gateway keeps no threads of messages; send the whole conversation";
    throw new GatewayError("not_found", message, { param: threadField, publicCode: "thread_not_found" });
  }
  return rest as Body;
}

/** The error for a field of a Messages request. Its path is written as Anthropic writes it: `messages.0.content.1`. */
function invalid(path: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `${path}: ${message}`, { param: path });
}

/** A field that has to be a text. */
function getText(holder: Record<string, unknown>, field: string, path: string): string {
  const text = holder[field];
  if (typeof text === "string") return text;
  throw invalid(`${path}.${field}`, "expected a string");
}

const chatRoles = ["tool", "developer", "function"];

/**
 * Refuses a body of the chat or the Responses protocol with a message that names its path. To be called before the body
 * is held against the schema, whose complaint would be about a missing field.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function refuseOtherProtocols(body: unknown): void {
  if (!isRecord(body)) return;
  const { messages, input, tools, max_tokens: maxTokens } = body;
  if (messages === undefined && input !== undefined) {
    throw invalid("input", "This is a body of the Responses protocol; send it to /responses, or send `messages`");
  }
  const chatField = ["max_completion_tokens", "response_format", "reasoning_effort"].find((field) => body[field]);
  const path =
    (Array.isArray(messages) ? findChatMessage(messages) : undefined) ??
    (Array.isArray(tools) && tools.some((tool) => isRecord(tool) && isRecord(tool.function)) ? "tools" : undefined) ??
    (maxTokens === undefined ? chatField : undefined);
  if (path === undefined) return;
  throw invalid(path, "This is a body of the chat protocol; send it to /chat/completions, or send a Messages body");
}

function findChatMessage(messages: unknown[]): string | undefined {
  const index = messages.findIndex((message) => {
    if (!isRecord(message)) return false;
    const { role, tool_calls: calls, content } = message;
    if (chatRoles.includes(role as string) || Array.isArray(calls)) return true;
    return Array.isArray(content) && content.some((part) => isRecord(part) && part.type === "image_url");
  });
  return index === -1 ? undefined : `messages.${index}`;
}

/**
 * Tokens that a model reads beside text: role and separators of a message, an image at the most, a page of a document.
 */
const messageTokens = 6;
const imageTokens = 1_600;
const pageTokens = 2_000;
/** About what one page of a PDF has in base64. */
const pageCharacters = 70_000;

/** Members left out of a block's JSON: the model does not read them, or they are counted apart. */
const unread = new Set(["type", "id", "tool_use_id", "signature", "cache_control", "data", "encrypted_content"]);

/**
 * Counts the tokens of a request for a model without a counter of its own. It is an estimate; nothing is refused.
 *
 * @param count Counts the tokens of a text.
 */
export async function countInputTokens(
  { system, tools, messages, output_config: config }: MessagesCountRequest,
  count: (text: string) => Promise<number>,
): Promise<{ input_tokens: number }> {
  const texts: string[] = [];
  let otherTokens = 0;
  const add = (value: unknown): void => {
    if (typeof value === "string") texts.push(value);
    else if (Array.isArray(value)) for (const member of value) add(member);
    else if (isRecord(value)) {
      const { type, source, input } = value;
      if (type === "image") otherTokens += imageTokens;
      else if (type === "document" && isRecord(source) && source.type !== "text" && source.type !== "content") {
        const characters = typeof source.data === "string" ? source.data.length : pageCharacters;
        otherTokens += pageTokens * Math.ceil(characters / pageCharacters);
      } else if (type === "text" && typeof value.data === "string") texts.push(value.data);
      else if (type === "tool_use")
        texts.push((typeof value.name === "string" ? value.name : "") + JSON.stringify(input ?? {}));
      else for (const [name, member] of Object.entries(value)) if (!unread.has(name)) add(member);
    }
  };
  add(system);
  for (const { content } of messages) {
    otherTokens += messageTokens;
    add(content);
  }
  for (const { cache_control: _, ...tool } of tools ?? []) texts.push(JSON.stringify(tool));
  if (config?.format?.schema) texts.push(JSON.stringify(config.format.schema));
  return { input_tokens: (await count(texts.join("\n"))) + otherTokens };
}

/**
 * A chat answer as a message: reasoning, then text, then calls.
 *
 * Arguments that are not an object are carried in one: the tool refuses them, and the model reads why.
 */
export function toMessagesAnswer(completion: ChatCompletion, plan: MessagesPlan): MessagesAnswer {
  const [choice] = completion.choices;
  if (choice === undefined) throw new UpstreamError("bad_response", "The provider's answer has no choices");
  const { message, finish_reason: finish } = choice;
  const content = toThoughts(completion, message, plan);
  if (message.content) content.push({ type: "text", text: message.content });
  if (message.refusal) content.push({ type: "text", text: message.refusal });
  const texts = new JsonTexts();
  for (const { id, function: called } of message.tool_calls ?? []) {
    // Without an object, the model ran out of tokens within the arguments.
    const input =
      readInput(called.arguments, texts) ?? (finish === "length" ? undefined : carryArguments(called.arguments));
    if (input === undefined) continue;
    const name = plan.names.toOriginal(called.name);
    content.push({ type: "tool_use", id: fitCallId(id, "messages"), name, input });
  }
  const { id, model, usage, service_tier: tier } = completion as ChatCompletion & { service_tier?: unknown };
  const ending = toEnding(
    { choice, refusal: message.refusal ?? "", hasCalls: content.at(-1)?.type === "tool_use" },
    plan,
  );
  const head = { id: toMessageId(id), type: "message", role: "assistant", model } as const;
  return { ...head, content, ...ending, usage: toMessagesUsage(usage, tier) };
}

/** The id of a chat answer, as that of a message. */
export function toMessageId(chatId: string): string {
  return `msg_${chatId.replace(/^chatcmpl-/, "")}`;
}

/** Providers' names of the tier that Anthropic calls "standard". */
const standardTiers: readonly unknown[] = ["default", "on_demand", "auto"];

/**
 * Tokens in Anthropic's words, and the tier that served. The protocol demands every figure, so one that no report names
 * is 0.
 */
export function toMessagesUsage(usage: ChatUsage | null | undefined, tier?: unknown): MessagesUsage {
  const details: Record<string, unknown> = usage?.prompt_tokens_details ?? {};
  const [cached, written, hourly] = [
    details.cached_tokens,
    details.cache_write_tokens,
    details.cache_write_1h_tokens,
  ].map((count) => (typeof count === "number" ? count : 0)) as [number, number, number];
  const thinking = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written - hourly, ephemeral_1h_input_tokens: hourly },
    output_tokens: usage?.completion_tokens ?? 0,
    ...(typeof thinking === "number" && { output_tokens_details: { thinking_tokens: thinking } }),
    ...(typeof tier === "string" && { service_tier: standardTiers.includes(tier) ? "standard" : tier }),
  };
}

/** End of an answer. */
interface End {
  choice: { finish_reason?: string | null } & BesideChoice;
  refusal: string;
  hasCalls: boolean;
}

/** Why the model stopped. That it was at a stop sequence is said only where it is known at which one. */
export function toEnding({ choice, refusal, hasCalls }: End, { stopSequences }: MessagesPlan): MessagesEnding {
  const { finish_reason: finish, stop_sequence: stop } = choice;
  const isOnly = stop === true && stopSequences.length === 1;
  const sequence = isOnly ? stopSequences[0] : stopSequences.find((one) => one === stop);
  if (refusal !== "" || finish === "content_filter") {
    const details = { type: "refusal", category: null, explanation: refusal } as const;
    return { stop_reason: "refusal", stop_sequence: null, ...(refusal !== "" && { stop_details: details }) };
  }
  if (finish === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
  if (sequence !== undefined) return { stop_reason: "stop_sequence", stop_sequence: sequence };
  return { stop_reason: "end_turn", stop_sequence: null };
}

type AnswerMessage = ChatCompletion["choices"][number]["message"] & { reasoning_details?: unknown };

function toThoughts(
  { model }: ChatCompletion,
  { reasoning_details, reasoning_content }: AnswerMessage,
  { envelope, thoughts }: MessagesPlan,
): MessagesBlock[] {
  const blocks: MessagesBlock[] = readClaudeBlocks(reasoning_details);
  const details = findForeignDetails(reasoning_details);
  const text = reasoning_content ?? "";
  if (blocks.length > 0 || thoughts === "none" || (text === "" && details.length === 0)) return blocks;
  const shown = thoughts === "shown" ? text : "";
  return [{ type: "thinking", thinking: shown, signature: signReasoning(envelope, { model, text, details }, shown) }];
}

/** The signature of reasoning that is not Claude's. Text that the client asked not to see travels in it. */
export function signReasoning(
  envelope: ReasoningEnvelope,
  { model, text, details }: Required<Reasoning>,
  shownText: string,
): string {
  const hidden = { ...(shownText === "" && text !== "" && { text }), ...(details?.length && { details }) };
  return envelope.seal({ model, ...hidden }, shownText);
}

/**
 * Takes our own reasoning out of a body for a native route: the provider would refuse their signatures.
 *
 * @returns The body itself when it holds none, so that its bytes can be handed on.
 */
export function withoutOwnThoughts<Body extends Pick<MessagesRequest, "messages">>(body: Body): Body {
  if (!body.messages.some(({ content }) => Array.isArray(content) && content.some(isOwnThought))) return body;
  const messages = body.messages.flatMap((message) => {
    if (!Array.isArray(message.content)) return [message];
    const content = message.content.filter((block) => !isOwnThought(block));
    return content.length > 0 || message.content.length === 0 ? [{ ...message, content }] : [];
  });
  return { ...body, messages };
}

function isOwnThought({ type, signature }: MessagesBlock): boolean {
  return type === "thinking" && isOwnEnvelope(signature);
}

/** Arguments as an object. No text means no arguments; `undefined` when they are something else, or beyond what is read. */
function readInput(text: string, texts: JsonTexts): Record<string, unknown> | undefined {
  const value = text.trim() === "" ? {} : texts.parse(text);
  return isRecord(value) ? value : undefined;
}
