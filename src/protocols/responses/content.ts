import { badRequest, type ContentPart, getOwn, type Message, quoteValue } from "../../contract/index.ts";
import type { MessageItem, ResponseItem, ResponsePart } from "./schema.ts";

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
      throw badRequest(
        `This model takes no part of type ${quoteValue(type)}, expected text, image or file parts`,
        `${path}.type`,
      );
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

/** Whether an item is a message, also without its `type`. */
export function isMessage(item: ResponseItem): item is MessageItem {
  return (item.type === undefined || item.type === null || item.type === "message") && "role" in item;
}

/** How the ids of items begin; those of messages with `msg`. */
const idPrefixes: Readonly<Record<string, string>> = {
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  reasoning: "rs",
};

/**
 * The input with an id on every item and string content as parts: what is listed as input items, and kept for
 * `previous_response_id` and `item_reference`.
 */
export function toStoredItems(input: readonly ResponseItem[], responseId: string): ResponseItem[] {
  const suffix = responseId.slice(responseId.indexOf("_") + 1);
  return input.map((item, index): ResponseItem => {
    const prefix = isMessage(item) ? "msg" : getOwn(idPrefixes, item.type ?? "");
    const id = item.id ?? `${prefix ?? "item"}_${suffix}_in${index}`;
    if (!isMessage(item)) return Object.assign(prefix === undefined ? {} : { status: "completed" }, item, { id });
    const message = { status: "completed", ...item, type: "message" as const, id };
    return typeof item.content === "string" ? { ...message, content: [toTextPart(item.role, item.content)] } : message;
  });
}

/** The response whose input has the item of this id, if {@link toStoredItems} made the id. */
export function getResponseOfInput(itemId: string): string | undefined {
  const suffix = /^[a-z]{1,8}_(\w{1,100})_in\d{1,5}$/.exec(itemId)?.[1];
  return suffix === undefined ? undefined : `resp_${suffix}`;
}

function toTextPart(role: MessageItem["role"], text: string): ResponsePart {
  if (role !== "assistant") return { type: "input_text", text };
  return Object.assign({ type: "output_text" as const, text }, { annotations: [], logprobs: [] });
}
