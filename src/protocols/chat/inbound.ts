import { isRecord } from "../../lib/json.ts";
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
