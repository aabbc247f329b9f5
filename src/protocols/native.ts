import type { UpstreamFault } from "../contract/index.ts";
import { isRecord } from "../lib/json.ts";
import { classifyError, classifyResponseFailure } from "./upstream-errors.ts";

/** The JSON of a whole answer or of one event. */
export type Part = Record<string, unknown>;

/** What the kernel has to know of a protocol whose answers it hands on as they came. */
export interface NativeProtocol {
  /** The field of a request that bounds the answer. */
  readonly outputLimit: string;
  /** Whether an event says only that the provider has taken the request: no route is committed by it. */
  isPrelude(type: unknown): boolean;
  /** Whether the answer is complete with this event. */
  isLast(type: unknown): boolean;
  /** Whether a value is a whole answer. */
  isAnswer(value: Part): boolean;
  /** The object that stands for the whole answer in an event and has the model's name; absent in most. */
  headOf(event: Part): Part | undefined;
  /** The failure that an answer or event tells of. */
  faultOf(part: Part): UpstreamFault | undefined;
  /** The piece of text that an event brings. */
  textOf(event: Part): unknown;
  /** Why the model stopped, in the words of chat. */
  finishReasonOf(part: Part): string | undefined;
}

const responses: NativeProtocol = {
  outputLimit: "max_output_tokens",
  isPrelude: (type) => type === "response.created" || type === "response.in_progress" || type === "response.queued",
  isLast: (type) => type === "response.completed" || type === "response.incomplete",
  isAnswer: ({ output }) => Array.isArray(output),
  headOf: ({ response }) => (isRecord(response) ? response : undefined),
  faultOf(part) {
    if (part.type === "error") return classifyResponseFailure(part);
    const head = isRecord(part.response) ? part.response : part;
    const hasFailed = head.status === "failed" || isRecord(head.error);
    return hasFailed ? classifyResponseFailure({ error: head.error ?? {} }) : undefined;
  },
  textOf: ({ delta }) => delta,
  finishReasonOf(part) {
    const { status, incomplete_details: details } = isRecord(part.response) ? part.response : part;
    if (status === "completed") return "stop";
    if (status !== "incomplete") return undefined;
    return isRecord(details) && details.reason === "content_filter" ? "content_filter" : "length";
  },
};

const messageEnds: Readonly<Record<string, string>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
  tool_use: "tool_calls",
};

const messages: NativeProtocol = {
  outputLimit: "max_tokens",
  isPrelude: (type) => type === "message_start" || type === "ping",
  isLast: (type) => type === "message_stop",
  isAnswer: ({ content }) => Array.isArray(content),
  headOf: ({ message }) => (isRecord(message) ? message : undefined),
  faultOf: (part) => (part.type === "error" || isRecord(part.error) ? classifyError(part) : undefined),
  textOf({ delta }) {
    if (!isRecord(delta)) return undefined;
    return delta.text ?? delta.thinking ?? delta.partial_json;
  },
  finishReasonOf(part) {
    const { stop_reason: reason } = isRecord(part.delta) ? part.delta : part;
    return typeof reason === "string" ? (messageEnds[reason] ?? "stop") : undefined;
  },
};

export const nativeProtocols = { responses, messages };
