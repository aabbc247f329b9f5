import { type ChatUsage, GatewayError } from "../../contract/index.ts";
import type { ChatChunk, ChatCompletion, ChatRequest } from "../../provider/index.ts";
import { doneEvent } from "../chat/inbound.ts";
import { commonFields, type Exchange, type Inbound, toEvent, toOpenaiError } from "../inbound.ts";
import type { CompletionsRequest, TextCompletion } from "./schema.ts";

/** OpenAI's default of `max_tokens`. */
const maxTokensDefault = 16;

/**
 * One chat request for each prompt of a request of the legacy protocol.
 *
 * @throws {GatewayError} `invalid_request` for what a chat model cannot do.
 */
export function toChatRequests(request: CompletionsRequest): ChatRequest[] {
  const { prompt, suffix, echo, best_of: bestOf, logprobs, max_tokens, ...rest } = request;
  const prompts = [prompt].flat();
  if (suffix) throw unavailable("suffix");
  if (echo) throw unavailable("echo");
  if (logprobs != null) throw unavailable("logprobs");
  if (bestOf != null && bestOf > (request.n ?? 1)) throw unavailable("best_of");
  if (request.stream === true && prompts.length > 1) {
    const message = `prompt is an array of ${prompts.length}, but a stream takes one prompt; send one request for each`;
    throw new GatewayError("invalid_request", message, { param: "prompt" });
  }
  return prompts.map((content) => ({
    ...rest,
    messages: [{ role: "user", content }],
    max_tokens: max_tokens ?? maxTokensDefault,
  }));
}

function unavailable(param: string): GatewayError {
  const message = `${param} is not available: POST /completions is answered by chat models; leave it out`;
  return new GatewayError("invalid_request", message, { param });
}

/** The answers to the prompts of a request as one: the choices of the first prompt come first. */
export function toTextCompletion(answers: readonly ChatCompletion[]): TextCompletion {
  const [first] = answers as [ChatCompletion];
  const choices = answers.flatMap((answer) =>
    answer.choices.map(({ message, finish_reason }) => ({
      text: message.content || message.refusal || "",
      logprobs: null,
      finish_reason: toFinishReason(finish_reason) ?? ("stop" as const),
    })),
  );
  const { created, model } = first;
  return {
    id: toId(first.id),
    object: "text_completion",
    created,
    model,
    choices: choices.map((choice, index) => ({ index, ...choice })),
    usage: sumUsages(answers.map(({ usage }) => usage as ChatUsage)),
  };
}

/** A chunk of chat as a chunk of the legacy protocol; `undefined` when it says nothing there. */
function toTextChunk({ id, created, model, choices, usage }: ChatChunk): TextCompletion | undefined {
  const pieces = choices.flatMap(({ index, delta, finish_reason }) => {
    const text = delta.content || delta.refusal || "";
    if (text === "" && !finish_reason) return [];
    return [{ index, text, logprobs: null, finish_reason: toFinishReason(finish_reason) }];
  });
  if (pieces.length === 0 && !usage) return undefined;
  const chunk = { object: "text_completion" as const, created: created as number, model: model as string };
  return { id: toId(id as string), ...chunk, choices: pieces, ...(usage !== undefined && { usage }) };
}

function toFinishReason(reason: string | null | undefined): TextCompletion["choices"][number]["finish_reason"] {
  if (!reason) return null;
  return reason === "length" || reason === "content_filter" ? reason : "stop";
}

function toId(chatId: string): string {
  return chatId.replace(/^chatcmpl-/, "cmpl-");
}

/** The usage of one answer as it is, or the sum of several; its cost is left out when one of them is not known. */
function sumUsages([first, ...others]: ChatUsage[]): ChatUsage {
  const sum = { ...(first as ChatUsage) };
  for (const { prompt_tokens, completion_tokens = 0, cost } of others) {
    sum.prompt_tokens += prompt_tokens;
    sum.completion_tokens = (sum.completion_tokens as number) + completion_tokens;
    sum.total_tokens = sum.prompt_tokens + sum.completion_tokens;
    delete sum.prompt_tokens_details;
    delete sum.completion_tokens_details;
    if (sum.cost === undefined || cost === undefined) delete sum.cost;
    else sum.cost += cost;
  }
  return sum;
}

/** OpenAI's legacy completions: each prompt is a chat of one message. */
export const completionsInbound: Inbound<ChatRequest, void> = {
  protocol: "completions",
  endpoints: ["/completions"],
  example: { prompt: "Say hello" },
  fields: commonFields,
  refuse: () => undefined,
  toError: toOpenaiError,
  open: (request): Exchange => ({
    request,
    losses: [],
    toAnswer: (completion) => toTextCompletion([completion]),
    push(chunk) {
      const text = toTextChunk(chunk);
      return text === undefined ? "" : toEvent(text);
    },
    end: () => doneEvent,
    fail: (error) => toEvent(error.toBody()),
  }),
};
