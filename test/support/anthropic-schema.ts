import type Anthropic from "@anthropic-ai/sdk";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";

/**
 * What Anthropic's own client for Node says of an answer, without the fields that may be null there, which older answers
 * of Anthropic lack too, and without who called a tool: it is the model, always.
 */
type Given<T> = T extends readonly (infer One)[]
  ? Given<One>[]
  : T extends object
    ? { [Key in Required<T>]: Given<T[Key]> } & { [Key in Exclude<keyof T, Required<T>>]?: Given<T[Key]> }
    : T;
type Required<T> = { [Key in keyof T]: null extends T[Key] ? never : Key extends "caller" ? never : Key }[keyof T];

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const literals = <Words extends string[]>(...words: Words) =>
  Type.Union(words.map((word) => Type.Literal(word as Words[number])));
const count = Type.Integer({ minimum: 0 });
const id = Type.String({ minLength: 1 });

const text = Type.Object({ type: Type.Literal("text"), text: Type.String() });
const thinking = Type.Object({
  type: Type.Literal("thinking"),
  thinking: Type.String(),
  signature: Type.String(),
});
const redacted = Type.Object({ type: Type.Literal("redacted_thinking"), data: id });
const toolUse = Type.Object({ type: Type.Literal("tool_use"), id, name: id, input: Type.Object({}) });
const block = Type.Union([text, thinking, redacted, toolUse]);

const details = Type.Optional(nullable(Type.Object({ thinking_tokens: count })));
const usage = Type.Object({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  cache_creation: Type.Object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }),
  output_tokens: count,
  output_tokens_details: details,
});

const ending = {
  stop_reason: nullable(literals("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal")),
  stop_sequence: nullable(Type.String()),
};
const message = Type.Object({
  id: Type.String({ pattern: "^msg_." }),
  type: Type.Literal("message"),
  role: Type.Literal("assistant"),
  model: id,
  content: Type.Array(block),
  ...ending,
  usage,
});

const delta = Type.Union([
  Type.Object({ type: Type.Literal("text_delta"), text: id }),
  Type.Object({ type: Type.Literal("thinking_delta"), thinking: id }),
  Type.Object({ type: Type.Literal("signature_delta"), signature: id }),
  Type.Object({ type: Type.Literal("input_json_delta"), partial_json: Type.String() }),
]);
const event = Type.Union([
  Type.Object({ type: Type.Literal("message_start"), message }),
  Type.Object({ type: Type.Literal("content_block_start"), index: count, content_block: block }),
  Type.Object({ type: Type.Literal("content_block_delta"), index: count, delta }),
  Type.Object({ type: Type.Literal("content_block_stop"), index: count }),
  Type.Object({ type: Type.Literal("message_delta"), delta: Type.Object(ending), usage }),
  Type.Object({ type: Type.Literal("message_stop") }),
]);

const checks = { message: TypeCompiler.Compile(message), event: TypeCompiler.Compile(event) };

/** An answer that the types of Anthropic's client let through. @throws When it is none, with what is wrong. */
export function readMessage(body: unknown): Given<Anthropic.Message> {
  if (!checks.message.Check(body)) throw wrong("message", body);
  return body satisfies Static<typeof message>;
}

/** The same for an event of a stream; a `ping` is left to the caller. */
export function readMessageEvent(body: unknown): Given<Anthropic.RawMessageStreamEvent> {
  if (!checks.event.Check(body)) throw wrong("event", body);
  return body satisfies Static<typeof event>;
}

function wrong(kind: keyof typeof checks, body: unknown): Error {
  const faults = [...checks[kind].Errors(body)].map(({ path, message: sentence }) => `${path} ${sentence}`);
  return new Error(`${faults.join("; ")}: ${JSON.stringify(body)}`);
}
