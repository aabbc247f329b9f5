import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  fromIterable,
} from "modelgate/plugin";
import type { ChatUsage } from "../../src/contract/index.ts";
import type { ChunkChoice } from "../../src/provider/index.ts";
import { applyFaults, failWhole, readFaults, withFaults } from "./faults.ts";
import { countUsage, getPrompt, type Reply, replyTo, toPieces } from "./reply.ts";

/** Echoes the prompt, calls tools, fills schemas. */
export async function chat(call: Call<ChatRequest>): Promise<ChatCompletion | ChatStream> {
  const { request, model, signal } = call;
  const { text, faults } = readFaults(getPrompt(request));
  await applyFaults(faults, signal);
  const replies = Array.from({ length: request.n ?? 1 }, (_, choice) => replyTo(request, model, text, choice));
  const usage = faults.usageMissing ? undefined : countUsage(request, replies, model);
  if (request.stream === true) return fromIterable(withFaults(toChunks(replies, usage), faults, signal));
  failWhole(faults);
  return {
    id: call.id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model: model.id,
    choices: replies.map(toChoice),
    ...(usage && { usage }),
  };
}

function toChoice({ reasoning, content, toolCalls, finishReason }: Reply, index: number) {
  return {
    index,
    message: {
      role: "assistant" as const,
      content: toolCalls.length > 0 ? null : content.join(""),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      ...(reasoning.length > 0 && { reasoning_content: reasoning.join("") }),
    },
    finish_reason: finishReason,
  };
}

/** The choices piece by piece and by turns, as providers send them, and the usage at the end. */
function* toChunks(replies: readonly Reply[], usage: ChatUsage | undefined): Generator<ChatChunk> {
  const choices = replies.map(choicePieces);
  while (choices.length > 0) {
    for (const pieces of [...choices]) {
      const { done, value } = pieces.next();
      if (done) choices.splice(choices.indexOf(pieces), 1);
      else yield { choices: [value] };
    }
  }
  if (usage !== undefined) yield { choices: [], usage };
}

function* choicePieces(reply: Reply, index: number): Generator<ChunkChoice> {
  const piece = (delta: ChunkChoice["delta"]): ChunkChoice => ({ index, delta, finish_reason: null });
  yield piece({ role: "assistant", content: reply.toolCalls.length > 0 ? null : "" });
  for (const reasoning of reply.reasoning) yield piece({ reasoning_content: reasoning });
  for (const content of reply.content) yield piece({ content });
  for (const [position, { id, type, function: called }] of reply.toolCalls.entries()) {
    const head = { index: position, id, type, function: { name: called.name, arguments: "" } };
    yield piece({ tool_calls: [head] });
    for (const text of toPieces(called.arguments)) {
      yield piece({ tool_calls: [{ index: position, function: { arguments: text } }] });
    }
  }
  yield { index, delta: {}, finish_reason: reply.finishReason };
}
