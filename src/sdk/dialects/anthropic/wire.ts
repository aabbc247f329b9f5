import type { ParsedShape } from "../../parse-shape.ts";

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
  cache_control?: { type: "ephemeral"; ttl?: "1h" };
  /** What only passes through: a `source`, a `title`, a result's `content` and `tool_use_id`. */
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
const endShape = { stop_reason: "string", stop_details: { explanation: "string" }, usage: {} } as const;
export const messageShape = { ...endShape, content: [blockShape] } as const;
/** Of an event; each kind has some of it. */
export const eventShape = {
  type: "string",
  message: messageShape,
  content_block: blockShape,
  delta: { ...blockShape, ...endShape, partial_json: "string" },
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

/** Takes what a translation had to leave out or change. */
export type Warn = (sentence: string, ignored?: string | readonly string[]) => void;
