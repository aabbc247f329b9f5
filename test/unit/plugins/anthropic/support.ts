import type { ChatChunk, ChatCompletion, ChatRequest, ChatStream, Model, ServerEvent } from "modelgate/plugin";
import anthropic from "../../../../plugins/anthropic/index.ts";
import { toMessagesBody } from "../../../../src/protocols/messages/outbound.ts";
import type { Reading } from "../../../../src/protocols/messages/schema.ts";
import type { ToolCall } from "../../../../src/provider/index.ts";
import { chunksOf, readEvents } from "../../../support/chat-streams.ts";

/** How a plain answer is read. */
export const plain: Reading = {};

/** A row of the catalogue by any of its names, or a bare row for a model that is not in it. */
export function modelOf(name: string): Model {
  const row = anthropic.models.find(({ id, aliases = [] }) => id === name || aliases.includes(name));
  if (row !== undefined) return row;
  return { id: name, upstreamId: name, capability: "chat", premium: true, ownedBy: "famC", created: 0 };
}

/** The translation as it would stand on the wire, with the notes it made. */
export function translated(request: Partial<ChatRequest>, model: Model) {
  const notes: string[] = [];
  const { body, reading } = toMessagesBody({ model: model.id, messages: [], ...request }, model, (warn) =>
    notes.push(warn),
  );
  return { body: JSON.parse(JSON.stringify(body)) as Record<string, unknown>, reading, notes };
}

/** The events of an SSE body that arrives in the given pieces. */
export async function* eventsOf(...pieces: Uint8Array<ArrayBuffer>[]): AsyncGenerator<ServerEvent> {
  yield* readEvents(
    (async function* () {
      yield* pieces;
    })(),
  );
}

/** Events as the provider's stream has them, from their JSON. */
export async function* eventsFrom(payloads: Iterable<unknown>): AsyncGenerator<ServerEvent> {
  for (const payload of payloads) {
    const data = typeof payload === "string" ? payload : JSON.stringify(payload);
    yield { event: (payload as { type?: string }).type ?? "message", data };
  }
}

/** All chunks of a stream, and how it failed if it did. */
export async function drain(stream: ChatStream<ServerEvent>): Promise<{ chunks: ChatChunk[]; error?: unknown }> {
  const seen: ChatChunk[] = [];
  try {
    for await (const chunk of chunksOf(stream)) seen.push(chunk);
  } catch (error) {
    return { chunks: seen, error };
  }
  return { chunks: seen };
}

type Message = ChatCompletion["choices"][number]["message"] & Record<string, unknown>;

/** Puts a stream together as a client does. */
export function assemble(chunks: ChatChunk[]) {
  const message: Message = { role: "assistant", content: null, refusal: null };
  const calls: ToolCall[] = [];
  let finish: string | null = null;
  let usage: unknown;
  for (const chunk of chunks) {
    if (chunk.usage) usage = chunk.usage;
    for (const { delta, finish_reason } of chunk.choices) {
      if (delta.content) message.content = (message.content ?? "") + delta.content;
      if (delta.reasoning_content)
        message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
      if (delta.refusal) message.refusal = delta.refusal;
      if (Array.isArray(delta.reasoning_details)) {
        message.reasoning_details = [...((message.reasoning_details ?? []) as unknown[]), ...delta.reasoning_details];
      }
      for (const piece of delta.tool_calls ?? []) {
        const index = piece.index ?? -1;
        const known = calls[index];
        if (known === undefined) calls[index] = structuredClone(piece) as ToolCall;
        else known.function.arguments += piece.function?.arguments ?? "";
      }
      if (finish_reason) finish = finish_reason;
    }
  }
  if (calls.length > 0)
    message.tool_calls = calls.map(({ id, type, function: called }) => ({ id, type, function: called }));
  return { message, finish, usage };
}
