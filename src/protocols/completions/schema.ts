import { type Static, Type } from "@sinclair/typebox";
import { ChatUsage, optional } from "../../contract/index.ts";
import { ChatRequest } from "../../provider/index.ts";

/** How many prompts one request may have; LangChain sends so many by default. */
const promptsMax = 20;

const { model, temperature, stream, stream_options, top_p, ...ofChat } = ChatRequest.properties;
const { frequency_penalty, presence_penalty, stop, n, seed, user } = ofChat;
const prompt = Type.String({ minLength: 1 });

/** Body of POST /completions, OpenAI's legacy endpoint. Other fields pass through, as in chat. */
export const CompletionsRequest = Type.Object(
  {
    model,
    prompt: Type.Union([prompt, Type.Array(prompt, { minItems: 1, maxItems: promptsMax })]),
    max_tokens: optional(Type.Integer({ minimum: 1, description: "Default 16" })),
    temperature,
    stream,
    stream_options,
    top_p,
    frequency_penalty,
    presence_penalty,
    stop,
    n,
    seed,
    user,
    suffix: optional(Type.String()),
    echo: optional(Type.Boolean()),
    best_of: optional(Type.Integer({ minimum: 1, maximum: 20 })),
    logprobs: optional(Type.Integer({ minimum: 0, maximum: 5 })),
  },
  { additionalProperties: true },
);
export type CompletionsRequest = Static<typeof CompletionsRequest>;

/** The answer of POST /completions, and a chunk of its stream. */
export const TextCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal("text_completion"),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      text: Type.String(),
      logprobs: Type.Null(),
      finish_reason: Type.Union([
        Type.Literal("stop"),
        Type.Literal("length"),
        Type.Literal("content_filter"),
        Type.Null(),
      ]),
    }),
  ),
  usage: optional(ChatUsage),
});
export type TextCompletion = Static<typeof TextCompletion>;
