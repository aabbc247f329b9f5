import type { ModelOptions, OptionKind } from "../../contract/index.ts";
import type { ChatOptions, RequestOptions, ResponsesOptions, SpeechOptions, TranscriptionOptions } from "./options.ts";

type All = ChatOptions & RequestOptions & ResponsesOptions & SpeechOptions & TranscriptionOptions;

/**
 * What the `options` of a row may have where `openai()` makes the handlers: all that it knows of its capabilities.
 *
 * @example
 * openaiModelOptions.think; // => "boolean"
 */
export const openaiModelOptions: ModelOptions = {
  path: "text",
  omit: "texts",
  fields: "texts",
  rename: "object",
  values: "object",
  pass: "texts",
  extra: "object",
  messageOmit: "texts",
  keepsReasoning: "boolean",
  cacheControl: "boolean",
  systemRole: ["system", "developer"],
  functions: ["pass", "convert"],
  reasoningEfforts: "texts",
  toolEfforts: "texts",
  toolEffortDefault: "text",
  reasoningOmit: "texts",
  streamOptions: "boolean",
  streams: "boolean",
  streamsSchemas: "boolean",
  drop: "texts",
  reasoningFields: "texts",
  think: "boolean",
  finishReasons: "object",
  usageIn: "text",
  inputTokens: "boolean",
  compact: "boolean",
  verbose: "boolean",
  events: "boolean",
} satisfies Record<keyof All, OptionKind>;
