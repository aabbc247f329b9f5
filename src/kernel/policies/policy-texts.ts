/**
 * The texts of a request or an answer. Every member is looked at unless it is listed here as one without text, so a new
 * field is looked at too.
 */
import type { PolicyText, PolicyTextKind } from "../../provider/index.ts";

/** Members that name, order or encode; none of them is text for a reader. */
const skippedNames: ReadonlySet<string> = new Set([
  "b64_json",
  "call_id",
  "created",
  "data",
  "detail",
  "encrypted_content",
  "file_data",
  "finish_reason",
  "format",
  "id",
  "logprobs",
  "model",
  "name",
  "object",
  "prompt_cache_key",
  "reasoning_effort",
  "role",
  "safety_identifier",
  "service_tier",
  "signature",
  "tool_call_id",
  "type",
  "user",
  "voice",
]);
const thoughtNames: ReadonlySet<string> = new Set([
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "thinking",
  "thinking_blocks",
]);
const writtenNames: ReadonlySet<string> = new Set([
  "content",
  "documents",
  "input",
  "instructions",
  "prompt",
  "query",
  "refusal",
  "revisedPrompt",
  "text",
  "transcript",
]);
const toolNames: ReadonlySet<string> = new Set(["functions", "tools"]);

/** A text and how it is replaced. */
type Visit = (text: PolicyText) => string;

interface Place {
  readonly path: string;
  readonly role: string;
  readonly kind: PolicyTextKind;
}

/** Where a value is, and who wrote it where the value does not say. */
export interface TextsOf {
  /** The path of the value; empty: all of a request or an answer. */
  readonly path?: string;
  readonly role: "user" | "assistant";
}

/** Finds all texts of a value. */
export function readTexts(value: object, of: TextsOf): PolicyText[] {
  const texts: PolicyText[] = [];
  withTexts(value, of, (text) => {
    texts.push(text);
    return text.text;
  });
  return texts;
}

/** Returns the value with other texts, and itself where no text differs. Nothing but texts changes. */
export function withTexts<Value extends object>(value: Value, { path = "", role }: TextsOf, visit: Visit): Value {
  return mapMembers(value, { path, role, kind: "other" }, visit) as Value;
}

function mapValue(value: unknown, place: Place, visit: Visit): unknown {
  if (typeof value === "string") {
    const isMedia = value === "" || value.startsWith("data:");
    return isMedia ? value : visit({ path: place.path, role: place.role, kind: place.kind, text: value });
  }
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return isPlain(value) ? mapMembers(value, place, visit) : value;
  let changed: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    const before: unknown = value[index];
    if (typeof before === "number") continue;
    const after = mapValue(before, { ...place, path: `${place.path}[${index}]` }, visit);
    if (after === before) continue;
    changed ??= [...value];
    changed[index] = after;
  }
  return changed ?? value;
}

function mapMembers(value: object, place: Place, visit: Visit): object {
  const { role = place.role } = value as { role?: unknown };
  let changed: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    if (skippedNames.has(name)) continue;
    const before: unknown = value[name as keyof typeof value];
    const path = place.path === "" ? name : `${place.path}.${name}`;
    const inside = { path, role: String(role), kind: kindOf(name, place.kind) };
    const after = mapValue(before, toolNames.has(name) ? { ...inside, role: "tool" } : inside, visit);
    if (after === before) continue;
    changed ??= { ...value } as Record<string, unknown>;
    changed[name] = after;
  }
  return changed ?? value;
}

function kindOf(name: string, outer: PolicyTextKind): PolicyTextKind {
  if (outer === "tool" || toolNames.has(name)) return "tool";
  if (outer === "reasoning" || thoughtNames.has(name)) return "reasoning";
  if (name === "arguments" || name === "custom") return "arguments";
  return writtenNames.has(name) && outer !== "arguments" ? "text" : outer;
}

/** Files and bytes are no records. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
