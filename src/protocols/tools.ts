import { badRequest, type GatewayError } from "../contract/index.ts";
import { CallIds, type CallIdTarget } from "../lib/call-ids.ts";
import { isRecord, JsonBoundsError, mapChanged, readJson } from "../lib/json.ts";
import { carryArguments, completeArguments, toObjectText } from "../lib/tool-arguments.ts";
import {
  type Call,
  type ChatCompletion,
  type ChatHandler,
  type ChatRequest,
  type ChatStream,
  type ChunkChoice,
  type Message,
  mapPieces,
  type ToolCall,
  toFinishReason,
  type Warn,
} from "../provider/index.ts";

const allowedToolsParam = "tool_choice.allowed_tools.tools";
/** Maximum number of tools that an error names. */
const namedMax = 128;

/** Decision of `tool_choice` in all its forms. */
export interface ToolDecision {
  mode: "none" | "auto" | "required";
  /** The functions that may be called, if not all of them: the named function, or the list in `allowed_tools`. */
  names?: ReadonlySet<string>;
}

/**
 * Reads `tool_choice` against the request's tools.
 *
 * @returns `undefined` when nothing is chosen, or there are no tools to choose from.
 * @throws {GatewayError} `invalid_request` when it demands a call without tools, or names a tool that is not among them.
 *
 * @example
 * const tools = [{ type: "function", function: { name: "weather" } }];
 * readToolChoice({ tools, tool_choice: "required" }); // => { mode: "required" }
 */
export function readToolChoice({ tool_choice: choice, tools }: ChatRequest): ToolDecision | undefined {
  const names = new Set((tools ?? []).map((tool) => tool.function.name));
  if (choice === undefined || choice === null) return undefined;
  const decision = typeof choice === "string" ? { mode: choice } : readNames(choice);
  const unknown = [...(decision.names ?? [])].find((name) => !names.has(name));
  if (unknown !== undefined) {
    const param = isRecord(choice) && choice.type === "allowed_tools" ? allowedToolsParam : "tool_choice";
    throw badRequest(
      `tool_choice names ${unknown}, expected one of the tools: ${[...names].slice(0, namedMax).join(", ")}`,
      param,
    );
  }
  if (names.size > 0) return decision;
  if (decision.mode === "required")
    throw badRequest("tool_choice requires a tool call, but the request has no tools", "tool_choice");
  return undefined;
}

function readNames(choice: Exclude<ChatRequest["tool_choice"], string | null | undefined>): ToolDecision {
  if (choice.type === "function") return { mode: "required", names: new Set([choice.function.name]) };
  const { mode, tools }: Record<string, unknown> = choice.allowed_tools;
  const names = (Array.isArray(tools) ? tools : []).map(
    (tool) => isRecord(tool) && isRecord(tool.function) && tool.function.name,
  );
  if (names.length > 0 && names.every((name) => typeof name === "string")) {
    return { mode: mode === "required" ? "required" : "auto", names: new Set(names) };
  }
  throw badRequest("allowed_tools names no functions, expected a list of them", allowedToolsParam);
}

/** A tool message, the call it answers, and its index in the conversation. */
export interface ToolResult {
  call: ToolCall;
  message: Message;
  index: number;
}

/**
 * Returns the results of an assistant message's tool calls, one for each call and in the order of the calls, for
 * providers that pair them by position. Calls with the same id get their results in turn.
 *
 * @param index Index of the assistant message. Its results are the tool messages right after it.
 * @throws {GatewayError} `invalid_request` when a call has no result or two, or a result has no call.
 *
 * @example
 * const call = { id: "1", type: "function", function: { name: "weather", arguments: "{}" } };
 * const messages = [{ role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "1", content: "mild" }];
 * getToolResults(messages, 0)[0].message.content; // => "mild"
 */
export function getToolResults(messages: readonly Message[], index: number): ToolResult[] {
  const calls = messages[index]?.tool_calls ?? [];
  /** The places of the calls that wait for their results, by id: some servers give one id to several calls. */
  const waiting = new Map<string, { places: number[]; answered: number }>();
  for (const [place, { id }] of calls.entries()) {
    const ofId = waiting.get(id);
    if (ofId === undefined) waiting.set(id, { places: [place], answered: 0 });
    else ofId.places.push(place);
  }
  const results: ToolResult[] = [];
  for (let next = index + 1; messages[next]?.role === "tool"; next++) {
    const message = messages[next] as Message;
    const id = message.tool_call_id ?? "";
    const param = `messages[${next}].tool_call_id`;
    const ofId = waiting.get(id);
    if (ofId === undefined) throw resultWithoutCall(param);
    const place = ofId.places[ofId.answered++];
    if (place === undefined) throw badRequest(`The tool call ${id} has two results, expected one`, param);
    results[place] = { call: calls[place] as ToolCall, message, index: next };
  }
  return calls.map(({ id }, position) => {
    const result = results[position];
    if (result !== undefined) return result;
    const param = `messages[${index}].tool_calls[${position}]`;
    throw badRequest(`The tool call ${id} has no result, expected a tool message with its id right after it`, param);
  });
}

/**
 * The messages with an id of its own for each call, and the same one on its result. What needs no change, a message or the whole list,
 * is passed on, not copied.
 *
 * @param target The form of the ids. Absent: any form is taken, and only the calls of one message need ids of their own, because the
 *   results follow directly after their message.
 *
 * @example
 * const call = { id: "call_0", type: "function", function: { name: "weather", arguments: "{}" } };
 * const turn = [{ role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "call_0", content: "mild" }];
 * withCallIds([...turn, ...turn], "responses")[3].tool_call_id; // => "call_0_1"
 */
export function withCallIds(messages: readonly Message[], target?: CallIdTarget): readonly Message[] {
  if (target === undefined && !messages.some(hasRepeatedIds)) return messages;
  const ids = new CallIds(target);
  return mapChanged(messages, (message): Message => {
    const { role, tool_calls: calls, tool_call_id: resultId } = message;
    if (role !== "assistant" && typeof resultId === "string") {
      const id = ids.takeResult(resultId);
      return id === resultId ? message : { ...message, tool_call_id: id };
    }
    if (!calls?.length) return message;
    ids.beginAnswer();
    const named = mapChanged(calls, (call) => {
      const id = ids.take(call.id);
      return id === call.id ? call : { ...call, id };
    });
    return named === calls ? message : { ...message, tool_calls: [...named] };
  });
}

function hasRepeatedIds({ tool_calls: calls }: Message): boolean {
  if (!calls || calls.length < 2) return false;
  return new Set(calls.map(({ id }) => id)).size < calls.length;
}

/**
 * The refusal of a tool message that follows no assistant message with its call.
 *
 * @example
 * resultWithoutCall("messages[3].tool_call_id").param; // => "messages[3].tool_call_id"
 */
export function resultWithoutCall(param: string): GatewayError {
  return badRequest(
    "This result does not belong to a tool call of the assistant message before it; expected the id of one",
    param,
  );
}

/**
 * The arguments of an earlier tool call as an object, for providers that take no text. A model may have written something else:
 * what stands for no arguments becomes an empty object, and any other text is carried in an object.
 *
 * @param param The call's place in the request, for the error.
 * @throws {GatewayError} `invalid_request` when they are JSON that is too deep or too wide to be read.
 *
 * @example
 * const call = { id: "1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
 * readArguments(call, "messages[1].tool_calls[0]"); // => { city: "Paris" }
 */
export function readArguments(call: ToolCall, param: string): Record<string, unknown> {
  const { name, arguments: text } = call.function;
  let value: unknown;
  try {
    value = readJson(completeArguments(text), "text");
  } catch (cause) {
    if (cause instanceof JsonBoundsError)
      throw badRequest(`The text of the arguments of ${name} ${cause.reason}`, `${param}.function.arguments`);
  }
  return isRecord(value) ? value : carryArguments(text);
}

/**
 * Messages whose calls have the text of an object as their arguments. A list without others is returned as it is.
 *
 * @example
 * const call = { id: "1", type: "function", function: { name: "weather", arguments: "" } };
 * withReadableCalls([{ role: "assistant", tool_calls: [call] }])[0].tool_calls[0].function.arguments; // => "{}"
 */
export function withReadableCalls(messages: readonly Message[]): readonly Message[] {
  return mapChanged(messages, (message): Message => {
    const { tool_calls: calls, function_call: called } = message;
    const readable = calls ? mapChanged(calls, withReadableCall) : calls;
    const legacy = called ? withObjectText(called) : called;
    if (readable === calls && legacy === called) return message;
    return {
      ...message,
      ...(readable && { tool_calls: [...readable] }),
      ...(legacy && { function_call: legacy }),
    };
  });
}

function withReadableCall(call: ToolCall): ToolCall {
  // Calls of custom tools have an input in place of arguments.
  if (!isRecord(call.function)) return call;
  const called = withObjectText(call.function);
  return called === call.function ? call : { ...call, function: called };
}

/** A call whose arguments are the text of an object; itself where they are. */
export function withObjectText<Called extends { arguments: string }>(called: Called): Called {
  const text = toObjectText(called.arguments);
  return text === called.arguments ? called : { ...called, arguments: text };
}

/**
 * Makes a chat handler take the deprecated `functions` and `function_call` without knowing of them: they reach it as
 * `tools` and `tool_choice`, and a call it answers with goes back as `function_call`. Requests without them pass as
 * they are.
 *
 * @example
 * const chat = withFunctionsAsTools(async ({ request }) => ({ choices: [], tools: request.tools }));
 * const answer = await chat({ request: { messages: [], functions: [{ name: "weather" }] } });
 * answer.tools; // => [{ type: "function", function: { name: "weather" } }]
 */
export function withFunctionsAsTools(chat: ChatHandler): ChatHandler {
  const converting: ChatHandler = (call) => {
    const hasFunctions = Boolean(call.request.functions?.length);
    return hasFunctions || call.request.messages.some(isLegacy) ? convert(chat, call, hasFunctions) : chat(call);
  };
  return chat.omits === undefined ? converting : Object.assign(converting, { omits: chat.omits });
}

async function convert(chat: ChatHandler, call: Call<ChatRequest>, hasFunctions: boolean) {
  const answer = await chat({ ...call, request: toTools(call.request) });
  if (!hasFunctions) return answer;
  return "push" in answer ? toLegacyStream(answer) : toLegacyCompletion(answer);
}

function isLegacy(message: Message): boolean {
  return message.role === "function" || (message.function_call !== undefined && message.function_call !== null);
}

function toTools({ functions, function_call: choice, ...request }: ChatRequest): ChatRequest {
  const tools = (functions ?? []).map((definition) => ({ type: "function" as const, function: definition }));
  const toolChoice =
    typeof choice === "object" && choice !== null ? { type: "function" as const, function: choice } : choice;
  let calls = 0;
  const messages = request.messages.map((message): Message => {
    const { function_call: called, ...rest } = message;
    if (message.role === "function") return { ...rest, role: "tool", tool_call_id: legacyId(calls) };
    if (called === undefined || called === null) return message;
    return {
      ...rest,
      content: rest.content ?? null,
      tool_calls: [{ id: legacyId(++calls), type: "function", function: called }],
    };
  });
  if (tools.length === 0) return { ...request, messages };
  const asTools = { ...request, messages, tools, parallel_tool_calls: false };
  return toolChoice === undefined || toolChoice === null ? asTools : { ...asTools, tool_choice: toolChoice };
}

/** Legacy messages pair by order alone: one call, then its result. */
function legacyId(calls: number): string {
  return `call_legacy_${calls}`;
}

function toLegacyCompletion(completion: ChatCompletion): ChatCompletion {
  for (const choice of completion.choices) {
    const [first] = choice.message.tool_calls ?? [];
    if (first === undefined) continue;
    Object.assign(choice.message, { function_call: first.function });
    delete choice.message.tool_calls;
    if (toFinishReason(choice.finish_reason, true) === "tool_calls") choice.finish_reason = "function_call";
  }
  return completion;
}

function toLegacyStream(stream: ChatStream): ChatStream {
  const called = new Set<number>();
  return mapPieces(stream, (chunk) => {
    for (const choice of chunk.choices) toLegacyChoice(choice, called);
    return chunk;
  });
}

function toLegacyChoice(choice: ChunkChoice, called: Set<number>): void {
  const pieces = choice.delta?.tool_calls;
  if (pieces !== undefined && pieces !== null) {
    delete choice.delta.tool_calls;
    const piece = pieces.find(({ index = 0 }) => index === 0);
    if (piece?.function !== undefined) choice.delta.function_call = piece.function;
    if (pieces.length > 0) called.add(choice.index);
  }
  if (called.has(choice.index) && (choice.finish_reason === "tool_calls" || choice.finish_reason === "stop")) {
    choice.finish_reason = "function_call";
  }
}

/** Types of `tool_choice` that are not the type of a tool, in the protocols with tools of the provider. */
const choiceTypes: ReadonlySet<unknown> = new Set(["allowed_tools", "auto", "any", "none", "tool"]);

/**
 * Removes the tools that cost extra from a body that is passed through, in every place that may bring tools, and a
 * `tool_choice` of one of them.
 *
 * @param isFree Whether the client runs a tool, or it costs nothing except the tokens that are counted.
 * @param reason Why they are left out, for the warning.
 */
export function dropPaidTools(
  body: Record<string, unknown>,
  isFree: (tool: Record<string, unknown>) => boolean,
  warn: Warn,
  reason = "the price of this model does not cover them",
): void {
  const dropped: Record<string, unknown>[] = [];
  const keep = (value: unknown): boolean => {
    const tool = isRecord(value) ? value : { type: "" };
    const isKept = isFree(tool);
    if (!isKept) dropped.push(tool);
    return isKept;
  };
  const clean = <Holder>(holder: Holder): Holder => {
    if (!isRecord(holder) || !Array.isArray(holder.tools)) return holder;
    const toolList: unknown[] = holder.tools;
    const tools = toolList.filter(keep).map(clean);
    const isSame = tools.length === toolList.length && tools.every((tool, place) => tool === toolList[place]);
    return isSame ? holder : { ...holder, tools };
  };
  const { tool_choice: choice } = body;
  const { tools } = clean(body);
  const fields = new Set<string>();
  if (tools !== body.tools) fields.add("tools");
  if (tools !== body.tools) body.tools = tools;
  const { input } = body;
  if (Array.isArray(input)) body.input = mapChanged(input, clean);
  if (body.input !== input) fields.add("input");
  const chosen = clean(choice);
  const isChoiceOfDropped =
    isRecord(choice) &&
    ((chosen === choice && !choiceTypes.has(choice.type) && !keep(choice)) ||
      (choice.name !== undefined && dropped.some(({ name }) => name === choice.name)));
  if (isRecord(chosen) && chosen !== choice) body.tool_choice = chosen;
  if (isChoiceOfDropped || (chosen !== choice && isRecord(chosen) && isEmpty(chosen.tools))) delete body.tool_choice;
  if (dropped.length === 0) return;
  if (isEmpty(body.tools)) {
    delete body.tools;
    const hasOthers = Array.isArray(body.input) && body.input.some((item) => isRecord(item) && !isEmpty(item.tools));
    if (isRecord(choice) && !hasOthers) delete body.tool_choice;
  }
  const types = dropped.map(({ type }) => (typeof type === "string" ? type : JSON.stringify(type)).slice(0, 64));
  const names = [...new Set(types)].join(", ");
  if (body.tool_choice !== choice) fields.add("tool_choice");
  warn(`Left out the tools ${names}: ${reason}`, [...fields]);
}

/** Changes tools of a body that is passed through, wherever it can bring them, and a choice of one. */
export function changeTools(
  body: Record<string, unknown>,
  change: (tool: Record<string, unknown>) => Record<string, unknown>,
): void {
  const changeOne = (value: unknown): unknown => (isRecord(value) ? change(changeHolder(value)) : value);
  const changeHolder = (holder: Record<string, unknown>): Record<string, unknown> => {
    if (!Array.isArray(holder.tools)) return holder;
    const tools = mapChanged(holder.tools, changeOne);
    return tools === holder.tools ? holder : { ...holder, tools };
  };
  Object.assign(body, changeHolder(body));
  if (Array.isArray(body.input)) {
    body.input = mapChanged(body.input, (item) => (isRecord(item) ? changeHolder(item) : item));
  }
  if (isRecord(body.tool_choice)) body.tool_choice = changeOne(body.tool_choice);
}

/** A copy of a body without some of its tools, because the caller cannot pay for the least that they can cost. */
export function withoutTools(
  body: Record<string, unknown>,
  isLeftOut: (tool: Record<string, unknown>) => boolean,
  warn: Warn,
): Record<string, unknown> {
  const copy = { ...body };
  dropPaidTools(copy, (tool) => !isLeftOut(tool), warn, "the remaining balance of the wallet does not cover them");
  return copy;
}

/** The tools of a body that is passed through, also those in a namespace and those that an item of `input` brings. */
export function listTools(
  { tools, input }: Record<string, unknown>,
  list: Record<string, unknown>[] = [],
): Record<string, unknown>[] {
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (!isRecord(tool)) continue;
    if (Array.isArray(tool.tools)) listTools({ tools: tool.tools }, list);
    else list.push(tool);
  }
  for (const item of Array.isArray(input) ? input : []) {
    if (isRecord(item) && Array.isArray(item.tools)) listTools({ tools: item.tools }, list);
  }
  return list;
}

/** Whether there are tools, all of one kind. */
export function hasOnly(
  tools: readonly Record<string, unknown>[],
  isOfKind: (tool: Record<string, unknown>) => boolean,
): boolean {
  return tools.length > 0 && tools.every(isOfKind);
}

const isEmpty = (tools: unknown): boolean => !Array.isArray(tools) || tools.length === 0;
