import { badRequest, type ContentPart, isRecord, type Message, readDataUrl } from "modelgate/plugin";
import type { Block } from "./wire.ts";

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Content as blocks. Blank text is left out, because the provider refuses it. */
export function toBlocks(content: Message["content"], path: string, takes: "text" | "media"): Block[] {
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts
    .map((part, index) => ({ ...toBlock(part, `${path}[${index}]`, takes), ...cacheMark(part) }))
    .filter((block) => block.text?.trim() !== "");
}

/** A client's cache mark, as the five-minute kind: an hour's write costs more than the price says. */
export function cacheMark(holder: Record<string, unknown>): Pick<Block, "cache_control"> {
  return isRecord(holder.cache_control) ? { cache_control: { type: "ephemeral" } } : {};
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
