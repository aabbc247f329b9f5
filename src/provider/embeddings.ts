import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { optional, type UnitsReport } from "../contract/index.ts";

/** Request of an `embeddings` handler. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 2048 }),
    ]),
    dimensions: optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
    encoding_format: optional(Type.Union([Type.Literal("float"), Type.Literal("base64")])),
    user: optional(Type.String()),
  },
  { additionalProperties: true },
);
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** Tokens of all inputs of a request together: OpenAI's limit, applied to every provider. */
export const embeddingTokensMax = 300_000;

const tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 1_000_000, description: "A token of cl100k_base" }), {
  minItems: 1,
  maxItems: embeddingTokensMax,
});

const withInput = <Input extends TSchema>(input: Input) =>
  Type.Object({ ...EmbeddingsRequest.properties, input }, { additionalProperties: true });

/** Bodies of POST /embeddings whose inputs are tokens, as OpenAI's clients send them: one input, or several. */
export const TokensRequest = withInput(tokens);
export const TokenListsRequest = withInput(Type.Array(tokens, { minItems: 1, maxItems: 2048 }));

/** Body of POST /embeddings. */
export const EmbeddingsBody = withInput(
  Type.Union([
    ...EmbeddingsRequest.properties.input.anyOf,
    TokensRequest.properties.input,
    TokenListsRequest.properties.input,
  ]),
);
export type EmbeddingsBody = Static<typeof EmbeddingsBody>;

/** The uniform embedding answer. A handler may leave vectors as float arrays or as base64 of little-endian float32. */
export const EmbeddingList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(
    Type.Object({
      object: Type.Literal("embedding"),
      index: Type.Integer({ minimum: 0 }),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});
export type EmbeddingList = Static<typeof EmbeddingList>;

/**
 * Answer of an `embeddings` handler: the vectors in input order, and the provider's own token count where it has one.
 */
export interface Embeddings {
  vectors: (number[] | string)[];
  usage?: ({ prompt_tokens: number } & UnitsReport) | undefined;
}
