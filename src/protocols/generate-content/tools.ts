import { badRequest } from "../../contract/index.ts";
import { mayComeAgain } from "../../lib/call-ids.ts";
import { isRecord } from "../../lib/json.ts";
import { openApiSubset, reduceSchema, type SchemaBudget } from "../../lib/json-schema.ts";
import type { LruMap } from "../../lib/lru-map.ts";
import { type ChatRequest, type Tool, type ToolCall, toAnswerText, type Warn } from "../../provider/index.ts";
import { missingSignature } from "../reasoning.ts";
import { toWholeSchema } from "../tool-schema.ts";
import { readToolChoice } from "../tools.ts";
import type { GenerateBody, GeneratedPart } from "./schema.ts";

const modes = { none: "NONE", auto: "AUTO", required: "ANY" };
/** The functions the model may call, all in one tool as the provider wants it, and whether it must. */
export function toTools(
  request: ChatRequest,
  budget: SchemaBudget,
  warn: Warn,
): Pick<GenerateBody, "tools" | "toolConfig"> {
  const all = (request.tools ?? []).map((tool, index) =>
    toDeclaration(tool, { path: `tools[${index}].function`, budget, warn }),
  );
  const { mode, names } = readToolChoice(request) ?? {};
  if (all.length === 0) return {};
  // The provider takes names only where a call is demanded; elsewhere the other functions are not shown.
  const demanded = mode === "required" && names ? [...names] : undefined;
  const shown = all.filter(({ name }) => demanded !== undefined || names === undefined || names.has(name));
  const config = mode && { functionCallingConfig: { mode: modes[mode], allowedFunctionNames: demanded } };
  return { tools: [{ functionDeclarations: shown }], toolConfig: config };
}

function toDeclaration(
  { function: { name, description, parameters } }: Tool,
  { path, budget, warn }: { path: string; budget: SchemaBudget; warn: Warn },
) {
  if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(name)) {
    const expected = "expected a letter or _, then letters, digits and _ . : -, at most 128 in all";
    throw badRequest(`${name} cannot name a function of this model: ${expected}`, `${path}.name`);
  }
  const { schema, dropped } = reduceSchema(toWholeSchema(parameters), openApiSubset, `${path}.parameters`, budget);
  if (dropped.length > 0) warn(`Left out of the parameters of ${name}: ${dropped.join(", ")}`, `${path}.parameters`);
  // The provider refuses an object of nothing.
  const isEmpty = Object.keys(schema.properties ?? {}).length === 0;
  return { name, description: description ?? undefined, parameters: isEmpty ? undefined : schema };
}

const signatureCharactersMax = 65_536;

/** Thought signatures (Gemini's name) by tool-call id: the provider wants them back with the calls, and most clients drop them. */
export type Signatures = LruMap<string>;

/** How the tool calls of an answer are to be read. */
export interface CallReading {
  /** `parallel_tool_calls: false`: only the first call is kept, because the provider has no such switch. */
  firstOnly: boolean;
  signatures: Signatures;
  /** Makes an id for a call without one. */
  newId: () => string;
}

export const randomCallId = () => `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;

/**
 * Converts a call to OpenAI's form, with its signature in `extra_content`, as Google's own OpenAI-compatible endpoint
 * has it.
 */
export function toToolCall(part: GeneratedPart, { signatures, newId }: CallReading): ToolCall {
  const { name = "", args, id: theirs = "" } = part.functionCall ?? {};
  // Signatures are kept by id, for all conversations.
  const id = mayComeAgain(theirs, name) ? newId() : theirs;
  const call: ToolCall = { id, type: "function", function: { name, arguments: toAnswerText(args) || "{}" } };
  const signature = part.thoughtSignature;
  if (signature === undefined) return call;
  if (signature.length <= signatureCharactersMax) signatures.set(id, signature);
  return Object.assign(call, { extra_content: { google: { thought_signature: signature } } });
}

/**
 * Returns each signature at most once for one request. Otherwise a request that repeats a short id a thousand times
 * would become far longer than the hold covers.
 */
export function eachOnce(signatures: Pick<Signatures, "get">): Pick<Signatures, "get"> {
  const ids = new Set<string>();
  return {
    get(id) {
      if (ids.has(id)) return undefined;
      ids.add(id);
      return signatures.get(id);
    },
  };
}

/**
 * Returns the signature of a call that a client sent back. Models refuse a turn whose first call lacks a signature; the
 * other calls do not need one.
 */
export function getSignature(
  call: ToolCall,
  signatures: Pick<Signatures, "get">,
  isChecked: boolean,
): string | undefined {
  const extra = "extra_content" in call && isRecord(call.extra_content) ? call.extra_content : {};
  const google = isRecord(extra.google) ? extra.google : {};
  const { thought_signature: signature } = google;
  if (typeof signature === "string") return signature;
  return signatures.get(call.id) ?? (isChecked ? missingSignature : undefined);
}
