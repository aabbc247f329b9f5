import { isRecord } from "../lib/json.ts";

/**
 * Reasoning that only its provider can read or verify travels in `reasoning_details` of the uniform format, as OpenRouter writes
 * them: each detail says by its `format` whose it is.
 */
const claudeFormat = "anthropic-claude-v1";
const responsesFormat = "openai-responses-v1";

/** A block of Claude's reasoning: its text and signature, or what Anthropic encrypted. */
type ClaudeBlock = {
  type: string;
  thinking?: string;
  signature?: string;
  data?: string;
};

/** A block of Claude's reasoning as a detail. Its signature stays as it is, byte for byte. */
export function toClaudeDetail(
  { type, thinking = "", signature = "", data = "" }: { [Field in keyof ClaudeBlock]?: string | undefined },
  index: number,
) {
  if (type === "redacted_thinking") return { type: "reasoning.encrypted", data, format: claudeFormat, index };
  return { type: "reasoning.text", text: thinking, signature, format: claudeFormat, index };
}

/** The blocks of Claude's reasoning among details; those of other providers are left out. */
export function readClaudeBlocks(details: unknown): ClaudeBlock[] {
  return listOf(details).flatMap(({ text, signature, data, format }): ClaudeBlock[] => {
    if (format !== claudeFormat) return [];
    if (typeof data === "string" && data !== "") return [{ type: "redacted_thinking", data }];
    if (typeof signature !== "string" || signature === "") return [];
    return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
  });
}

/** An item of OpenAI's reasoning as a detail; `undefined` for one that is not encrypted. */
export function toResponsesDetail({ id, encrypted_content: data }: Record<string, unknown>, index: number) {
  if (typeof data !== "string" || data === "") return undefined;
  return { type: "reasoning.encrypted", id, data, format: responsesFormat, index };
}

/** The items of OpenAI's reasoning among details; those of other providers are left out. */
export function readResponsesItems(details: unknown): Record<string, unknown>[] {
  return listOf(details).flatMap(({ id, data, format }) => {
    if (format !== responsesFormat || typeof data !== "string") return [];
    return [{ type: "reasoning", ...(typeof id === "string" && { id }), summary: [], encrypted_content: data }];
  });
}

/** The details that another provider than Anthropic encrypted. */
export function findForeignDetails(details: unknown): readonly object[] {
  return listOf(details).filter(({ format, data }) => format !== claudeFormat && typeof data === "string");
}

function listOf(details: unknown): Record<string, unknown>[] {
  return Array.isArray(details) ? details.filter(isRecord) : [];
}
