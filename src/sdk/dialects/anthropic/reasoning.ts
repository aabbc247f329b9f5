import type { ChatRequest, Message, Model } from "../../../contract/index.ts";
import { nearestEffort } from "../openai/reasoning.ts";
import type { AnswerBlock, Block, Warn } from "./wire.ts";

const format = "anthropic-claude-v1";
const budgetTokensMin = 1024;
const budgetTokens = new Map(Object.entries({ low: 2048, medium: 8192, high: 24_576, xhigh: 32_000, max: 32_000 }));

/** A thought as the answer carries it out, so that the client can bring it back with its signature unchanged. */
export function toDetail({ type, thinking = "", signature = "", data = "" }: AnswerBlock, index: number) {
  if (type === "redacted_thinking") return { type: "reasoning.encrypted", data, format, index };
  return { type: "reasoning.text", text: thinking, signature, format, index };
}

/** The thoughts that a client brought back on an assistant message; those of other providers are left out. */
export function readDetails(message: Message & { reasoning_details?: unknown }): Block[] {
  if (!Array.isArray(message.reasoning_details)) return [];
  return message.reasoning_details.flatMap((detail): Block[] => {
    const { text, signature, data, format: from }: Record<string, unknown> = detail ?? {};
    if (from !== format) return [];
    if (typeof data === "string" && data !== "") return [{ type: "redacted_thinking", data }];
    if (typeof signature !== "string" || signature === "") return [];
    return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
  });
}

/** Why the model cannot think in this conversation: an open tool turn must come back with its thoughts in front. */
export function findObstacle(messages: readonly Message[]): string | undefined {
  if (messages.at(-1)?.role === "assistant") return "the last message is the beginning of the answer";
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const question = messages.findLastIndex(({ role }, index) => role === "user" && index < last);
  const open = messages.slice(question + 1);
  const bare = open.some((message) => (message.tool_calls ?? []).length > 0 && readDetails(message).length === 0);
  return bare ? "a tool turn came back without its reasoning_details" : undefined;
}

/** What the asked effort comes to on a model. `obstacle` says why it cannot think in this call. */
export function toEffort(
  { reasoning_effort: asked }: ChatRequest,
  { options }: Model,
  { maxTokens, obstacle, warn }: { maxTokens: number; obstacle: string | undefined; warn: Warn },
) {
  if (!asked || asked === "none") return {};
  if (options?.thinking !== "adaptive" && options?.thinking !== "budget") {
    warn("Left out reasoning_effort, because this model does not think", "reasoning_effort");
    return {};
  }
  const adaptive = options.thinking === "adaptive";
  const effort = adaptive && Array.isArray(options.efforts) ? nearestEffort(asked, options.efforts) : undefined;
  if (adaptive && effort !== asked) {
    warn(`Took reasoning_effort ${effort}, because this model does not have ${asked}`, "reasoning_effort");
  }
  const narrow = !adaptive && maxTokens <= budgetTokensMin ? "max_tokens leaves no room for it" : undefined;
  const reason = obstacle ?? narrow;
  if (reason !== undefined) warn(`Turned thinking off, because ${reason}`, "reasoning_effort");
  if (reason !== undefined) return { effort };
  if (adaptive) return { thinking: { type: "adaptive" }, effort };
  const budget = Math.min(budgetTokens.get(asked) ?? budgetTokensMin, Math.floor(maxTokens * 0.8));
  return { thinking: { type: "enabled", budget_tokens: Math.max(budget, budgetTokensMin) } };
}
