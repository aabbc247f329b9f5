import { isRecord, type LruMap, type ToolCall } from "modelgate/plugin";
import type { AnswerPart } from "./wire.ts";

/** Stands for a signature that was lost. https://ai.google.dev/gemini-api/docs/thought-signatures */
const unsigned = "skip_thought_signature_validator";
const signatureCharactersMax = 65_536;

/** Thought signatures by tool-call id: the provider wants them back with the calls, and most clients drop them. */
export type Signatures = LruMap<string>;

/** How the tool calls of an answer are to be read. */
export interface CallReading {
  /** `parallel_tool_calls: false`, for which the provider has no switch: the first call is kept. */
  firstOnly: boolean;
  signatures: Signatures;
  /** An id for a call that has none. */
  newId: () => string;
}

export function randomCallId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

/** A call as OpenAI writes it, its signature beside it as Google's own OpenAI-compatible endpoint hands it out. */
export function toToolCall(part: AnswerPart, { signatures, newId }: CallReading): ToolCall {
  const { name = "", args = {}, id: theirs = "" } = part.functionCall ?? {};
  const id = theirs === "" ? newId() : theirs;
  const call: ToolCall = { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  const signature = part.thoughtSignature;
  if (signature === undefined) return call;
  if (signature.length <= signatureCharactersMax) signatures.set(id, signature);
  return Object.assign(call, { extra_content: { google: { thought_signature: signature } } });
}

/** The signature of a call that comes back. Models refuse a turn whose first call has none; the others need none. */
export function signatureOf(call: ToolCall, signatures: Signatures, isChecked: boolean): string | undefined {
  const extra = "extra_content" in call && isRecord(call.extra_content) ? call.extra_content : {};
  const google = isRecord(extra.google) ? extra.google : {};
  if (typeof google.thought_signature === "string") return google.thought_signature;
  return signatures.get(call.id) ?? (isChecked ? unsigned : undefined);
}
