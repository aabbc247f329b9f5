import type { ChatRequest, ChatUsage, FinishReason, Model, ToolCall } from "modelgate/plugin";
import { exampleOf } from "./example.ts";
import { toPieces } from "./pieces.ts";
import { attachmentsOf, textOf } from "./prompt.ts";
import { toolCallsOf } from "./tool-calls.ts";

/** One simulated choice, whole. */
export interface Reply {
  reasoning: string[];
  content: string[];
  toolCalls: ToolCall[];
  finishReason: FinishReason;
}

/** The simulated answer to a prompt from which the directives are taken. */
export function replyTo(request: ChatRequest, model: Model, prompt: string, choice: number): Reply {
  const toolCalls = toolCallsOf(request, prompt, choice);
  const reasoning = reasons(request)
    ? toPieces(`[sandbox] ${model.id} thinks about ${toPieces(prompt).length} words.`)
    : [];
  if (toolCalls.length > 0) return { reasoning, content: [], toolCalls, finishReason: "tool_calls" };
  const text = stopped(textFor(request, model, prompt, choice), request.stop);
  const pieces = toPieces(text);
  const tokensMax = request.max_completion_tokens ?? request.max_tokens ?? undefined;
  if (tokensMax === undefined || reasoning.length + pieces.length <= tokensMax) {
    return { reasoning, content: pieces, toolCalls, finishReason: "stop" };
  }
  const thought = reasoning.slice(0, tokensMax);
  return {
    reasoning: thought,
    content: pieces.slice(0, tokensMax - thought.length),
    toolCalls,
    finishReason: "length",
  };
}

/** What the simulated provider reports, in pieces of text as tokens. */
export function usageOf(request: ChatRequest, replies: readonly Reply[]): ChatUsage {
  let prompt = 0;
  for (const message of request.messages) prompt += 1 + toPieces(textOf(message)).length;
  let completion = 0;
  let reasoning = 0;
  for (const reply of replies) {
    reasoning += reply.reasoning.length;
    completion += reply.reasoning.length + reply.content.length;
    for (const call of reply.toolCalls) completion += 1 + toPieces(call.function.arguments).length;
  }
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function textFor(request: ChatRequest, model: Model, prompt: string, choice: number): string {
  const { response_format: format } = request;
  if (format?.type === "json_object") return JSON.stringify({ sandbox: true, model: model.id, echo: prompt });
  if (format?.type === "json_schema") return JSON.stringify(exampleOf(format.json_schema.schema, prompt));
  const last = request.messages.at(-1);
  const heard = last?.role === "tool" ? `the tool's answer ${textOf(last)}` : prompt;
  const attachments = attachmentsOf(request);
  const beside = attachments === 0 ? "" : ` (and ${attachments} ${attachments === 1 ? "attachment" : "attachments"})`;
  const variant = [choice > 0 && `choice ${choice}`, typeof request.seed === "number" && `seed ${request.seed}`].filter(
    Boolean,
  );
  return `[sandbox] ${model.id} echoes${variant.length === 0 ? "" : ` (${variant.join(", ")})`}: ${heard}${beside}`;
}

function stopped(text: string, stop: ChatRequest["stop"]): string {
  let end = text.length;
  for (const sequence of typeof stop === "string" ? [stop] : (stop ?? [])) {
    const at = sequence === "" ? -1 : text.indexOf(sequence);
    if (at !== -1 && at < end) end = at;
  }
  return text.slice(0, end);
}

function reasons({ reasoning_effort: effort }: ChatRequest): boolean {
  return effort !== undefined && effort !== null && effort !== "none";
}
