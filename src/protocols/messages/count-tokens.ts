import { isRecord } from "../../lib/json.ts";
import type { MessagesCountRequest } from "./schema.ts";

/** What a model reads beside text: role and separators of a message, a picture at the most, a page of a document. */
const messageTokens = 6;
const imageTokens = 1_600;
const pageTokens = 2_000;
/** About what one page of a PDF has in base64. */
const pageCharacters = 70_000;

/** What is left out of a block's JSON: it is not read by the model, or counted apart. */
const unread = new Set(["type", "id", "tool_use_id", "signature", "cache_control", "data", "encrypted_content"]);

/**
 * Counts the tokens of a request for a model without a counter of its own. It is an estimate; nothing is refused.
 *
 * @param count Counts the tokens of a text.
 */
export async function countInputTokens(
  { system, tools, messages, output_config: config }: MessagesCountRequest,
  count: (text: string) => Promise<number>,
): Promise<{ input_tokens: number }> {
  const texts: string[] = [];
  let otherTokens = 0;
  const add = (value: unknown): void => {
    if (typeof value === "string") texts.push(value);
    else if (Array.isArray(value)) for (const member of value) add(member);
    else if (isRecord(value)) {
      const { type, source, input } = value;
      if (type === "image") otherTokens += imageTokens;
      else if (type === "document" && isRecord(source) && source.type !== "text" && source.type !== "content") {
        const characters = typeof source.data === "string" ? source.data.length : pageCharacters;
        otherTokens += pageTokens * Math.ceil(characters / pageCharacters);
      } else if (type === "text" && typeof value.data === "string") texts.push(value.data);
      else if (type === "tool_use")
        texts.push((typeof value.name === "string" ? value.name : "") + JSON.stringify(input ?? {}));
      else for (const [name, member] of Object.entries(value)) if (!unread.has(name)) add(member);
    }
  };
  add(system);
  for (const { content } of messages) {
    otherTokens += messageTokens;
    add(content);
  }
  for (const { cache_control: _, ...tool } of tools ?? []) texts.push(JSON.stringify(tool));
  if (config?.format?.schema) texts.push(JSON.stringify(config.format.schema));
  return { input_tokens: (await count(texts.join("\n"))) + otherTokens };
}
