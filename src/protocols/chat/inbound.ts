import { GatewayError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { type BesideChoice, ChatCompletion, ChatRequest, type Message } from "../../provider/index.ts";
import { leavesCaching } from "../cache-marks.ts";
import { commonFields, type Exchange, type ServedInbound, toEvent, toOpenaiError } from "../inbound.ts";
import { effortOfBudget } from "../messages/inbound.ts";

/**
 * Converts fields of other providers in a chat body to OpenAI's: `tool_choice` `any` (Mistral) and `validated`
 * (Gemini), `reasoning.effort` (OpenRouter) and `thinking.budget_tokens` (Anthropic). Fields without a counterpart pass
 * unchanged.
 *
 * @param onWeakened Called with the name of a field whose new value says less.
 * @returns `undefined` for a body without such fields.
 */
export function fromOtherHabits(body: unknown, onWeakened: (field: string) => void): object | undefined {
  if (!isRecord(body)) return undefined;
  const { tool_choice: choice, reasoning, thinking } = body;
  if (choice !== "any" && choice !== "validated" && !isRecord(reasoning) && !isRecord(thinking)) return undefined;
  const changed = { ...body };
  if (choice === "any") changed.tool_choice = "required";
  if (choice === "validated") {
    changed.tool_choice = "auto";
    onWeakened("tool_choice");
  }
  if (isRecord(reasoning) && typeof reasoning.effort === "string") {
    changed.reasoning_effort ??= reasoning.effort;
    delete changed.reasoning;
  }
  if (isRecord(thinking) && typeof thinking.budget_tokens === "number") {
    changed.reasoning_effort ??= thinking.type === "disabled" ? "none" : effortOfBudget(thinking.budget_tokens);
    delete changed.thinking;
  }
  return changed;
}

/** Whether a body is one of the Responses protocol. Some clients send such to the chat endpoint. */
export function isResponsesBody(body: unknown): boolean {
  return isRecord(body) && "input" in body && !("messages" in body);
}

/** The end of a stream of OpenAI's chat and legacy completions. */
export const doneEvent = "data: [DONE]\n\n";

/** The uniform format itself. */
export const chatInbound: ServedInbound<ChatRequest> = {
  protocol: "chat",
  endpoints: ["/chat/completions"],
  example: { messages: [{ role: "user", content: "Say hello" }] },
  fields: {
    model: commonFields.model,
    messages: "The conversation so far, oldest first",
    max_tokens: "Maximum number of tokens in the answer; the older name of `max_completion_tokens`",
    max_completion_tokens: "Maximum number of tokens in the answer, reasoning included; default: the model's limit",
    temperature: "Higher is more varied, 0 most predictable. Default 0.7",
    stream: "Whether to answer in server-sent events as the text is generated",
    stream_options: "`include_usage`: whether the last event of a stream has the token counts and the cost",
    top_p: "Sample only from the most likely tokens of this total probability",
    frequency_penalty: "Above 0: makes tokens less likely the more often they occurred",
    presence_penalty: "Above 0: makes tokens that occurred less likely",
    stop: "Up to four texts that end the answer; they are not part of it",
    n: "How many answers to generate; each is charged",
    tools: "Functions that the model may call",
    tool_choice: "Whether the model may, must or must not call a tool, or which one",
    parallel_tool_calls: "Whether one answer may call several tools",
    response_format: "Text, any JSON object, or JSON that matches a schema",
    seed: "Requests the same answer for the same request, if the provider supports it",
    logprobs: "Whether to return the log probability of each token",
    top_logprobs: "How many likely alternatives to return for each token",
    reasoning_effort: "How much the model reasons before it answers",
    functions: "The older form of `tools`",
    function_call: "The older form of `tool_choice`",
    user: commonFields.user,
  },
  route: {
    path: "/chat/completions",
    body: ChatRequest,
    answer: ChatCompletion,
    summary: "Chat text generation",
    description: "With `stream: true` the response is `text/event-stream`, ended by `data: [DONE]`.",
  },
  refuse: () => undefined,
  toError: toOpenaiError,
  open(request): Exchange {
    checkContent(request);
    return {
      request,
      leavesCaching: leavesCaching(request),
      losses: [],
      toAnswer(completion) {
        dropBeside(completion.choices);
        return completion;
      },
      push(chunk) {
        dropBeside(chunk.choices);
        return toEvent(chunk);
      },
      end: () => doneEvent,
      fail: (error) => toEvent(error.toBody()),
    };
  },
};

/** Takes out what OpenAI's protocol has no place for. */
function dropBeside(choices: readonly object[]): void {
  for (const choice of choices as readonly BesideChoice[])
    if (choice.stop_sequence !== undefined) delete choice.stop_sequence;
}

/** Only an assistant's and a tool's message may say nothing; with Cursor that is an empty array. */
function checkContent({ messages }: ChatRequest): void {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    if (Array.isArray(message.content) && message.content.length === 0) message.content = null;
    if (message.content != null || !/^(user|system|developer)$/.test(message.role)) continue;
    const param = `messages[${index}].content`;
    throw new GatewayError("invalid_request", `${param} is missing, but a string or an array was expected`, { param });
  }
}
