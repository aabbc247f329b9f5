import type { Model, ModelOptions, OptionKind } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/** How the requests of a provider differ from OpenAI's. All of it is data; a model row's `options` may have the same fields. */
export interface RequestOptions {
  /** Where its endpoint is, below the base URL. `{model}` is the model's name there. Default: OpenAI's path. */
  path?: string;
  /** Request fields the provider rejects: left out, and noted in the log. */
  omit?: readonly string[];
  /** The only request fields that it takes, by OpenAI's names, beside those that make the request. Default: all of them. */
  fields?: readonly string[];
  /** Request fields it knows by another name. If the request has a field of that name too, that one is sent. */
  rename?: Readonly<Record<string, string>>;
  /** Values it knows by another name, by field: `{ quality: { hd: "high" } }`; `null` leaves the field out. */
  values?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Request fields that change the price or choose another model, and whose price the rows do cover: they are sent. */
  pass?: readonly string[];
  /** Fields to send unless the request has them: `{ reasoning_format: "parsed" }`. */
  extra?: Readonly<Record<string, unknown>>;
}

/** What one chat provider does differently. */
export interface ChatOptions extends RequestOptions {
  /** Fields of a message it rejects. Default: those by which reasoning travels. */
  messageOmit?: readonly string[];
  /**
   * Whether it wants back, in `reasoning_content`, what the model reasoned in earlier turns, and refuses a call of a tool
   * without (DeepSeek, Moonshot). Default false: no reasoning is sent.
   */
  keepsReasoning?: boolean;
  /** Whether it takes Anthropic's `cache_control` on parts, tools, calls and messages. Default false: left out. */
  cacheControl?: boolean;
  /** What it calls a system message: `developer` becomes `system`, or the other way round. Both pass when left out. */
  systemRole?: "system" | "developer";
  /** Whether it takes the deprecated `functions` itself (`pass`) or they are sent as `tools` (`convert`, the default). */
  functions?: "pass" | "convert";
  /** The `reasoning_effort` values it takes; another is moved to the nearest; without a nearest one the field is left out. */
  reasoningEfforts?: readonly string[];
  /** The same in a chat request with tools, where that differs. Where the provider has `/responses`, another effort is asked for there. */
  toolEfforts?: readonly string[];
  /** The effort to send with tools when none is asked for, where it would reject them beside its own. */
  toolEffortDefault?: string;
  /** Request fields it rejects beside an effort other than `none`. */
  reasoningOmit?: readonly string[];
  /** Whether it takes `stream_options`. Default true: usage is always asked for. */
  streamOptions?: boolean;
  /** Whether it streams at all. Default true; else every answer is asked for whole. */
  streams?: boolean;
  /** Whether it streams an answer held to a JSON schema. Default true; else such an answer is asked for whole. */
  streamsSchemas?: boolean;
  /** Fields of an answer that no OpenAI client knows: dropped wherever they stand. */
  drop?: readonly string[];
  /** Where its messages carry reasoning. Default `["reasoning_content", "reasoning"]`. */
  reasoningFields?: readonly string[];
  /** Whether the content begins with the reasoning as `<think>…</think>`. */
  think?: boolean;
  /** Its finish reasons in OpenAI's words. Default `{ eos: "stop" }`. */
  finishReasons?: Readonly<Record<string, string>>;
  /** The field of an answer or chunk that has the `usage` if it is not at the top level, such as `x_groq`. */
  usageIn?: string;
}

/** What one provider does differently that speaks the Responses protocol. */
export interface ResponsesOptions extends RequestOptions {
  /** Whether it counts the input tokens of such a request. Default false. */
  inputTokens?: boolean;
  /** The provider also has `POST /responses/compact`. */
  compact?: boolean;
}

/** What one embedding provider does differently. */
export type EmbeddingsOptions = RequestOptions;

/** What one image provider does differently. */
export interface ImagesOptions extends RequestOptions {
  /** Whether it streams unfinished images. Default false: `partial_images` is left out. */
  partialImages?: boolean;
}

/** What it does differently where images are edited. */
export interface ImageEditsOptions extends ImagesOptions {
  /** How images are sent: as files of a form (default), or in JSON as `image` or `images` of `{ type, url }`, as xAI wants them. */
  imagesAs?: "files" | "urls";
}

/** What one transcription provider does differently. */
export interface TranscriptionOptions extends RequestOptions {
  /** Whether it has `verbose_json`, which tells the length of the audio. Default true. */
  verbose?: boolean;
}

/** What one speech provider does differently. */
export interface SpeechOptions extends RequestOptions {
  /** Whether it can send the sound in events, the last of which tells the tokens. Default false. */
  events?: boolean;
}

/** Which capabilities a provider has in OpenAI's dialect, each with what it does differently (`{}`: nothing). */
export interface OpenaiOptions {
  chat?: ChatOptions;
  /** The Responses protocol, where the provider speaks it beside chat. */
  responses?: ResponsesOptions;
  embeddings?: EmbeddingsOptions;
  images?: ImagesOptions;
  imageEdits?: ImageEditsOptions;
  transcription?: TranscriptionOptions;
  translation?: TranscriptionOptions;
  speech?: SpeechOptions;
  moderation?: RequestOptions;
  /** As Cohere, Jina, Voyage and vLLM have it; OpenAI has none. */
  rerank?: RequestOptions;
}

const merged = new WeakMap<object, WeakMap<Model, unknown>>();

/** The options of a dialect for one model: its row's `options` go first, its `omit` and `rename` are added. */
export function resolveOptions<Options extends RequestOptions>(defaults: Options, model: Model): Options {
  if (model.omit === undefined && model.rename === undefined && model.options === undefined) return defaults;
  let byModel = merged.get(defaults) as WeakMap<Model, Options> | undefined;
  if (byModel === undefined) {
    byModel = new WeakMap();
    merged.set(defaults, byModel);
  }
  let result = byModel.get(model);
  if (result === undefined) {
    const all = { ...defaults, ...(isRecord(model.options) ? model.options : {}) };
    const omit = [...(all.omit ?? []), ...(model.omit ?? [])];
    result = { ...all, omit, rename: { ...all.rename, ...model.rename } };
    byModel.set(model, result);
  }
  return result;
}

type All = ChatOptions & ImageEditsOptions & RequestOptions & ResponsesOptions & SpeechOptions & TranscriptionOptions;

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
  partialImages: "boolean",
  imagesAs: ["files", "urls"],
} satisfies Record<keyof All, OptionKind>;
