/**
 * Marks for the prompt caches of providers that write only what is marked (Anthropic, wherever it is served). A mark says that
 * everything up to it is to be kept; the next request reads what it has in common with that, for a tenth of the price or
 * less, and to write costs a quarter more.
 *
 * Clients of OpenAI's protocols do not know of marks, since OpenAI caches by itself. So the gateway marks for a client that
 * marked nothing, where the prompt is likely to come again: with tools, in a session, or after an answer of the model. The prefix that
 * comes again is the same because a translation keeps each message in its place, also a later `system` message. The kernel says
 * where the gateway does not mark (`markRule` of the `Call`): where it is off, the prompt is too short, or marks cost more than they save.
 */

import { type CacheMarks, getWriteMeter, lifetimeFields, UpstreamError } from "../contract/index.ts";
import { isRecord, mapChanged } from "../lib/json.ts";
import type { Call, ChatRequest, Message, Model } from "../provider/index.ts";

/** A mark as Anthropic has it, for five minutes or an hour. */
export interface CacheMark {
  type: "ephemeral";
  ttl?: "1h";
}

/** More of them are refused. */
const marksMax = 4;
const plainMark: CacheMark = { type: "ephemeral" };

/**
 * The mark of a client on a message, part, tool, call or request: Anthropic's `cache_control`, or OpenAI's `prompt_cache_breakpoint`,
 * which has other lifetimes.
 *
 * @example
 * readMark({ type: "text", text: "Hi", cache_control: { type: "ephemeral", ttl: "1h" } }); // => { type: "ephemeral", ttl: "1h" }
 */
export function readMark(holder: object): CacheMark | undefined {
  const { cache_control: mark, prompt_cache_breakpoint: breakpoint } = holder as Record<string, unknown>;
  if (isRecord(mark)) return mark.ttl === "1h" ? { ...plainMark, ttl: "1h" } : plainMark;
  return isRecord(breakpoint) ? plainMark : undefined;
}

/** The client's mark as an object member to spread; an empty object without a mark. */
export function markOf(holder: object): { cache_control?: CacheMark } {
  const mark = readMark(holder);
  return mark === undefined ? {} : { cache_control: mark };
}

/** Whether a request of OpenAI's protocols leaves caching to who serves it, as it does unless it says otherwise. */
export function leavesCaching(body: object): boolean {
  const { prompt_cache_options: options } = body as { prompt_cache_options?: unknown };
  return !isRecord(options) || options.mode === undefined || options.mode === null || options.mode === "implicit";
}

type Change = <Holder extends object>(holder: Holder) => Holder;

/** Calls `change` with everything that can have a mark, in the order a provider reads it. */
function mapHolders(request: ChatRequest, change: Change): ChatRequest {
  const tools = request.tools && mapChanged(request.tools, (tool) => changeTool(tool, change));
  const messages = mapChanged(request.messages, (message) => {
    const { content, tool_calls: calls } = message;
    const parts = Array.isArray(content) ? mapChanged(content, change) : content;
    const changedCalls = calls && mapChanged(calls, change);
    const isSame = parts === content && changedCalls === calls;
    return change(isSame ? message : ({ ...message, content: parts, tool_calls: changedCalls } as Message));
  });
  if (tools === request.tools && messages === request.messages) return request;
  return { ...request, ...(tools && { tools }), messages } as ChatRequest;
}

/** Some clients write the mark of a tool into its function. */
function changeTool<Tool extends { function?: object }>(tool: Tool, change: Change): Tool {
  const inner = tool.function;
  if (inner === undefined || readMark(inner) === undefined) return change(tool);
  const changed = change(inner);
  return changed === inner ? tool : { ...tool, function: changed };
}

function countMarks(request: ChatRequest): number {
  let count = readMark(request) === undefined ? 0 : 1;
  mapHolders(request, (holder) => {
    if (readMark(holder) !== undefined) count++;
    return holder;
  });
  return count;
}

/**
 * The request with no more marks than a provider takes. Those at the end of the prompt stay: what is in front of them is read
 * again, too.
 */
export function limitMarks(request: ChatRequest): ChatRequest {
  let surplus = countMarks(request) - marksMax;
  if (surplus <= 0) return request;
  return mapHolders(request, (holder) => {
    if (surplus <= 0 || readMark(holder) === undefined) return holder;
    surplus--;
    const { cache_control: _, prompt_cache_breakpoint: __, ...rest } = holder as Record<string, unknown>;
    return rest as typeof holder;
  });
}

/** The request with OpenAI's marks as Anthropic has them. */
export function toAnthropicMarks(request: ChatRequest): ChatRequest {
  return mapHolders(request, (holder) => {
    if (!("prompt_cache_breakpoint" in holder)) return holder;
    const { prompt_cache_breakpoint: _, ...rest } = holder;
    return { ...rest, ...markOf(holder) } as typeof holder;
  });
}

/** Members with values of the caller's own; nothing in them is a mark. */
const freeForms: ReadonlySet<string> = new Set(["input_schema", "parameters", "schema", "json_schema", "metadata"]);

/**
 * Returns the body without cache lifetimes that the row's price does not cover. A lifetime may be on a part, a tool, a
 * message, or the request.
 */
export function withCoveredLifetimes<Body extends object>(
  body: Body,
  { model, keepsLonger, warn }: Pick<Call<unknown>, "model" | "keepsLonger" | "warn">,
): Body {
  if (keepsLonger === false) return body;
  let isShortened = false;
  const isCovered = (lifetime: unknown) => {
    const meter = getWriteMeter(lifetime);
    return meter === "cacheWriteToken" || model.price?.[meter] !== undefined;
  };
  const shorten = (value: unknown): unknown => {
    if (Array.isArray(value)) return mapChanged(value, shorten);
    if (!isRecord(value)) return value;
    let changed: Record<string, unknown> | undefined;
    for (const name in value) {
      const member = value[name];
      if (typeof member !== "object" || member === null || freeForms.has(name)) continue;
      // The arguments of a tool; a list of this name is a conversation.
      if (name === "input" && !Array.isArray(member)) continue;
      let shortened: unknown;
      if (lifetimeFields.has(name)) {
        const { ttl, ...rest } = member as { ttl?: unknown };
        shortened = isCovered(ttl) ? member : rest;
        isShortened ||= shortened !== member;
      } else shortened = shorten(member);
      if (shortened !== member) changed = { ...(changed ?? value), [name]: shortened };
    }
    return changed ?? value;
  };
  const shortened = shorten(body) as Body;
  if (!isShortened) return shortened;
  const fields = Object.keys(body).filter((name) => shortened[name as keyof Body] !== body[name as keyof Body]);
  warn("Shortened the cache lifetime: the price of this model does not cover a longer lifetime", fields);
  return shortened;
}

/** The number of messages at the beginning that are the system prompt. Later ones of these roles stay in their place. */
export function countSystemMessages(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => !isSystemMessage(message));
  return first === -1 ? messages.length : first;
}

function isSystemMessage({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

/** Rows whose provider takes no marks, as it said of a request with the gateway's, and the base URLs where it said so. */
const refusing = new WeakMap<Model, Set<string>>();

/** Whether the gateway marks a request, or why not; `undefined` for a request that needs no marks, or has to be marked by its client. */
function judge({ request, model, upstream, markRule, hasSession }: Call<ChatRequest>): CacheMarks | undefined {
  const { price } = model;
  if (markRule === undefined || price?.cacheWriteToken === undefined || price.cacheReadToken === undefined)
    return undefined;
  // Several choices are requested in parallel, and each request would write to the cache.
  if ((request.n ?? 1) > 1) return undefined;
  if (countMarks(request) > 0) return "client";
  const comesAgain =
    hasSession === true || Boolean(request.tools?.length) || request.messages.some(({ role }) => role === "assistant");
  if (!comesAgain) return undefined;
  if (markRule !== "auto") return markRule;
  return refusing.get(model)?.has(upstream.baseUrl) === true ? "refused" : "marked";
}

/**
 * Returns the request with the gateway's marks. One is on the last tool and one at the end of the system prompt, which
 * other sessions share. One is at the end of the previous request, so the cache is found however much this request
 * adds: a provider looks only about 20 blocks back from a mark, and a turn with parallel calls has more. The last is at the end of this request.
 */
function withMarks(request: ChatRequest, end: "request" | "message"): ChatRequest {
  const { messages, tools } = request;
  const system = countSystemMessages(messages);
  const places = new Set([system - 1]);
  // The last answer of the model may be several messages in a row.
  const previous = messages.findLastIndex(
    ({ role }, index) => role !== "assistant" && messages[index + 1]?.role === "assistant",
  );
  if (previous >= system) places.add(previous);
  if (end === "message") places.add(messages.length - 1);
  const mark = <Holder extends object>(holder: Holder) => ({ ...holder, cache_control: plainMark });
  return {
    ...request,
    ...(tools?.length && { tools: tools.map((tool, index) => (index === tools.length - 1 ? mark(tool) : tool)) }),
    messages: messages.map((message, index) => (places.has(index) ? mark(message) : message)),
    ...(end === "request" && { cache_control: plainMark }),
  };
}

/**
 * Sends a chat request, with the gateway's marks if it should have them. If the provider refuses the marks, the request
 * is sent again without them. If the provider does not support marks at all, it gets no more of them.
 *
 * @param end Place of the mark for the whole request: on the request itself, if the provider supports that, or on the
 * last message.
 */
export async function sendMarked<Answer>(
  call: Call<ChatRequest>,
  end: "request" | "message",
  send: (call: Call<ChatRequest>) => Promise<Answer>,
): Promise<Answer> {
  const state = judge(call);
  if (state !== undefined) call.noteCacheMarks?.(state);
  if (state !== "marked") return await send(call);
  try {
    return await send({ ...call, request: withMarks(call.request, end) });
  } catch (error) {
    if (!isRefusalOfMarks(error)) throw error;
    call.noteCacheMarks?.("refused");
    const answer = await send({ ...call, warn: () => undefined });
    if (saysUnsupported.test(error.message)) noteRefusal(call);
    return answer;
  }
}

function noteRefusal({ model, upstream: { baseUrl } }: Call<ChatRequest>): void {
  const places = refusing.get(model) ?? new Set();
  refusing.set(model, places.add(baseUrl));
}

function isRefusalOfMarks(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError) || error.kind !== "bad_request") return false;
  return /cache[ _]?(?:control|point)|prompt caching/i.test(error.message);
}

/** Other refusals are of a mark in its place, such as one on a block that cannot have any. */
const saysUnsupported = /\bnot (?:permitted|allow|support)|unsupported|extraneous|unknown|unrecogni[sz]ed/i;
