import { badRequest, type CacheMissKind, type ChatUsage, isAmount } from "../../contract/index.ts";
import { CallIds } from "../../lib/call-ids.ts";
import { isRecord, mapChanged, parseJson } from "../../lib/json.ts";
import { ArgumentStream, completeArguments } from "../../lib/tool-arguments.ts";
import {
  type AnswerRepair,
  type Call,
  expectCallName,
  type Handlers,
  type Model,
  type NativeAnswer,
  type NativeRequest,
  type PassthroughFormat,
  type ServerEvent,
  scalarsOf,
  toFinishReason,
  type WirePart,
} from "../../provider/index.ts";
import { withCoveredLifetimes } from "../cache-marks.ts";
import { toCacheReport } from "../cache-report.ts";
import { withWholeInput } from "../tool-schema.ts";
import { dropPaidTools, hasOnly, listTools, withoutTools } from "../tools.ts";
import { classifyError } from "../upstream-errors.ts";
import { addFigures } from "./provider-stream.ts";
import { MessagesRequest } from "./schema.ts";

type Warn = Call<NativeRequest>["warn"];

/** How a provider that speaks Anthropic's Messages protocol differs from another. */
export interface MessagesOptions {
  /** Headers to send unless the client has them. */
  headers: Readonly<Record<string, string>>;
  /** Reads a `usage` of the protocol, as far as it is known. */
  toUsage(usage: Record<string, unknown>): ChatUsage | undefined;
}

/** Tools that the client runs, and the search among tools, which costs nothing beside the tokens that are counted. */
const freeTool = /^(?:custom|(?:bash|text_editor|computer|memory|tool_search_tool)_\w+)$/;
/** Tools of the web that Anthropic runs. A search has a price, and a page that is read costs its tokens alone. */
const webTool = /^web_(?:search|fetch)_\d+$/;
const budgetTokensMin = 1024;

/** Fields that change the price, each with the beta that goes with it. */
const pricedFields: readonly [field: string, beta: string][] = [
  ["speed", "fast-mode"],
  ["mcp_servers", "mcp-client"],
  ["container", "skills"],
];

/**
 * The handlers of a provider that speaks Anthropic's Messages protocol itself.
 *
 * @example
 * const headers = { "anthropic-version": "2023-06-01" };
 * const handlers = messagesHandlers({ headers, toUsage: () => undefined });
 * Object.keys(handlers); // => ["messages", "countMessagesTokens"]
 */
export function messagesHandlers(options: MessagesOptions): Pick<Handlers, "messages" | "countMessagesTokens"> {
  return {
    async messages(call): Promise<NativeAnswer> {
      const { body, ...init } = toNativeRequest(call, options);
      const { upstream } = call;
      const path = "/messages";
      const content =
        body.stream === true ? await upstream.events(path, body, init) : await upstream.json(path, body, init);
      return { content: content as NativeAnswer["content"], readUsage: createUsageReader(options.toUsage) };
    },
    async countMessagesTokens(call): Promise<number> {
      const { body, ...init } = toNativeRequest(call, options);
      return (await call.upstream.json<{ input_tokens: number }>("/messages/count_tokens", body, init)).input_tokens;
    },
  };
}

/**
 * The request to send: the client's own, without what the price of the row does not cover.
 *
 * @throws {GatewayError} `invalid_request` for a place of processing that costs more: silently dropping it would violate data residency.
 */
function toNativeRequest(
  { request, model, keepsLonger, warn }: Pick<Call<NativeRequest>, "request" | "model" | "keepsLonger" | "warn">,
  options: MessagesOptions,
) {
  const pass: unknown[] = Array.isArray(model.options?.pass) ? model.options.pass : [];
  const body: Record<string, unknown> = { ...request.body, model: model.upstreamId };
  const betas = (request.headers["anthropic-beta"] ?? "").split(",").map((beta) => beta.trim());
  // The gateway keeps no threads at providers.
  const droppedBetas = ["message-threads"];
  for (const [field, beta] of pricedFields) {
    if (body[field] === undefined || body[field] === null || pass.includes(field)) continue;
    if (field === "speed" && body.speed === "standard") continue;
    delete body[field];
    droppedBetas.push(beta);
    warn(`Left out ${field}: the price of this model does not cover it`, field);
  }
  fitTier(body, pass, model, warn);
  if (Array.isArray(body.messages)) body.messages = withCallIds(body.messages);
  if (Array.isArray(body.tools)) body.tools = mapChanged(body.tools, withWholeInput);
  if (!pass.includes("context_management") && dropPaidEdits(body, warn)) droppedBetas.push("compact");
  const geo = body.inference_geo;
  if (typeof geo === "string" && geo !== "global" && !pass.includes("inference_geo")) {
    throw badRequest("The price of this model does not cover a region, expected global", "inference_geo");
  }
  if ((model.contextTokens ?? 0) <= 200_000) droppedBetas.push("context-1m");
  const isCovered = (tool: Record<string, unknown>) =>
    isWebTool(tool) ? model.price?.webSearch !== undefined : isFree(tool.type) || pass.includes(tool.type);
  dropPaidTools(body, isCovered, warn);
  fitThinking(body, warn);
  const sentBody = withCoveredLifetimes(body, { model, keepsLonger, warn });
  const acceptedBetas = betas.filter((beta) => beta !== "" && !droppedBetas.some((name) => beta.startsWith(name)));
  const headers: Record<string, string> = { ...options.headers, ...request.headers };
  delete headers["anthropic-beta"];
  return {
    body: sentBody,
    headers: acceptedBetas.length > 0 ? { ...headers, "anthropic-beta": acceptedBetas.join(",") } : headers,
  };
}

/**
 * Messages whose calls and results have ids that the provider takes, each call one of its own: a client brings those of other providers
 * back.
 */
function withCallIds(messages: unknown[]): readonly unknown[] {
  const ids = new CallIds("messages");
  return mapChanged(messages, (message) => {
    if (!isRecord(message) || !Array.isArray(message.content)) return message;
    if (message.role === "assistant") ids.beginAnswer();
    const content = mapChanged<unknown>(message.content, (block) => withCallId(block, ids));
    return content === message.content ? message : { ...message, content };
  });
}

function withCallId(block: unknown, ids: CallIds): unknown {
  if (!isRecord(block)) return block;
  const name = block.type === "tool_use" ? "id" : block.type === "tool_result" ? "tool_use_id" : undefined;
  const id = name === undefined ? undefined : block[name];
  if (name === undefined || typeof id !== "string" || id === "") return block;
  const sentId = name === "id" ? ids.take(id) : ids.takeResult(id);
  return sentId === id ? block : { ...block, [name]: sentId };
}

/**
 * Takes out the edits of a conversation that have a model read it once more, such as a summary: they are billed beside what
 * the usage of the answer says. Those that only clear something cost nothing.
 */
function dropPaidEdits(body: Record<string, unknown>, warn: Warn): boolean {
  const { context_management: management } = body;
  if (management === undefined || management === null) return false;
  const edits = isRecord(management) && Array.isArray(management.edits) ? management.edits : undefined;
  const isFree = (edit: unknown) => isRecord(edit) && typeof edit.type === "string" && edit.type.startsWith("clear_");
  const free = edits?.filter(isFree) ?? [];
  if (edits !== undefined && free.length === edits.length) return false;
  if (free.length > 0) body.context_management = { ...(management as object), edits: free };
  else delete body.context_management;
  warn("Left out edits of context_management: the price of this model does not cover them", "context_management");
  return true;
}

/** "auto" takes the tier "priority" where the operator's account has it; that is also what happens without the field. */
function fitTier(body: Record<string, unknown>, pass: unknown[], { price }: Model, warn: Warn): void {
  const { service_tier: tier } = body;
  const isPriced = tier === "auto" && price?.serviceTiers?.priority !== undefined;
  if (tier === undefined || tier === "standard_only" || isPriced || pass.includes("service_tier")) return;
  delete body.service_tier;
  if (tier !== null && tier !== "auto") {
    warn("Left out service_tier: expected auto, which takes what the price covers, or standard_only", "service_tier");
  }
}

/** A tool without a type is the client's own. */
function isFree(type: unknown = "custom"): boolean {
  return type === null || (typeof type === "string" && freeTool.test(type));
}

function isWebTool({ type }: Record<string, unknown>): boolean {
  return typeof type === "string" && webTool.test(type);
}

/** A limit that was lowered has to leave room for an answer behind the reasoning. */
function fitThinking(body: Record<string, unknown>, warn: Warn): void {
  const { thinking, max_tokens: limit } = body;
  if (!isRecord(thinking) || typeof thinking.budget_tokens !== "number" || typeof limit !== "number") return;
  if (thinking.budget_tokens < limit || limit === 0) return;
  if (limit > budgetTokensMin) body.thinking = { ...thinking, budget_tokens: budgetTokensMin };
  else delete body.thinking;
  warn("Lowered the budget of thinking to what max_tokens has room for", "thinking");
}

/** Adds up the reports of a stream: the first has the prompt, later ones repeat or correct some of the figures. */
function createUsageReader(toUsage: MessagesOptions["toUsage"]): NativeAnswer["readUsage"] {
  const figures: Record<string, unknown> = {};
  return (part): ChatUsage | undefined => {
    const { usage } = isRecord(part.message) ? part.message : part;
    if (!isRecord(usage)) return undefined;
    addFigures(figures, usage);
    return toUsage(figures);
  };
}

/** Calls whose input comes in pieces. */
const streamedCalls: ReadonlySet<unknown> = new Set(["tool_use", "server_tool_use"]);

/** Members that the beginning of a block has. Clients put its pieces behind them. */
const blockMembers: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} },
  server_tool_use: { input: {} },
};
/** Members that the beginning of a message has, which clients fill. */
const messageMembers = { type: "message", role: "assistant", content: [], stop_reason: null, stop_sequence: null };

/**
 * Puts right what servers of the Messages protocol send otherwise than its clients expect:
 *
 * - The input of a call that is encoded twice, or is a text, becomes what was meant. One at the beginning of its block alone is
 *   given as a piece: clients take the input from the pieces, and would find none.
 * - Members that clients of a stream write to are there, whether their server leaves them out or not.
 *
 * A call without a name is a failure.
 */
class MessagesRepair implements AnswerRepair {
  readonly #inputs = new Map<unknown, ArgumentStream>();
  /** The input at the beginning of each block of which no piece has come. */
  readonly #whole = new Map<unknown, unknown>();

  repair(part: WirePart): boolean {
    const { type, index, delta, content, message, content_block: block } = part;
    if (type === "message_start" && isRecord(message)) {
      const isFilled = fill(message, messageMembers);
      if (isRecord(message.usage)) return fill(message.usage, { input_tokens: 0, output_tokens: 0 }) || isFilled;
      message.usage = { input_tokens: 0, output_tokens: 0 };
      return true;
    }
    if (type === "message_delta") return fill(part, { usage: { output_tokens: 0 } });
    if (type === "content_block_start") {
      checkName(block);
      this.#inputs.set(index, new ArgumentStream());
      const isFilled = isRecord(block) && fill(block, blockMembers[String(block.type)] ?? {});
      const isRepaired = repairInput(block);
      return this.#takeWhole(index, block) || isRepaired || isFilled;
    }
    if (type === "content_block_delta" && isRecord(delta) && typeof delta.partial_json === "string") {
      if (delta.partial_json !== "") this.#whole.delete(index);
      const text = this.#inputs.get(index)?.push(delta.partial_json) ?? delta.partial_json;
      const isSame = text === delta.partial_json;
      delta.partial_json = text;
      return !isSame;
    }
    let isChanged = false;
    for (const one of Array.isArray(content) ? content : []) {
      checkName(one);
      if (repairInput(one)) isChanged = true;
    }
    return isChanged;
  }

  missingBefore({ type, index, delta }: WirePart): readonly ServerEvent[] {
    if (this.#whole.size === 0) return [];
    const isEnd =
      type === "message_stop" || (type === "message_delta" && isRecord(delta) && Boolean(delta.stop_reason));
    const ended = isEnd ? [...this.#whole.keys()] : type === "content_block_stop" ? [index] : [];
    return ended.flatMap((place) => {
      const input = this.#whole.get(place);
      if (!this.#whole.delete(place)) return [];
      const piece = { type: "input_json_delta", partial_json: JSON.stringify(input) };
      const event = { type: "content_block_delta", index: place, delta: piece };
      return [{ event: event.type, data: JSON.stringify(event) }];
    });
  }

  #takeWhole(index: unknown, block: unknown): boolean {
    const isWhole = isRecord(block) && streamedCalls.has(block.type) && isRecord(block.input);
    if (!isWhole || Object.keys(block.input as object).length === 0) return false;
    this.#whole.set(index, block.input);
    block.input = {};
    return true;
  }
}

/** Gives an object the members that it lacks. Returns whether it lacked some. */
function fill(holder: Record<string, unknown>, members: Readonly<Record<string, unknown>>): boolean {
  let isChanged = false;
  for (const [name, value] of Object.entries(members)) {
    if (holder[name] !== undefined && (holder[name] !== null || value === null)) continue;
    holder[name] = structuredClone(value);
    isChanged = true;
  }
  return isChanged;
}

/** @throws {UpstreamError} For a call without a name. */
function checkName(block: unknown): void {
  if (isRecord(block) && block.type === "tool_use") expectCallName(block.name);
}

function repairInput(block: unknown): boolean {
  if (!isRecord(block) || block.type !== "tool_use" || isRecord(block.input)) return false;
  const text = typeof block.input === "string" ? block.input : JSON.stringify(block.input ?? null);
  const input = parseJson(completeArguments(text));
  if (!isRecord(input)) return false;
  block.input = input;
  return true;
}

/** Its reasons that name what changed; others say that it cannot tell. */
const missKinds: ReadonlyMap<string, CacheMissKind> = new Map([
  ["model_changed", "model"],
  ["system_changed", "system"],
  ["tools_changed", "tools"],
  ["messages_changed", "messages"],
]);

/** The Messages protocol as the kernel passes its bodies and events through. */
export const messagesFormat: PassthroughFormat = {
  protocol: "messages",
  countHandler: "countMessagesTokens",
  namesOfChat: {
    messages: ["messages", "system"],
    max_completion_tokens: ["max_tokens"],
    stop: ["stop_sequences"],
    reasoning_effort: ["thinking", "output_config"],
    response_format: ["output_config", "output_format"],
    parallel_tool_calls: ["tool_choice"],
    user: ["metadata"],
  },
  prompt: {
    list: "messages",
    scalars: scalarsOf(MessagesRequest.properties),
    parts: {
      text: "text",
      thinking: "text",
      redacted_thinking: "text",
      tool_use: "text",
      server_tool_use: "text",
      tool_reference: "text",
      search_result: "parts",
      image: "image",
      document: "file",
      tool_result: "parts",
    },
    partsMembers: new Set(["content"]),
    files: "source",
  },
  cacheReportOf(part) {
    const { diagnostics } = isRecord(part.message) ? part.message : part;
    const reason = isRecord(diagnostics) ? diagnostics.cache_miss_reason : undefined;
    if (!isRecord(reason)) return undefined;
    return toCacheReport(reason.type, reason.cache_missed_input_tokens, missKinds);
  },
  isOwnHeader: (name) => name.startsWith("anthropic-"),
  reasoningOf: ({ thinking }) => thinking,
  // Only "auto" selects Anthropic's priority tier.
  tierOf: ({ service_tier: tier }) => (tier === "auto" ? "priority" : tier),
  servedTierOf: ({ usage }) => (isRecord(usage) ? usage.service_tier : undefined),
  searchLimitOf({ tools }) {
    let limit = 0;
    for (const tool of listTools({ tools }).filter(isWebTool)) {
      if (!isAmount(tool.max_uses)) return undefined;
      limit += tool.max_uses;
    }
    return limit;
  },
  isSearchBounded: () => true,
  hasOnlySearches: ({ tools }) => hasOnly(listTools({ tools }), isWebTool),
  // Each tool has a limit of its own: together they have what is held for. A limit of 0 is refused.
  withSearchLimit(body, searches, warn) {
    if (searches === 0) return withoutTools(body, isWebTool, warn);
    let remaining = searches;
    const limit = (tool: unknown) => {
      if (!isRecord(tool) || !isWebTool(tool)) return tool;
      const uses = Math.min(remaining, isAmount(tool.max_uses) ? tool.max_uses : remaining);
      remaining -= uses;
      return tool.max_uses === uses ? tool : { ...tool, max_uses: uses };
    };
    const isUsable = (tool: unknown) => !isRecord(tool) || !isWebTool(tool) || tool.max_uses !== 0;
    return Array.isArray(body.tools) ? { ...body, tools: body.tools.map(limit).filter(isUsable) } : body;
  },
  countSearches({ content, content_block: block }) {
    const blocks = Array.isArray(content) ? content : [block];
    return blocks.filter((item) => isRecord(item) && item.type === "server_tool_use" && item.name === "web_search")
      .length;
  },
  shortensPrompt: () => false,
  readError: (body) => classifyError(body),
  outputLimit: "max_tokens",
  createRepair: () => new MessagesRepair(),
  isPrelude: (type) => type === "message_start" || type === "ping",
  isLast: (type) => type === "message_stop",
  closing: { event: "message_stop", data: JSON.stringify({ type: "message_stop" }) },
  isAnswer: ({ content }) => Array.isArray(content),
  headOf: ({ message }) => (isRecord(message) ? message : undefined),
  errorOf: (part) => (part.type === "error" || isRecord(part.error) ? classifyError(part) : undefined),
  // Nothing of an answer comes twice.
  readOutput(part, reader) {
    const { delta, message, content } = part;
    if (isRecord(delta)) reader.piece(delta);
    else if (isRecord(message)) reader.piece(message.content);
    else reader.piece(Array.isArray(content) ? content : part);
  },
  finishReasonOf(part) {
    const { stop_reason: reason } = isRecord(part.delta) ? part.delta : part;
    return typeof reason === "string" ? toFinishReason(reason) : undefined;
  },
};
