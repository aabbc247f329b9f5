import { ChatCompletion, ChatRequest, GatewayError, type Message } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { type Exchange, type ServedInbound, toEvent, toOpenaiError } from "../inbound.ts";
import { effortOfBudget } from "../messages/inbound.ts";

/**
 * A chat body in OpenAI's words where clients have brought those of other providers: `tool_choice` `any` (Mistral) and
 * `validated` (Gemini), `reasoning.effort` (OpenRouter) and `thinking.budget_tokens` (Anthropic). What OpenAI has no word for
 * passes as it is.
 *
 * @param onWeakened Takes the name of a field that says less than before.
 * @returns `undefined` for a body that has none of it.
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
      warnings: [],
      toAnswer: (completion) => completion,
      push: toEvent,
      end: () => doneEvent,
      fail: (error) => toEvent(error.toBody()),
    };
  },
};

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
