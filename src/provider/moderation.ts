import { type Static, Type } from "@sinclair/typebox";
import type { UnitsReport } from "../contract/index.ts";

const open = { additionalProperties: true } as const;

/** A part of an input that has text and images: all parts together are one input. */
const ModerationPart = Type.Union([
  Type.Object({ type: Type.Literal("text"), text: Type.String() }, open),
  Type.Object(
    { type: Type.Literal("image_url"), image_url: Type.Object({ url: Type.String({ minLength: 1 }) }, open) },
    open,
  ),
]);

/** Body of POST /moderations. */
export const ModerationRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200, default: "omni-moderation-latest" }),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 2048 }),
      Type.Array(ModerationPart, { minItems: 1, maxItems: 2048 }),
    ]),
  },
  open,
);
export type ModerationRequest = Static<typeof ModerationRequest>;

/** The verdict on one input. The categories are the provider's own. */
export const ModerationResult = Type.Object({
  flagged: Type.Boolean({ description: "Whether any category applies" }),
  categories: Type.Record(Type.String(), Type.Boolean()),
  category_scores: Type.Record(Type.String(), Type.Number({ description: "From 0 to 1" })),
  category_applied_input_types: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
});
export type ModerationResult = Static<typeof ModerationResult>;

/** The answer of POST /moderations: one result for each text, or one for all parts together. */
export const ModerationResponse = Type.Object({
  id: Type.String(),
  model: Type.String(),
  results: Type.Array(ModerationResult),
});
export type ModerationResponse = Static<typeof ModerationResponse>;

/**
 * Answer of a `moderation` handler: the results in input order, and the provider's own token count where it has one.
 */
export interface Moderations {
  results: ModerationResult[];
  usage?: ({ prompt_tokens: number } & UnitsReport) | undefined;
}
