import type { GenerateAnswer, GeneratedCandidate } from "../../src/protocols/generate-content/schema.ts";
import type { MessageAnswer } from "../../src/protocols/messages/schema.ts";
import type { Recording } from "../support/recordings.ts";
import { eventsReply, type Reply } from "../support/reply.ts";
import { streamOf } from "../unit/plugins/anthropic/stream-of.ts";

type Json = Record<string, unknown>;

/** A recorded whole answer as its provider would have streamed it, so that both ways can be held against each other. */
export function streamedForm({ provider, body }: Recording): Reply {
  const answer = JSON.parse(new TextDecoder().decode(body)) as Json;
  if (provider === "anthropic") return eventsReply(...streamOf(answer as MessageAnswer, 5));
  if (provider === "gemini") return eventsReply(...contentsOf(answer as GenerateAnswer));
  return eventsReply(...chunksOf(answer), "[DONE]");
}

/** An event a part; the reason and the counts come with the last. */
function contentsOf(answer: GenerateAnswer): unknown[] {
  const [candidate] = answer.candidates ?? [];
  const parts = candidate?.content?.parts ?? [];
  if (candidate === undefined || parts.length < 2) return [answer];
  return parts.map((part, place) => {
    const content = { ...candidate.content, parts: [part] };
    if (place === parts.length - 1) return { ...answer, candidates: [{ ...candidate, content }] };
    const { finishReason: _, finishMessage: __, ...begun } = candidate as GeneratedCandidate & Json;
    return { candidates: [{ ...begun, content }] };
  });
}

/** OpenAI's own way: the role, each field in pieces of seven characters, the reason, the usage. */
function chunksOf({ choices, usage, ...head }: Json): unknown[] {
  const chunks: unknown[] = [];
  const push = (index: number, delta: Json, finish_reason: unknown = null) =>
    void chunks.push({ ...head, object: "chat.completion.chunk", choices: [{ index, delta, finish_reason }] });
  for (const { index, message, finish_reason } of choices as {
    index: number;
    message: Json;
    finish_reason: string;
  }[]) {
    push(index, { role: "assistant", content: "" });
    for (const field of ["reasoning", "reasoning_content", "content", "refusal"]) {
      for (const piece of piecesOf(message[field])) push(index, { [field]: piece });
    }
    const { annotations } = message;
    if (Array.isArray(annotations) && annotations.length > 0) push(index, { annotations });
    for (const [place, { id, function: called }] of toolCallsOf(message).entries()) {
      push(index, { tool_calls: [{ index: place, id, type: "function", function: { ...called, arguments: "" } }] });
      for (const piece of piecesOf(called.arguments)) {
        push(index, { tool_calls: [{ index: place, function: { arguments: piece } }] });
      }
    }
    if (message.function_call) push(index, { function_call: message.function_call });
    push(index, {}, finish_reason);
  }
  return usage === undefined ? chunks : [...chunks, { ...head, object: "chat.completion.chunk", choices: [], usage }];
}

const toolCallsOf = ({ tool_calls: calls }: Json) =>
  (calls ?? []) as { id: string; function: { name: string; arguments: string } }[];

const piecesOf = (text: unknown) => (typeof text === "string" ? (text.match(/[\s\S]{1,7}/g) ?? []) : []);
