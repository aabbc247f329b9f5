import { isRecord } from "../lib/json.ts";
import type { Call, ChatRequest, Model, Warn } from "../provider/index.ts";

/** Fields that every translation handles itself. */
const handled = ["model", "messages", "stream", "stream_options", "parallel_tool_calls"];

/**
 * Picks the fields of a chat request that a provider with its own wire format supports. Fields in the row's `omit`, and
 * untranslated fields, are left out and noted; `null` counts as absent.
 *
 * @param translated The fields that have a counterpart there.
 *
 * @example
 * const lost = [];
 * const request = { model: "m", messages: [], top_p: 0.9, seed: 7, stop: null };
 * const fields = pickSupportedFields(request, ["top_p", "stop"], {}, (message) => lost.push(message));
 * [fields, lost.length]; // => [{ model: "m", messages: [], top_p: 0.9 }, 1]
 */
export function pickSupportedFields(
  request: ChatRequest,
  translated: readonly string[],
  { omit = [] }: Model,
  warn: Call<ChatRequest>["warn"],
): ChatRequest {
  const present = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  const supported = present.filter(
    ([field]) => handled.includes(field) || (translated.includes(field) && !omit.includes(field)),
  );
  const lost = present.filter((entry) => !supported.includes(entry)).map(([field]) => field);
  if (lost.length > 0) warn(`Left out, because the model does not take it: ${lost.join(", ")}`, lost);
  return Object.fromEntries(supported) as ChatRequest;
}

/** The members of a chat request's parts that a provider with its own wire format has no place for. */
export interface LostMembers {
  readonly message: readonly string[];
  readonly image?: readonly string[];
  readonly file?: readonly string[];
  readonly function?: readonly string[];
  readonly schema?: readonly string[];
}

/** Values of members that say what happens without them. */
const memberDefaults: ReadonlySet<unknown> = new Set([undefined, null, false, "", "auto"]);

/**
 * Tells of members of messages, parts, tools and the response format that a provider with its own wire format is not sent.
 *
 * @example
 * const lost = [];
 * const messages = [{ role: "user", name: "ann", content: "Hi" }];
 * warnOfLostMembers({ model: "m", messages }, { message: ["name"] }, (_, fields) => lost.push(fields));
 * lost; // => [["messages[0].name"]]
 */
export function warnOfLostMembers(
  { messages, tools, response_format: format }: ChatRequest,
  lost: LostMembers,
  warn: Warn,
): void {
  const fields: string[] = [];
  const note = (holder: unknown, names: readonly string[] = [], path: string) => {
    if (!isRecord(holder)) return;
    for (const name of names) if (!memberDefaults.has(holder[name])) fields.push(`${path}.${name}`);
  };
  messages.forEach((message, index) => {
    const path = `messages[${index}]`;
    note(message, lost.message, path);
    if (!Array.isArray(message.content)) return;
    message.content.forEach((part, place) => {
      if (part.type === "image_url") note(part.image_url, lost.image, `${path}.content[${place}].image_url`);
      else if (part.type === "file") note(part.file, lost.file, `${path}.content[${place}].file`);
    });
  });
  tools?.forEach((tool, index) => {
    note(tool.function, lost.function, `tools[${index}].function`);
  });
  if (format?.type === "json_schema") note(format.json_schema, lost.schema, "response_format.json_schema");
  if (fields.length > 0) warn(`Left out, because the provider has no place for it: ${fields.join(", ")}`, fields);
}

/**
 * Tells of the fields of a request that a provider with its own wire format is not sent.
 *
 * @param handled The fields that are translated, and those that ask nothing of the provider.
 *
 * @example
 * const lost = [];
 * warnOfOthers({ model: "m", style: "vivid", user: null }, ["model"], (_, fields) => lost.push(fields));
 * lost; // => [["style"]]
 */
export function warnOfOthers(request: object, handled: readonly string[], warn: Call<unknown>["warn"]): void {
  const others = Object.entries(request).filter(([field, value]) => value != null && !handled.includes(field));
  const fields = others.map(([field]) => field);
  if (fields.length > 0) warn(`Left out, because the model does not take it: ${fields.join(", ")}`, fields);
}
