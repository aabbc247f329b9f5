import { type Static, Type } from "@sinclair/typebox";
import { optional } from "../../contract/index.ts";
import type { ParsedShape } from "../../lib/parse-shape.ts";
import type { CacheMark } from "../cache-marks.ts";

const open = { additionalProperties: true } as const;

/** A content block of Anthropic's Messages API. Which other fields it has follows from its `type`. */
export interface MessagesBlock {
  type: string;
  [field: string]: unknown;
}

const Block = Type.Unsafe<MessagesBlock>(Type.Object({ type: Type.String({ minLength: 1 }) }, open));
const Content = Type.Union([Type.String(), Type.Array(Block)]);
const AnyObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, open));

/**
 * Body of POST /messages/count_tokens: what the model would read. Roles and kinds of blocks are not listed here, because a
 * native route hands on those that only the provider knows.
 */
export const MessagesCountRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    messages: Type.Array(Type.Object({ role: Type.String({ minLength: 1 }), content: Content }, open), {
      minItems: 1,
      maxItems: 100_000,
    }),
    system: optional(Content),
    tools: optional(Type.Array(AnyObject, { maxItems: 1_000 })),
    tool_choice: optional(
      Type.Object(
        {
          type: Type.String({ minLength: 1 }),
          name: optional(Type.String()),
          disable_parallel_tool_use: optional(Type.Boolean()),
        },
        open,
      ),
    ),
    thinking: optional(
      Type.Object(
        { type: Type.String(), budget_tokens: optional(Type.Integer()), display: optional(Type.String()) },
        open,
      ),
    ),
    output_config: optional(
      Type.Object(
        {
          effort: optional(Type.String()),
          format: optional(Type.Object({ type: Type.String(), schema: optional(AnyObject) }, open)),
        },
        open,
      ),
    ),
    cache_control: optional(Block),
  },
  open,
);
export type MessagesCountRequest = Static<typeof MessagesCountRequest>;

/** Body of POST /messages. Fields not named here, such as those of betas, pass through to providers of the same protocol. */
export const MessagesRequest = Type.Object(
  {
    ...MessagesCountRequest.properties,
    max_tokens: Type.Integer({ minimum: 0, description: "0 fills Anthropic's cache without an answer" }),
    stream: optional(Type.Boolean()),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0 })),
    stop_sequences: optional(Type.Array(Type.String(), { maxItems: 100 })),
    metadata: optional(Type.Object({ user_id: optional(Type.String()) }, open)),
    service_tier: optional(Type.String({ description: "auto, standard_only, or a tier that the model's price has" })),
  },
  open,
);
export type MessagesRequest = Static<typeof MessagesRequest>;

/** Tokens of an answer. `input_tokens` excludes those read from a cache and those written to it. */
export const MessagesUsage = Type.Object(
  {
    input_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer(),
    cache_read_input_tokens: Type.Integer(),
    cache_creation: Type.Object({
      ephemeral_5m_input_tokens: Type.Integer(),
      ephemeral_1h_input_tokens: Type.Integer(),
    }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Optional(Type.Object({ thinking_tokens: Type.Integer() })),
    service_tier: Type.Optional(Type.String({ description: "The tier that served, where the provider says it" })),
  },
  open,
);
export type MessagesUsage = Static<typeof MessagesUsage>;

const stopReasons = ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"] as const;

/** How an answer ended: the end of a whole one, and the `delta` of the event `message_delta`. */
const ending = {
  stop_reason: Type.Union([...stopReasons.map((reason) => Type.Literal(reason)), Type.Null()]),
  stop_sequence: Type.Union([Type.String(), Type.Null()]),
  stop_details: Type.Optional(
    Type.Object({ type: Type.Literal("refusal"), category: Type.Null(), explanation: Type.String() }),
  ),
};
const Ending = Type.Object(ending);
export type MessagesEnding = Static<typeof Ending>;

/** The answer to POST /messages. */
export const MessagesAnswer = Type.Object(
  {
    id: Type.String({ description: "msg_…" }),
    type: Type.Literal("message"),
    role: Type.Literal("assistant"),
    model: Type.String(),
    content: Type.Array(Block),
    ...ending,
    usage: MessagesUsage,
  },
  open,
);
export type MessagesAnswer = Static<typeof MessagesAnswer>;

/** The body of a failed request, and the event `error` of a stream that fails. `code` is the gateway's own; clients of Anthropic read `details`. */
export interface MessagesErrorBody {
  type: "error";
  error: { type: string; message: string; code: string; details?: { error_code: string } };
  request_id: string;
}

/** One event of a streamed answer. Its type is also the name in the `event:` line. */
export type MessagesEvent =
  | { type: "message_start"; message: MessagesAnswer }
  | { type: "content_block_start"; index: number; content_block: MessagesBlock }
  | { type: "content_block_delta"; index: number; delta: MessagesBlock }
  | { type: "content_block_stop"; index: number }
  | { type: "message_delta"; delta: MessagesEnding; usage: MessagesUsage }
  | { type: "message_stop" }
  | { type: "ping" }
  | MessagesErrorBody;

/** A block of a message, ours or the provider's: each kind has some of these. https://platform.claude.com/docs/en/api/messages */
export interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: object | undefined;
  cache_control?: CacheMark;
  /** Members that only pass through: a `source`, a `title`, a result's `content` and `tool_use_id`. */
  [field: string]: unknown;
}

export interface Turn {
  role: "user" | "assistant";
  content: Block[];
}

const blockShape = {
  type: "string",
  text: "string",
  thinking: "string",
  signature: "string",
  data: "string",
  id: "string",
  name: "string",
  input: "any",
} as const;
const endShape = {
  stop_reason: "string",
  stop_sequence: "string",
  stop_details: { explanation: "string" },
  usage: {},
} as const;
export const messageShape = { ...endShape, content: [blockShape] } as const;
/** Fields of an event; each kind has some of them. */
export const eventShape = {
  type: "string",
  index: "any",
  message: messageShape,
  content_block: blockShape,
  delta: { ...blockShape, ...endShape, partial_json: "any" },
  usage: {},
} as const;

/** An answer, or what the end of a stream tells of it. */
export type MessageAnswer = ParsedShape<typeof messageShape>;
export type StreamEvent = ParsedShape<typeof eventShape>;
export type AnswerBlock = ParsedShape<typeof blockShape>;

/** How an answer is to be read, decided by what was asked. */
export interface Reading {
  /** The tool that is forced to get JSON: its arguments are the content. */
  jsonTool?: string | undefined;
  /** Whether the content is JSON that may come in a code fence. */
  fenced?: boolean | undefined;
}
