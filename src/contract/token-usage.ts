import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { ChatUsage } from "./chat.ts";
import { type Meters, toMeters } from "./meters.ts";

/** Tokens of pictures, transcripts and speech, OpenAI's shape. The details divide them by what they are of. */
export const TokenUsage = Type.Object(
  { input_tokens: Type.Integer(), output_tokens: Type.Integer(), total_tokens: Type.Integer() },
  { additionalProperties: true },
);
export type TokenUsage = Static<typeof TokenUsage>;

type Kind = "text_tokens" | "audio_tokens" | "image_tokens";

/**
 * Turns such usage into disjoint meters. Tokens that the provider does not divide are of the kind that is given: of sound
 * for a transcript, of pictures for pictures.
 *
 * @returns `undefined` when the report cannot be used.
 */
export function toTokenMeters(usage: unknown, kinds: { input: Kind; output: Kind }): Meters | undefined {
  if (!Value.Check(TokenUsage, usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  const details: Record<string, unknown> = usage;
  const inputDetails = toDetails(details.input_tokens_details ?? details.input_token_details);
  const outputDetails = toDetails(details.output_tokens_details);
  const chatUsage: ChatUsage = {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: withRest(inputDetails, kinds.input, input),
    completion_tokens_details: withRest(outputDetails, kinds.output, output),
  };
  return toMeters(chatUsage);
}

function toDetails(details: unknown): Record<string, unknown> {
  return typeof details === "object" && details !== null ? { ...details } : {};
}

/** The details, with what they leave open as tokens of one kind. */
function withRest(details: Record<string, unknown>, kind: Kind, total: number): Record<string, unknown> {
  const { text_tokens: text } = details;
  return { [kind]: total - (typeof text === "number" ? text : 0), ...details };
}
