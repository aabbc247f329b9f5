import { badRequest, type ContentPart, type DataUrl, isRecord, readMedia } from "modelgate/plugin";
import type { Part } from "./wire.ts";

/** https://ai.google.dev/gemini-api/docs/image-understanding and /audio, each under "Supported formats". */
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const audioTypes = ["audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];
const fileTypes = ["application/pdf", "text/plain", ...imageTypes, ...audioTypes];

/** Pictures that were fetched, by their addresses. */
export type Fetched = Pick<ReadonlyMap<string, DataUrl>, "get">;

/** A part of a message's content. Empty text is nothing: the provider refuses it. */
export function toPart(part: ContentPart, fetched: Fetched, path: string): Part | undefined {
  if (part.type === "text") return part.text === "" ? undefined : { text: part.text };
  if (part.type === "refusal") return part.refusal === "" ? undefined : { text: part.refusal };
  const { mediaType, base64 } = toMedia(part, fetched, path);
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

function toMedia(part: Exclude<ContentPart, { text: string } | { refusal: string }>, fetched: Fetched, path: string) {
  if (part.type === "image_url") {
    const { url } = part.image_url;
    return readMedia(fetched.get(url) ?? url, imageTypes, `${path}.image_url.url`);
  }
  if (part.type === "input_audio") {
    const { data, format } = part.input_audio;
    return readMedia(`data:audio/${format};base64,${data}`, audioTypes, `${path}.input_audio`);
  }
  const data = isRecord(part.file) ? part.file.file_data : undefined;
  if (typeof data === "string") return readMedia(data, fileTypes, `${path}.file.file_data`);
  throw badRequest("Files are read only when they are sent along, expected file_data", `${path}.file`);
}
