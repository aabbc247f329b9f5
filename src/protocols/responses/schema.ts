import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { optional } from "../../contract/index.ts";

const open = { additionalProperties: true } as const;

const itemId = optional(Type.String());

/** An object of one `type`. */
function kind<const Name extends string, Fields extends TProperties>(name: Name, fields: Fields) {
  return Type.Object({ type: Type.Literal(name), ...fields }, open);
}

/** An object of a `type` that is not among these. A native route passes it on; the translation decides what to do. */
function otherKind(schemas: readonly TObject[], fields: { id?: typeof itemId } = {}) {
  const names = schemas.map(({ properties }) => (properties.type as { const?: string }).const);
  const type = Type.String({ minLength: 1, pattern: `^(?!(?:${names.join("|")})$)` });
  return Type.Object({ type, ...fields }, open);
}

const partKinds = [
  kind("input_text", { text: Type.String() }),
  kind("output_text", { text: Type.String() }),
  kind("text", { text: Type.String() }),
  kind("refusal", { refusal: Type.String() }),
  kind("input_image", {
    image_url: optional(Type.String({ minLength: 1 })),
    file_id: optional(Type.String()),
    detail: optional(Type.String()),
  }),
  kind("input_file", {
    file_data: optional(Type.String()),
    file_id: optional(Type.String()),
    file_url: optional(Type.String()),
    filename: optional(Type.String()),
  }),
  kind("input_audio", { input_audio: Type.Object({ data: Type.String({ minLength: 1 }), format: Type.String() }) }),
] as const;

/** A part of a message or of a tool's output. */
const ResponsePart = Type.Union([...partKinds, otherKind(partKinds)]);
export type ResponsePart = Static<(typeof partKinds)[number]>;

const Content = Type.Union([Type.String(), Type.Array(ResponsePart)]);
const callId = Type.String({ minLength: 1 });
const namespace = optional(Type.String({ minLength: 1, maxLength: 64 }));
const name = Type.String({ minLength: 1, maxLength: 128 });

const FunctionTool = kind("function", {
  name,
  description: optional(Type.String()),
  parameters: optional(Type.Object({}, open)),
  strict: optional(Type.Boolean()),
});
const CustomTool = kind("custom", {
  name,
  description: optional(Type.String()),
  format: optional(
    Type.Object({ type: Type.String(), syntax: optional(Type.String()), definition: optional(Type.String()) }, open),
  ),
});
const NamespaceTool = kind("namespace", {
  name: Type.String({ minLength: 1, maxLength: 64 }),
  description: optional(Type.String()),
  tools: Type.Array(Type.Union([FunctionTool, CustomTool, otherKind([FunctionTool, CustomTool])]), { minItems: 1 }),
});
const ToolSearchTool = kind("tool_search", {
  execution: optional(Type.String()),
  description: optional(Type.String()),
  parameters: optional(Type.Object({}, open)),
});
const toolKinds = [FunctionTool, CustomTool, NamespaceTool, ToolSearchTool] as const;
const ResponseTool = Type.Union([...toolKinds, otherKind(toolKinds)]);
export type FunctionTool = Static<typeof FunctionTool>;
export type CustomTool = Static<typeof CustomTool>;
export type NamespaceTool = Static<typeof NamespaceTool>;
export type ToolSearchTool = Static<typeof ToolSearchTool>;
export type ResponseTool = Static<typeof ResponseTool>;

const messageFields = {
  id: itemId,
  role: Type.Union([
    Type.Literal("user"),
    Type.Literal("assistant"),
    Type.Literal("system"),
    Type.Literal("developer"),
  ]),
  content: Content,
};
const untyped = Type.Optional(Type.Null());

/** Messages and references may leave their type out. They are schemas of their own, so that errors name what was meant. */
const TypedMessage = kind("message", messageFields);
const UntypedMessage = Type.Object({ type: untyped, ...messageFields }, open);
const TypedReference = kind("item_reference", { id: Type.String() });
const UntypedReference = Type.Object({ type: untyped, id: Type.String() }, open);

const itemKinds = [
  kind("function_call", { id: itemId, call_id: callId, name, namespace, arguments: Type.String() }),
  kind("function_call_output", { id: itemId, call_id: callId, output: Content }),
  kind("custom_tool_call", { id: itemId, call_id: callId, name, namespace, input: Type.String() }),
  kind("custom_tool_call_output", { id: itemId, call_id: callId, output: Content }),
  kind("tool_search_call", { id: itemId, call_id: optional(callId), execution: optional(Type.String()) }),
  kind("tool_search_output", { id: itemId, call_id: optional(callId), tools: Type.Array(ResponseTool) }),
  kind("additional_tools", { id: itemId, tools: Type.Array(ResponseTool) }),
  kind("reasoning", { id: itemId, encrypted_content: optional(Type.String()) }),
] as const;
const OtherItem = otherKind([...itemKinds, TypedMessage, TypedReference], { id: itemId });

/** One item of `input`: a message, a call, its output, reasoning, or a reference to an earlier item. */
const ResponseItem = Type.Union([
  TypedMessage,
  ...itemKinds,
  TypedReference,
  UntypedMessage,
  UntypedReference,
  OtherItem,
]);
export type MessageItem = Static<typeof TypedMessage> | Static<typeof UntypedMessage>;
export type ItemReference = Static<typeof TypedReference> | Static<typeof UntypedReference>;
/** The items that can be translated, by their `type`. */
export type TypedItem = Static<(typeof itemKinds)[number]>;
export type ResponseItem = Static<typeof ResponseItem>;

const effort = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
const verbosity = ["low", "medium", "high"] as const;

const TextFormat = Type.Union([
  kind("text", {}),
  kind("json_object", {}),
  kind("json_schema", {
    name: Type.String({ minLength: 1 }),
    schema: Type.Object({}, open),
    strict: optional(Type.Boolean()),
    description: optional(Type.String()),
  }),
]);

/**
 * Body of POST /responses, OpenAI's Responses protocol. Fields not named here reach providers that speak the protocol
 * and are left out for others.
 */
export const ResponsesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    input: optional(Type.Union([Type.String(), Type.Array(ResponseItem, { maxItems: 10_000 })])),
    instructions: optional(Type.String()),
    stream: optional(Type.Boolean()),
    max_output_tokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    tools: optional(Type.Array(ResponseTool, { maxItems: 1_000 })),
    tool_choice: optional(
      Type.Union([
        Type.Literal("none"),
        Type.Literal("auto"),
        Type.Literal("required"),
        Type.Object({ type: Type.String({ minLength: 1 }) }, open),
      ]),
    ),
    parallel_tool_calls: optional(Type.Boolean()),
    max_tool_calls: optional(Type.Integer({ minimum: 1 })),
    text: optional(
      Type.Object(
        {
          format: optional(TextFormat),
          verbosity: optional(Type.Union(verbosity.map((value) => Type.Literal(value)))),
        },
        open,
      ),
    ),
    reasoning: optional(
      Type.Object(
        { effort: optional(Type.Union(effort.map((value) => Type.Literal(value)))), summary: optional(Type.String()) },
        open,
      ),
    ),
    include: optional(Type.Array(Type.String())),
    store: optional(Type.Boolean()),
    previous_response_id: optional(Type.String({ minLength: 1 })),
    background: optional(Type.Boolean()),
    prompt_cache_key: optional(Type.String()),
    service_tier: optional(Type.String()),
    truncation: optional(Type.String()),
    metadata: optional(Type.Record(Type.String(), Type.String())),
    user: optional(Type.String()),
    safety_identifier: optional(Type.String()),
  },
  open,
);
export type ResponsesRequest = Static<typeof ResponsesRequest>;

/** Tokens of one answer: cached and cache-written tokens are parts of the input, reasoning is a part of the output. */
const ResponseUsage = Type.Object(
  {
    input_tokens: Type.Integer(),
    input_tokens_details: Type.Object({ cached_tokens: Type.Integer(), cache_write_tokens: Type.Integer() }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
    /** The cost of all of it in dollars; absent when that is not known. */
    cost: Type.Optional(Type.Number()),
  },
  open,
);
export type ResponseUsage = Static<typeof ResponseUsage>;

/** One item of an answer: a message, a call or reasoning. */
const OutputItem = Type.Object({ id: Type.String(), type: Type.String() }, open);
export type OutputItem = Static<typeof OutputItem> & Record<string, unknown>;

/** The answer of POST /responses, and what its stream's first and last events carry. */
export const ResponseObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("response"),
    created_at: Type.Integer(),
    completed_at: Type.Union([Type.Integer(), Type.Null()]),
    status: Type.Union(
      (["in_progress", "completed", "incomplete", "failed"] as const).map((status) => Type.Literal(status)),
    ),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    incomplete_details: Type.Union([Type.Object({ reason: Type.String() }), Type.Null()]),
    instructions: Type.Union([Type.String(), Type.Null()]),
    model: Type.String(),
    output: Type.Array(OutputItem),
    service_tier: Type.String({ description: "The tier that served; default where the provider names none" }),
    /** Null until the answer ends, and where nothing is known. */
    usage: Type.Union([ResponseUsage, Type.Null()]),
  },
  open,
);
export type ResponseObject = Static<typeof ResponseObject>;
