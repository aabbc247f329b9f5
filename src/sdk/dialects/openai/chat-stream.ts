import { type ChatChunk, type ServerEvent, UpstreamFault } from "../../../contract/index.ts";
import { classifyError } from "../../fault.ts";
import { isRecord } from "../../json.ts";
import { ReasoningTagSplitter } from "../../reasoning-tags.ts";
import { dropFields, findUsage, toFinishReason, toReasoning } from "./chat-answer.ts";
import type { ChatOptions } from "./options.ts";

type Chunk = Record<string, unknown> & { choices: unknown[] };

/**
 * A provider's stream as uniform chunks.
 *
 * @throws {UpstreamFault} When the stream holds an error or what is no chunk, and `bad_response` when it ends before `[DONE]`
 * and before a finish reason.
 */
export async function* toChunks(events: AsyncIterable<ServerEvent>, options: ChatOptions): AsyncGenerator<ChatChunk> {
  const splitters = options.think === true ? new Map<unknown, ReasoningTagSplitter>() : undefined;
  let finished = false;
  for await (const event of events) {
    if (event.data === "[DONE]") return;
    const chunk = readChunk(event);
    if (chunk === undefined) continue;
    findUsage(chunk, options);
    for (const choice of chunk.choices) {
      if (isRecord(choice) && toChoice(choice, options, splitters)) finished = true;
    }
    yield chunk as unknown as ChatChunk;
  }
  if (!finished) throw new UpstreamFault("bad_response", "The provider's stream ended before its answer did");
}

/** The chunk of an event; `undefined` when it carries nothing for the caller (a ping, a provider's own event). */
function readChunk({ event, data }: ServerEvent): Chunk | undefined {
  if (data.trim() === "") return undefined;
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch (cause) {
    if (event === "error") throw classifyError(data);
    throw new UpstreamFault("bad_response", "The provider's stream holds what is no JSON", { cause });
  }
  if (event === "raw" && isRecord(chunk) && Array.isArray(chunk.choices)) {
    throw new UpstreamFault("bad_response", "The provider sent a whole answer where a stream was asked for");
  }
  if (event === "error" || event === "raw") throw classifyError(chunk);
  if (!isRecord(chunk)) return undefined;
  if (chunk.error !== undefined && chunk.error !== null) throw classifyError(chunk);
  if (Array.isArray(chunk.choices)) return chunk as Chunk;
  if (!isRecord(chunk.usage)) return undefined;
  chunk.choices = [];
  return chunk as Chunk;
}

/** Tidies one choice of a chunk. Returns whether the choice is finished. */
function toChoice(
  choice: Record<string, unknown>,
  options: ChatOptions,
  splitters: Map<unknown, ReasoningTagSplitter> | undefined,
): boolean {
  const isLast = choice.finish_reason !== null && choice.finish_reason !== undefined;
  if (isLast) choice.finish_reason = toFinishReason(choice.finish_reason, options);
  dropFields(choice, options);
  const { delta } = choice;
  if (!isRecord(delta)) return isLast;
  dropFields(delta, options);
  toReasoning(delta, options);
  if (splitters !== undefined) splitDelta(delta, splitterOf(splitters, choice.index), isLast);
  return isLast;
}

function splitterOf(splitters: Map<unknown, ReasoningTagSplitter>, index: unknown): ReasoningTagSplitter {
  const known = splitters.get(index);
  if (known !== undefined) return known;
  const splitter = new ReasoningTagSplitter();
  splitters.set(index, splitter);
  return splitter;
}

function splitDelta(delta: Record<string, unknown>, splitter: ReasoningTagSplitter, isLast: boolean): void {
  if (typeof delta.content !== "string" && !isLast) return;
  const split = splitter.push(typeof delta.content === "string" ? delta.content : "");
  const held = isLast ? splitter.flush() : undefined;
  const content = split.content + (held?.content ?? "");
  const reasoning = split.reasoning + (held?.reasoning ?? "");
  if (typeof delta.content === "string" || content !== "") delta.content = content;
  if (reasoning !== "") delta.reasoning_content = reasoning;
}
