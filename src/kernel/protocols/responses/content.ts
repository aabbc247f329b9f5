import type { ContentPart, Message, ResponseItem, ResponsePart } from "../../../contract/index.ts";
import { badRequest } from "../../../sdk/index.ts";

type Content = string | readonly { type: string }[];

/**
 * The parts of a message or of a tool's output as parts of chat. Text that is empty is left out.
 *
 * @throws {GatewayError} `invalid_request` for a part that only one provider could read.
 */
export function toParts(content: Content, path: string): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content
    .map((part, index) => toPart(part as ResponsePart, `${path}[${index}]`))
    .filter((part) => part.type !== "text" || part.text !== "");
}

function toPart(part: ResponsePart, path: string): ContentPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part.text, ...cacheMark(part) };
    case "refusal":
      return { type: "text", text: part.refusal };
    case "input_image": {
      if (!part.image_url) throw ownFile("image_url", path);
      const { image_url: url, detail } = part;
      const isKnown = detail === "low" || detail === "high" || detail === "auto";
      return { type: "image_url", image_url: { url, ...(isKnown && { detail }) }, ...cacheMark(part) };
    }
    case "input_file": {
      if (!part.file_data) throw ownFile("file_data", path);
      const file = { file_data: part.file_data, ...(part.filename && { filename: part.filename }) };
      return { type: "file", file, ...cacheMark(part) };
    }
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    default: {
      const { type } = part as { type: string };
      throw badRequest(`This model takes no ${type} part, expected text, image or file parts`, `${path}.type`);
    }
  }
}

function ownFile(field: string, path: string) {
  return badRequest(
    `This model cannot read a file that is stored elsewhere, expected its content in ${field}`,
    `${path}.${field}`,
  );
}

/** Where the client wants the provider's prompt cache to end. */
function cacheMark(part: object): { cache_control?: { type: "ephemeral" } } {
  return "prompt_cache_breakpoint" in part && part.prompt_cache_breakpoint
    ? { cache_control: { type: "ephemeral" } }
    : {};
}

/** Content that is one plain text as a string, which more providers take than parts. */
export function toContent(parts: ContentPart[]): NonNullable<Message["content"]> {
  const [only] = parts;
  if (only === undefined) return "";
  return parts.length === 1 && only.type === "text" && !("cache_control" in only) ? only.text : parts;
}

/** All text of parts, those of other kinds left out. */
export function joinText(parts: readonly ContentPart[], separator: string): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join(separator);
}

/**
 * The input with an id on every item and string content as parts: what is listed as input items, and kept for
 * `previous_response_id` and `item_reference`.
 */
export function toStoredItems(input: readonly ResponseItem[], responseId: string): ResponseItem[] {
  const suffix = responseId.slice(responseId.indexOf("_") + 1);
  return input.map((item, index) => {
    const isMessage = "role" in item && "content" in item && (item.type ?? "message") === "message";
    const id = item.id ?? `${isMessage ? "msg" : "item"}_${suffix}_in${index}`;
    if (!isMessage) return { ...item, id };
    const type = item.role === "assistant" ? ("output_text" as const) : ("input_text" as const);
    const { content } = item as { content: Content };
    const parts = typeof content === "string" ? [{ type, text: content, ...outputFields(type) }] : content;
    return { ...item, type: "message", status: "completed", id, content: parts } as ResponseItem;
  });
}

function outputFields(type: string): object {
  return type === "output_text" ? { annotations: [], logprobs: [] } : {};
}
