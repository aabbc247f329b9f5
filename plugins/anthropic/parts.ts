import { type ContentPart, GatewayError, isRecord, type Message, type Model, readDataUrl } from "modelgate/plugin";
import type { Block } from "./wire.ts";

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** What content may hold, and for how long the model's caches may keep it. */
export interface Takes {
  kinds: "text" | "media";
  hourly: boolean;
}

/** Content as blocks. Blank text is left out, because the provider refuses it. */
export function toBlocks(content: Message["content"], path: string, { kinds, hourly }: Takes): Block[] {
  const parts: ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts
    .map((part, index) => ({ ...toBlock(part, `${path}[${index}]`, kinds), ...cacheMark(part, hourly) }))
    .filter((block) => block.text?.trim() !== "");
}

/** Whether a model's price tells what an hour's cache write costs, which is more than five minutes'. */
export function cachesHourly({ options }: Model): boolean {
  return options?.hourlyCache === true;
}

/** A client's cache mark. Its lifetime is kept where `hourly`, and is five minutes elsewhere. */
export function cacheMark(holder: object, hourly: boolean): Pick<Block, "cache_control"> {
  const { cache_control: mark }: { cache_control?: unknown } = holder;
  if (!isRecord(mark)) return {};
  const { ttl } = mark;
  return { cache_control: { type: "ephemeral", ...(hourly && (ttl === "5m" || ttl === "1h") && { ttl }) } };
}

export function badRequest(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
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
