import { Buffer } from "node:buffer";

/** As many bytes as the longest signature needs. */
const headBytes = 12;
/** First bytes of the types that models read, as Latin-1. A dot stands for any byte. */
const signatures: readonly (readonly [start: RegExp, mediaType: string])[] = [
  [/^\x89PNG\r\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF....WEBP/s, "image/webp"],
  [/^....ftyphei[cx]/s, "image/heic"],
  [/^%PDF-/, "application/pdf"],
  [/^RIFF....WAVE/s, "audio/wav"],
  [/^FORM....AIF[FC]/s, "audio/aiff"],
  [/^fLaC/, "audio/flac"],
  [/^OggS/, "audio/ogg"],
];

/**
 * Detects the type of an image, a document or audio by its first bytes. Providers do the same, and refuse a file whose
 * label says otherwise; programs take the label from a file's name, or from a server that calls every image a JPEG.
 *
 * @param content The bytes, or their base64.
 * @returns `undefined` for bytes that say nothing, such as text.
 *
 * @example
 * detectMediaType("iVBORw0KGgo="); // => "image/png"
 * detectMediaType("aGk="); // => undefined
 */
export function detectMediaType(content: string | Uint8Array): string | undefined {
  const head =
    typeof content === "string"
      ? Buffer.from(content.slice(0, (headBytes / 3) * 4), "base64")
      : Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, headBytes));
  const text = head.toString("latin1");
  return signatures.find(([start]) => start.test(text))?.[1];
}

const synonyms: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "application/x-pdf": "application/pdf",
  "audio/mpeg": "audio/mp3",
  "audio/x-mp3": "audio/mp3",
  "audio/wave": "audio/wav",
  "audio/x-wav": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-aiff": "audio/aiff",
  "audio/x-aac": "audio/aac",
  "audio/x-flac": "audio/flac",
};

/**
 * The type of a file: what its bytes are, else what its label says, by the name that providers use.
 *
 * @example
 * readMediaType("image/jpg", "aGk="); // => "image/jpeg"
 * readMediaType("image/jpeg", "iVBORw0KGgo="); // => "image/png"
 */
export function readMediaType(label: string, content: string | Uint8Array): string {
  return detectMediaType(content) ?? (Object.hasOwn(synonyms, label) ? synonyms[label] : undefined) ?? label;
}
