import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { optional } from "../../contract/index.ts";
import { ChatRequest } from "../../provider/index.ts";

const { model } = ChatRequest.properties;
/** Most questions of one request, as OpenAI bounds it. */
const questionsMax = 400;

const textPart = Type.Object({ type: Type.Literal("input_text"), text: Type.String() }, { additionalProperties: true });
const imagePart = Type.Object(
  { type: Type.Literal("input_image"), image_url: Type.String(), detail: optional(Type.String()) },
  { additionalProperties: true },
);
const jsonPart = Type.Object(
  { type: Type.Literal("input_json"), data: Type.Union([Type.Object({}), Type.Array(Type.Object({}))]) },
  { additionalProperties: true },
);
const parts = <Kinds extends TSchema[]>(...kinds: [...Kinds]) =>
  Type.Union([Type.String(), Type.Array(Type.Union(kinds))]);

const UserMessage = Type.Object(
  {
    type: Type.Optional(Type.Literal("message")),
    role: Type.Literal("user"),
    content: parts(textPart, imagePart, jsonPart),
  },
  { additionalProperties: true },
);
const SystemMessage = Type.Object(
  {
    type: Type.Optional(Type.Literal("message")),
    role: Type.Union([Type.Literal("system"), Type.Literal("developer")]),
    content: parts(textPart),
  },
  { additionalProperties: true },
);
const AssistantMessage = Type.Object(
  {
    type: Type.Optional(Type.Literal("message")),
    role: Type.Literal("assistant"),
    content: parts(
      Type.Object({ type: Type.Literal("output_text"), text: Type.String() }, { additionalProperties: true }),
      Type.Object({ type: Type.Literal("refusal"), refusal: Type.String() }, { additionalProperties: true }),
    ),
  },
  { additionalProperties: true },
);
const ToolCallItem = Type.Object(
  {
    type: Type.Union([Type.Literal("function_call"), Type.Literal("custom_tool_call")]),
    call_id: Type.String(),
    name: Type.String(),
    arguments: Type.Optional(Type.String()),
    input: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
);
const ToolOutputItem = Type.Object(
  {
    type: Type.Union([Type.Literal("function_call_output"), Type.Literal("custom_tool_call_output")]),
    call_id: Type.String(),
    output: parts(textPart, imagePart),
  },
  { additionalProperties: true },
);

const instructions = parts(textPart, imagePart, jsonPart);
const name = optional(Type.String({ maxLength: 200 }));
const description = optional(Type.String());
const Question = Type.Union([
  Type.Object({ type: Type.Literal("predicate"), instructions, name }),
  Type.Object({
    type: Type.Literal("choice"),
    instructions,
    name,
    choices: Type.Array(Type.Object({ value: Type.Union([Type.String(), Type.Boolean()]), description }), {
      minItems: 2,
      maxItems: 255,
    }),
  }),
  Type.Object({
    type: Type.Literal("score"),
    instructions,
    name,
    levels: Type.Array(Type.Object({ label: Type.String(), description }), { minItems: 2, maxItems: 10 }),
  }),
]);

/** Body of POST /decisions. */
export const DecisionRequest = Type.Object(
  {
    model,
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.Union([UserMessage, SystemMessage, AssistantMessage, ToolCallItem, ToolOutputItem]), {
        minItems: 1,
      }),
    ]),
    questions: Type.Array(Question, { minItems: 1, maxItems: questionsMax }),
    prompt_cache_key: optional(Type.String()),
    safety_identifier: optional(Type.String()),
  },
  { additionalProperties: true },
);
export type DecisionRequest = Static<typeof DecisionRequest>;
export type DecisionQuestion = DecisionRequest["questions"][number];
export type DecisionItem = Exclude<DecisionRequest["input"], string>[number];

const answered = { name: Type.Union([Type.String(), Type.Null()]) };
const probability = Type.Number({ minimum: 0, maximum: 1 });

/** The answer of POST /decisions: one for each question, in their order. */
export const Decision = Type.Object({
  model: Type.String(),
  answers: Type.Array(
    Type.Union([
      Type.Object({ type: Type.Literal("predicate"), ...answered, probability }),
      Type.Object({
        type: Type.Literal("choice"),
        ...answered,
        choice: Type.Union([Type.String(), Type.Boolean()]),
        confidence: probability,
        probabilities: Type.Array(Type.Object({ value: Type.Union([Type.String(), Type.Boolean()]), probability })),
      }),
      Type.Object({
        type: Type.Literal("score"),
        ...answered,
        score: Type.Number({ description: "Between 0, the first level, and the number of the last" }),
        confidence: probability,
        probabilities: Type.Array(Type.Object({ value: Type.Integer(), label: Type.String(), probability })),
      }),
      Type.Object({ type: Type.Literal("refusal"), ...answered }),
    ]),
  ),
  usage: Type.Object({
    input_tokens: Type.Integer(),
    input_tokens_details: Type.Object({ cached_tokens: Type.Integer(), cache_write_tokens: Type.Integer() }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
    cost: Type.Optional(Type.Number()),
  }),
});
export type Decision = Static<typeof Decision>;
