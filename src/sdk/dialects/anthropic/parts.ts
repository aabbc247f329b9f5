import type { ContentPart, Message } from "../../../contract/index.ts";
import { readDataUrl } from "../../data-url.ts";
import { badRequest } from "../../errors.ts";
import { isRecord } from "../../json.ts";
import type { Block } from "./wire.ts";

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Content as blocks. Blank text is left out, because the provider refuses it. */
export function toBlocks(content: Message["content"], path: string, takes: "text" | "media"): Block[] {
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts
    .map((part, index) => ({ ...toBlock(part, `${path}[${index}]`, takes), ...cacheMark(part) }))
    .filter((block) => block.text?.trim() !== "");
}

/** A client's cache mark, with its lifetime where it asks for an hour. */
export function cacheMark(holder: object): Pick<Block, "cache_control"> {
  const mark = "cache_control" in holder && holder.cache_control;
  if (!isRecord(mark)) return {};
  return { cache_control: mark.ttl === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" } };
}

/** Makes marks those of five minutes, in place: an hour's write costs more, which not every price says. */
export function shortenMarks(blocks: Pick<Block, "cache_control" | "content">[]): void {
  for (const block of blocks) {
    if (block.cache_control !== undefined) block.cache_control = { type: "ephemeral" };
    if (Array.isArray(block.content)) shortenMarks(block.content);
  }
}

function toBlock(part: ContentPart, path: string, takes: "text" | "media"): Block {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "refusal") return { type: "text", text: part.refusal };
  if (takes === "text")
    throw badRequest(`Cannot send ${part.type} here, expected text: user and tool messages take it`, path);
  if (part.type === "image_url") {
    return { type: "image", source: toSource(part.image_url.url, imageTypes, `${path}.image_url.url`) };
  }
  if (part.type === "input_audio")
    throw badRequest("This model takes no sound, expected text, image_url or file parts", path);
  const { file_data: data, filename: name }: Record<string, unknown> = part.file;
  const source = toSource(typeof data === "string" ? data : "", ["application/pdf"], `${path}.file.file_data`);
  return { type: "document", source, title: typeof name === "string" ? name : undefined };
}

function toSource(url: string, mediaTypes: string[], path: string): Record<string, string> {
  const data = readDataUrl(url, path);
  if (data === undefined) {
    if (url.startsWith("https://")) return { type: "url", url };
    throw badRequest("Cannot use this address, expected an https or a data URL", path);
  }
  if (mediaTypes.includes(data.mediaType)) return { type: "base64", media_type: data.mediaType, data: data.base64 };
  throw badRequest(`Cannot use data of type ${data.mediaType}, expected ${mediaTypes.join(", ")}`, path);
}
