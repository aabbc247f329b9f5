import { type Static, Type } from "@sinclair/typebox";
import { ChatUsage, open, optional } from "../contract/index.ts";

/** Left out of the types of plugins: it reaches only those that take the form. */
const ofCustomTools = { ...open, "x-native-form": "customTools" } as const;

const FunctionCall = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    type: Type.Literal("function"),
    function: Type.Object({ name: Type.String({ minLength: 1 }), arguments: Type.String() }, open),
  },
  open,
);
const CustomCall = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    type: Type.Literal("custom"),
    custom: Type.Object({ name: Type.String({ minLength: 1 }), input: Type.String() }, open),
  },
  ofCustomTools,
);
export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}
/**
 * Converts a value in a provider's answer to text, such as the arguments of a tool call: some providers send the value
 * in place of its text. A string stays, an absent value becomes empty text, and any other value becomes JSON.
 *
 * @example
 * toAnswerText({ city: "Paris" }); // => '{"city":"Paris"}'
 * toAnswerText(null); // => ""
 */
export function toAnswerText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/**
 * Returns the text that a model wrote, in any form that servers use: a list of parts (only text parts count), one part,
 * or another value, which is returned as JSON.
 *
 * @example
 * toWrittenText([{ type: "text", text: "Hello" }, " you"]); // => "Hello you"
 * toWrittenText({ type: "text", text: "Hello" }); // => "Hello"
 */
export function toWrittenText(value: unknown): string {
  const hasText = (part: unknown) =>
    typeof part === "string" || (typeof part === "object" && part !== null && "text" in part);
  if (Array.isArray(value) && (value.length === 0 || value.some(hasText))) {
    return value.filter(hasText).map(toWrittenText).join("");
  }
  const text = typeof value === "object" && value !== null && "text" in value ? value.text : undefined;
  return text === undefined || text === null ? toAnswerText(value) : toWrittenText(text);
}

const figure = /^\d{1,15}(?:\.\d{1,9})?$/;

/**
 * A usage report with its figures as numbers, which some servers write as texts. The report itself where all are.
 *
 * @example
 * toFigures({ prompt_tokens: "12" }); // => { prompt_tokens: 12 }
 */
export function toFigures<Report>(report: Report): Report {
  if (typeof report === "string") return (figure.test(report) ? Number(report) : report) as Report;
  if (typeof report !== "object" || report === null) return report;
  let changed: Record<string, unknown> | undefined;
  for (const name in report) {
    const value: unknown = report[name];
    if (typeof value === "number") continue;
    const read = toFigures(value);
    if (read === value) continue;
    changed ??= (Array.isArray(report) ? [...report] : { ...report }) as Record<string, unknown>;
    changed[name] = read;
  }
  return (changed ?? report) as Report;
}

/**
 * A tool call. Calls of custom tools exist only where a plugin takes `customTools`; other plugins need not handle them.
 */
export const ToolCall = Type.Unsafe<ToolCall>(Type.Union([FunctionCall, CustomCall]));

/** A part of a message's content: text, an image by URL or data URL, or audio as base64. */
export const ContentPart = Type.Union([
  Type.Object({ type: Type.Literal("text"), text: Type.String() }, open),
  Type.Object(
    {
      type: Type.Literal("image_url"),
      image_url: Type.Object({ url: Type.String({ minLength: 1 }), detail: Type.Optional(Type.String()) }, open),
    },
    open,
  ),
  Type.Object(
    {
      type: Type.Literal("input_audio"),
      input_audio: Type.Object({ data: Type.String({ minLength: 1 }), format: Type.String() }, open),
    },
    open,
  ),
  Type.Object({ type: Type.Literal("refusal"), refusal: Type.String() }, open),
  Type.Object({ type: Type.Literal("file"), file: Type.Object({}, open) }, open),
]);
export type ContentPart = Static<typeof ContentPart>;

/** One message of the conversation, with the roles the field has since added. */
export const Message = Type.Object(
  {
    role: Type.Union([
      Type.Literal("system"),
      Type.Literal("developer"),
      Type.Literal("user"),
      Type.Literal("assistant"),
      Type.Literal("tool"),
      Type.Literal("function"),
    ]),
    content: optional(Type.Union([Type.String(), Type.Array(ContentPart)])),
    name: optional(Type.String()),
    tool_calls: optional(Type.Array(ToolCall)),
    tool_call_id: optional(Type.String()),
    function_call: optional(Type.Object({ name: Type.String(), arguments: Type.String() }, open)),
    reasoning_content: optional(Type.String()),
  },
  open,
);
export type Message = Static<typeof Message>;

export const FunctionDefinition = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 128 }),
    description: optional(Type.String()),
    parameters: optional(Type.Object({}, open)),
    strict: optional(Type.Boolean()),
  },
  open,
);
export type FunctionDefinition = Static<typeof FunctionDefinition>;

const FunctionTool = Type.Object({ type: Type.Literal("function"), function: FunctionDefinition }, open);
const CustomTool = Type.Object(
  { type: Type.Literal("custom"), custom: Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) }, open) },
  ofCustomTools,
);
export interface Tool {
  type: "function";
  function: FunctionDefinition;
}
/** Custom tools are refused unless every plugin of the model takes `customTools`. */
export const Tool = Type.Unsafe<Tool>(Type.Union([FunctionTool, CustomTool]));

const named = Type.Object({ name: Type.String({ minLength: 1 }) }, open);
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | { type: "function"; function: { name: string } }
  | { type: "allowed_tools"; allowed_tools: Record<string, unknown> };
export const ToolChoice = Type.Unsafe<ToolChoice>(
  Type.Union([
    Type.Literal("auto"),
    Type.Literal("none"),
    Type.Literal("required"),
    Type.Object({ type: Type.Literal("function"), function: named }, open),
    Type.Object({ type: Type.Literal("allowed_tools"), allowed_tools: Type.Object({}, open) }, open),
    Type.Object({ type: Type.Literal("custom"), custom: named }, ofCustomTools),
  ]),
);

export const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal("text") }, open),
  Type.Object({ type: Type.Literal("json_object") }, open),
  Type.Object(
    {
      type: Type.Literal("json_schema"),
      json_schema: Type.Object(
        {
          name: Type.String({ minLength: 1 }),
          schema: Type.Optional(Type.Object({}, open)),
          strict: optional(Type.Boolean()),
        },
        open,
      ),
    },
    open,
  ),
]);
export type ResponseFormat = Static<typeof ResponseFormat>;

/** Body of POST /chat/completions. Fields not named here pass through to providers of the same dialect. */
export const ChatRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    messages: Type.Array(Message, { minItems: 1, maxItems: 10_000 }),
    max_tokens: optional(Type.Integer({ minimum: 1 })),
    max_completion_tokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2, description: "Default 0.7" })),
    stream: optional(Type.Boolean()),
    stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) }, open)),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    stop: optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
    n: optional(Type.Integer({ minimum: 1, maximum: 128 })),
    tools: optional(Type.Array(Tool, { maxItems: 128 })),
    tool_choice: optional(ToolChoice),
    parallel_tool_calls: optional(Type.Boolean()),
    response_format: optional(ResponseFormat),
    seed: optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
    logprobs: optional(Type.Boolean()),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    reasoning_effort: optional(
      Type.Union(["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) => Type.Literal(effort))),
    ),
    functions: optional(Type.Array(FunctionDefinition, { maxItems: 128 })),
    function_call: optional(
      Type.Union([
        Type.Literal("auto"),
        Type.Literal("none"),
        Type.Object({ name: Type.String({ minLength: 1 }) }, open),
      ]),
    ),
    user: optional(Type.String()),
  },
  open,
);
export type ChatRequest = Static<typeof ChatRequest>;

export const finishReasons = ["stop", "length", "tool_calls", "content_filter", "function_call"] as const;
export type FinishReason = (typeof finishReasons)[number];

const FinishReasonSchema = Type.Union([...finishReasons.map((reason) => Type.Literal(reason)), Type.Null()]);

/** The uniform chat answer. */
export const ChatCompletion = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("chat.completion"),
    created: Type.Integer(),
    model: Type.String(),
    choices: Type.Array(
      Type.Object(
        {
          index: Type.Integer(),
          message: Type.Object(
            {
              role: Type.Literal("assistant"),
              content: Type.Union([Type.String(), Type.Null()]),
              refusal: optional(Type.String()),
              tool_calls: Type.Optional(Type.Array(ToolCall)),
              reasoning_content: optional(Type.String()),
            },
            open,
          ),
          finish_reason: FinishReasonSchema,
        },
        open,
      ),
    ),
    usage: Type.Optional(ChatUsage),
  },
  open,
);
export type ChatCompletion = Static<typeof ChatCompletion>;

/** A piece of a tool call: the first piece of an index has `id` and `function.name`, the others only `arguments`. */
export interface ToolCallDelta {
  index?: number;
  id?: string;
  type?: "function" | "custom";
  function?: { name?: string; arguments?: string };
  custom?: { name?: string; input?: string };
}

/** Facts of a choice that OpenAI's protocol has no place for. Its clients are not sent them. */
export interface BesideChoice {
  /** The stop sequence of the request that ended the choice; `true`: one of them, without a word on which. Absent: not known. */
  stop_sequence?: string | true;
}

/** One piece of a choice in a stream. A reason to finish may be the provider's own word: the kernel reads it. */
export interface ChunkChoice extends BesideChoice {
  index: number;
  delta: {
    role?: "assistant";
    content?: string | null;
    refusal?: string | null;
    reasoning_content?: string;
    tool_calls?: ToolCallDelta[];
    function_call?: { name?: string; arguments?: string };
    [extension: string]: unknown;
  };
  logprobs?: unknown;
  finish_reason?: FinishReason | null;
}

/** One piece of a streamed chat answer. `usage` may come on any chunk, also with `choices: []`; the last one counts. */
export interface ChatChunk {
  id?: string;
  object?: "chat.completion.chunk";
  created?: number;
  model?: string;
  choices: ChunkChoice[];
  usage?: ChatUsage | null;
  [extension: string]: unknown;
}
