/**
 * The request fields that are sent to a server of the operator. Such a server obeys more fields than a public provider:
 * a caller could choose its template, put a call before those of others, or make it fetch from its neighbours. So only
 * listed fields of a caller are sent: the fields of the wire formats, and the fields that clients of such servers use
 * to shape their text (`top_k`, `min_p`, `structured_outputs`). The list excludes every field that names a file, an
 * address, a place in a queue, code, a template or the work of other callers. The manifest of a provider lists the
 * further fields that it takes.
 */
import { KindGuard, type TSchema } from "@sinclair/typebox";
import { getOwn } from "../contract/index.ts";
import { isExactNumber, isRecord, mapChanged } from "../lib/json.ts";
import {
  type Call,
  ChatRequest,
  EmbeddingsRequest,
  type Handlers,
  ImageEditsFields,
  ImagesRequest,
  ModerationRequest,
  type NativeRequest,
  RerankRequest,
  SpeechRequest,
} from "../provider/index.ts";
import { DecisionRequest } from "./decisions/schema.ts";
import { MessagesRequest } from "./messages/schema.ts";
import { ResponsesRequest } from "./responses/schema.ts";

/** The known members of an object, or of the objects of a list. */
interface KnownFields {
  readonly [name: string]: Known;
}

/** `true` for a value of any content, such as a JSON schema; no fields for one that is not an object. */
type Known = true | KnownFields;

const scalar: KnownFields = {};
const named = (names: string): KnownFields =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, scalar]),
  );

const cacheMark = { cache_control: named("type ttl scope"), prompt_cache_breakpoint: named("type mode ttl") };
const cacheOptions = { prompt_cache_options: named("mode ttl") };
const media = named("url detail data format min_pixels max_pixels fps");

/** Sampling and its bounds: fields of vLLM, SGLang, llama.cpp and others that OpenAI does not have. */
const sampling: KnownFields = {
  ...named(`
    top_k min_p typical_p typ_p tfs_z top_a top_n_sigma repetition_penalty length_penalty do_sample
    repeat_penalty repeat_last_n penalize_nl no_repeat_ngram_size
    xtc_probability xtc_threshold dynatemp_range dynatemp_exponent mirostat mirostat_tau mirostat_eta
    dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers
    min_tokens ignore_eos stop_token_ids include_stop_str_in_output no_stop_trim bad_words allowed_token_ids
    skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens
    add_generation_prompt continue_final_message cache_prompt cache_salt`),
  // Forms that an answer is held to.
  ...named("grammar regex ebnf guided_regex guided_choice guided_grammar guided_whitespace_pattern"),
  guided_json: true,
  json_schema: true,
  structured_outputs: {
    ...named(
      "regex choice grammar json_object whitespace_pattern disable_any_whitespace disable_additional_properties",
    ),
    json: true,
    structural_tag: true,
  },
  // Reasoning, by its switches.
  ...named(`
    enable_thinking thinking_budget reasoning_budget reasoning_format include_reasoning separate_reasoning stream_reasoning think
    think_level`),
  reasoning: named("effort max_tokens exclude enabled summary"),
  thinking: named("type budget_tokens display clear_thinking keep"),
};

const chatFields = extend(fieldsOf(ChatRequest), {
  ...sampling,
  ...named(`
    store service_tier prompt_cache_key prompt_cache_retention safety_identifier verbosity modalities`),
  ...cacheMark,
  ...cacheOptions,
  logit_bias: true,
  metadata: true,
  audio: { voice: true, format: scalar },
  prediction: { type: scalar, content: { type: scalar, text: scalar } },
  stream_options: named("include_usage include_obfuscation continuous_usage_stats chunk_include_usage"),
  response_format: {
    ...named("type value structures triggers"),
    json_schema: { description: scalar, schema: true },
    schema: true,
    structures: { begin: scalar, end: scalar, schema: true },
    format: true,
  },
  tools: { ...cacheMark, custom: { description: scalar, format: true }, function: cacheMark },
  tool_choice: {
    name: scalar,
    allowed_tools: { mode: scalar, tools: { ...named("type name"), function: named("name"), custom: named("name") } },
  },
  messages: {
    ...cacheMark,
    ...named("reasoning refusal prefix partial is_error thinking"),
    reasoning_details: true,
    thinking_blocks: true,
    annotations: true,
    audio: named("id"),
    tool_calls: { index: scalar, extra_content: true, ...cacheMark, function: named("thought_signature") },
    content: {
      ...cacheMark,
      ...named("signature name"),
      thinking: true,
      file: named("file_data file_id filename"),
      video_url: media,
      audio_url: media,
      image_url: media,
      input_audio: media,
    },
  },
});

const embeddingsFields = extend(fieldsOf(EmbeddingsRequest), {
  ...named(`
    input_type task task_type truncate truncation truncate_prompt_tokens normalize normalized prompt_name
    embedding_type embedding_types output_dimension output_dtype late_chunking modality`),
  messages: chatFields.messages as Known,
});

const imageFields: KnownFields = named(
  "style moderation negative_prompt seed guidance_scale true_cfg_scale aspect_ratio",
);

const rerankFields = extend(
  fieldsOf(RerankRequest),
  named(`
    return_documents max_chunks_per_doc max_tokens_per_doc truncate truncation truncate_prompt_tokens top_k instruction
    rank_fields`),
);

const speechFields = extend(fieldsOf(SpeechRequest), named("instructions language lang_code"));

const searchFields: KnownFields = {
  ...named("search_context_size search_content_types external_web_access"),
  filters: named("allowed_domains blocked_domains"),
  user_location: named("type city country region timezone"),
};
/** Tools of a provider's own are left out by the handlers unless a row has their price. */
const functionTool: KnownFields = {
  ...named("type name description strict defer_loading server_label"),
  parameters: true,
  environment: true,
};

const responsesFields = extend(fieldsOf(ResponsesRequest), {
  ...sampling,
  prompt_cache_options: named("mode ttl comparison_response_id"),
  ...named("prompt_cache_retention frequency_penalty presence_penalty seed stop verbosity"),
  stream_options: named("include_obfuscation"),
  context_management: named("type compact_threshold"),
  reasoning: named("effort summary generate_summary context"),
  client_metadata: true,
  tools: { ...functionTool, ...searchFields, tools: functionTool },
  tool_choice: {
    ...named("type name namespace mode server_label"),
    tools: named("type name namespace server_label"),
  },
  input: {
    ...named("status phase result refusal execution created_by"),
    content: { ...cacheMark, annotations: true, logprobs: true, input_audio: media },
    output: { annotations: true, logprobs: true },
    summary: named("type text"),
    action: true,
    actions: true,
    operation: true,
    results: true,
    tools: { ...functionTool, tools: functionTool },
  },
});

const anthropicSource: Record<string, Known> = named("type media_type data url file_id");
const anthropicBlock: Record<string, Known> = {
  ...cacheMark,
  ...named(`
    type text thinking signature data id name title context tool_use_id is_error url page_age encrypted_content
    encrypted_index retrieved_at tool_name error_code stdout stderr return_code file_id`),
  input: true,
  caller: true,
  citations: true,
  source: anthropicSource,
};
// A result, a document and a list of references hold blocks again.
anthropicBlock.content = anthropicBlock;
anthropicBlock.tool_references = anthropicBlock;
anthropicSource.content = anthropicBlock;

const messagesFields = extend(fieldsOf(MessagesRequest), {
  ...sampling,
  ...cacheMark,
  // The handlers leave these out or refuse them where no row covers them: a place of processing is nothing to drop in silence.
  ...named("speed inference_geo"),
  mcp_servers: true,
  container: true,
  metadata: named("user_id"),
  diagnostics: named("previous_message_id"),
  thinking: named("type budget_tokens display"),
  output_config: { effort: scalar, task_budget: named("type total remaining"), format: { type: scalar, schema: true } },
  output_format: { type: scalar, schema: true },
  context_management: true,
  system: anthropicBlock,
  messages: { role: scalar, content: anthropicBlock },
  tools: {
    ...cacheMark,
    ...named(`
      type name description strict defer_loading eager_input_streaming max_characters display_width_px display_height_px
      display_number enable_zoom max_uses max_content_tokens allowed_domains blocked_domains allowed_callers`),
    input_schema: true,
    input_examples: true,
    citations: named("enabled"),
    user_location: named("type city country region timezone"),
  },
});

const moderationFields = fieldsOf(ModerationRequest) as KnownFields;
const decisionsFields = fieldsOf(DecisionRequest) as KnownFields;

/** The known fields of the body that each handler is given. Transcriptions have a closed form. */
const knownFields: Partial<Record<keyof Handlers, KnownFields>> = {
  chat: chatFields,
  countChatTokens: chatFields,
  embeddings: embeddingsFields,
  images: extend(fieldsOf(ImagesRequest), imageFields),
  imageEdits: extend(fieldsOf(ImageEditsFields), { ...imageFields, images: true, mask: true }),
  speech: speechFields,
  moderation: moderationFields,
  rerank: rerankFields,
  responses: responsesFields,
  compactResponse: responsesFields,
  countResponsesTokens: responsesFields,
  messages: messagesFields,
  countMessagesTokens: messagesFields,
  decisions: decisionsFields,
};

/** The handlers that are given the body of another protocol than the uniform one. */
const native: ReadonlySet<string> = new Set<keyof Handlers>([
  "responses",
  "compactResponse",
  "countResponsesTokens",
  "messages",
  "countMessagesTokens",
  "decisions",
]);

type Handler = (call: Call<unknown>) => Promise<unknown>;

/** Handlers that give known fields only, with what they were made of. */
const restrictedHandlers = new WeakMap<Handlers, { readonly handlers: Handlers; readonly listed: readonly string[] }>();

/**
 * Handlers that give a server of the operator's own only known fields of the caller's request, and name the others as left out. For a
 * public provider they are the handlers as they were.
 *
 * @param listed Further fields of a request, whatever is in them, that the provider takes.
 */
export function withKnownFields(defined: Handlers, listed: readonly string[]): Handlers {
  // Handlers from before, if a plugin is defined again with other models: the circuits of its routes are found by the
  // same object.
  const before = restrictedHandlers.get(defined);
  if (before !== undefined && before.listed.join() === listed.join()) return defined;
  const handlers = before?.handlers ?? defined;
  const entries = Object.entries(handlers).map(([name, handler]) => {
    const fields = knownFields[name as keyof Handlers];
    if (fields === undefined || handler === undefined) return [name, handler];
    const bound = (handler as Handler).bind(handlers);
    const restricted: Handler = (call) => bound(call.isOwnServer === true ? toKnown(name, call, fields, listed) : call);
    return [name, Object.assign(restricted, { ...handler })];
  });
  const restricted = Object.fromEntries(entries) as Handlers;
  restrictedHandlers.set(restricted, { handlers, listed });
  return restricted;
}

function toKnown(name: string, call: Call<unknown>, known: KnownFields, listed: readonly string[]): Call<unknown> {
  const dropped = new Set<string>();
  const { rename = {}, options } = call.model;
  const further = [...listed, ...Object.keys(rename), ...listNamedFields(options)];
  const keep = (body: unknown) => keepKnown(body, known, { further, dropped, path: "" });
  const request = native.has(name)
    ? { ...(call.request as NativeRequest), body: keep((call.request as NativeRequest).body) }
    : keep(call.request);
  if (dropped.size === 0) return call;
  const names = [...dropped];
  call.warn(
    `Left out for a server of the operator's own, whose requestFields do not list it: ${names.join(", ")}`,
    names,
  );
  return { ...call, request };
}

/**
 * The provider's own field names in the options of a row or a manifest: fields that it passes on, or sends under
 * another name.
 */
export function listNamedFields(options: Readonly<Record<string, unknown>> = {}): string[] {
  const lists = [options.pass, options.fields].filter(Array.isArray) as string[][];
  return [...lists.flat(), ...Object.keys(isRecord(options.rename) ? options.rename : {})];
}

/** State of a walk through a body. */
interface Walk {
  /** Members of this object that are allowed in addition to its known fields. */
  readonly further: readonly string[];
  /** Takes the names that are left out. */
  readonly dropped: Set<string>;
  /** The names that lead to the value, each with a dot behind it. */
  readonly path: string;
}

/** Maximum number of names in the warning to the caller. */
const droppedMax = 20;

/** Returns the value without unknown members; the value itself if it has only known ones. */
function keepKnown(value: unknown, known: Known, walk: Walk): unknown {
  if (known === true || typeof value !== "object" || value === null || isExactNumber(value)) return value;
  if (Array.isArray(value)) return mapChanged(value, (item) => keepKnown(item, known, walk));
  const { further, dropped, path } = walk;
  // Made once something is left out: usually nothing is.
  let members: Map<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    if (further.includes(name)) continue;
    const knownOfMember = getOwn(known, name);
    if (knownOfMember === undefined) {
      members ??= new Map(Object.entries(value));
      members.delete(name);
      if (member !== null && member !== undefined && dropped.size < droppedMax) dropped.add(path + name);
    } else if (typeof member === "object" && member !== null && knownOfMember !== true) {
      const keptMember = keepKnown(member, knownOfMember, { further: [], dropped, path: `${path}${name}.` });
      if (keptMember === member) continue;
      members ??= new Map(Object.entries(value));
      members.set(name, keptMember);
    }
  }
  return members === undefined ? value : Object.fromEntries(members);
}

/** The fields that a schema names, down to the values that it leaves open. */
function fieldsOf(schema: TSchema): Known {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.map(fieldsOf).reduce(unite, scalar);
  if (KindGuard.IsArray(schema)) return fieldsOf(schema.items);
  if (KindGuard.IsRecord(schema) || KindGuard.IsUnknown(schema) || KindGuard.IsAny(schema)) return true;
  if (!KindGuard.IsObject(schema)) return scalar;
  const members = Object.entries(schema.properties).map(([name, member]) => [name, fieldsOf(member)] as const);
  return members.length === 0 ? true : Object.fromEntries(members);
}

/** The known fields of a value of one of two kinds. */
function unite(one: Known, other: Known): Known {
  if (one === true || other === true) return true;
  const fields: Record<string, Known> = { ...one };
  for (const [name, known] of Object.entries(other)) {
    const before = getOwn(fields, name);
    fields[name] = before === undefined ? known : unite(before, known);
  }
  return fields;
}

/** Adds fields to known fields. The added fields replace a schema that leaves a value open. */
function extend(known: Known, others: KnownFields): KnownFields {
  const fields: Record<string, Known> = known === true ? {} : { ...known };
  for (const [name, other] of Object.entries(others)) {
    const before = getOwn(fields, name);
    const isJoined = before !== undefined && before !== true && other !== true;
    fields[name] = isJoined ? extend(before, other) : other;
  }
  return fields;
}
