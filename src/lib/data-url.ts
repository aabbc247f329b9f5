import { Buffer, isUtf8 } from "node:buffer";
import { badRequest, GatewayError } from "../contract/index.ts";
import { toBase64 } from "./base64.ts";
import { readMediaType } from "./media-type.ts";

/** The parts of a `data:` URL. */
export interface DataUrl {
  /** Lower case, without parameters: `image/png`. */
  mediaType: string;
  base64: string;
}

/**
 * Reads a `data:` URL, as clients send images in a message.
 *
 * @param param Request field that contains the URL, for the error.
 * @returns `undefined` when the text is no `data:` URL (an https address, most likely).
 * @throws {GatewayError} `invalid_request` when it is one, but malformed or empty.
 *
 * @example
 * readDataUrl("data:image/png;base64,aGk="); // => { mediaType: "image/png", base64: "aGk=" }
 * readDataUrl("https://example.com/a.png"); // => undefined
 */
export function readDataUrl(url: string, param?: string): DataUrl | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(",");
  const head = comma === -1 ? "" : url.slice(5, comma);
  const [type = "", ...parameters] = head.split(";").map((part) => part.trim().toLowerCase());
  if (comma === -1 || !/^[\w.+-]+\/[\w.+-]+$/.test(type)) {
    throw malformed("expected data:<media type>;base64,<data>", param);
  }
  const body = url.slice(comma + 1);
  if (body === "") throw malformed("it holds no data", param);
  if (!parameters.includes("base64")) return { mediaType: type, base64: percentToBase64(body, param) };
  const padding = body.endsWith("==") ? 2 : body.endsWith("=") ? 1 : 0;
  if ((body.length - padding) % 4 === 1 || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) {
    throw malformed("its data is not base64", param);
  }
  return { mediaType: type, base64: body };
}

/**
 * Reads an image, audio or a file that a client sent along, and checks that the model takes its type: that of its first bytes,
 * where they tell one.
 *
 * @param source A `data:` URL, or what was fetched from an address.
 * @param mediaTypes Types that the model takes; two names of one type are both read.
 * @param param Request field that contains the URL, for the error.
 * @throws {GatewayError} `invalid_request` when it is not a data URL, malformed, or of another type.
 *
 * @example
 * readMedia("data:image/png;base64,aGk=", ["image/png"], "messages[0].content[1]"); // => { mediaType: "image/png", base64: "aGk=" }
 */
export function readMedia(source: string | DataUrl, mediaTypes: readonly string[], param: string): DataUrl {
  const url = typeof source === "string" ? readDataUrl(source, param) : source;
  if (url === undefined) throw badRequest("Cannot read the URL, expected an https or a data URL", param);
  const mediaType = readMediaType(url.mediaType, url.base64);
  if (mediaTypes.includes(mediaType)) return { mediaType, base64: url.base64 };
  throw badRequest(`The model does not take ${mediaType}, expected one of ${mediaTypes.join(", ")}`, param);
}

const textDataUrl = /^data:text\/[\w.+-]+(;[^,]*)?,/i;

/**
 * The bytes of the text that a data URL holds, in UTF-8; `undefined` for another file. Its media type is no proof: a provider may go by the bytes or
 * the name, and a PDF or an archive unfolds to far more text than its bytes.
 *
 * @example
 * readTextUrl("data:text/plain;base64,aGk=")?.toString(); // => "hi"
 */
export function readTextUrl(url: string): Buffer | undefined {
  const head = textDataUrl.exec(url);
  if (head === null) return undefined;
  const data = url.slice(head[0].length);
  const isBase64 = head[1]?.toLowerCase().endsWith(";base64") === true;
  const bytes = isBase64 ? Buffer.from(data, "base64") : decodePercentBytes(data);
  if (bytes === undefined || (isBase64 && !isUtf8(bytes))) return undefined;
  return bytes.includes(0) || bytes.includes("%PDF-") ? undefined : bytes;
}

const percent = 37;
const noHex = 255;
/** The value of a hex digit by its byte. */
const hexValues = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? noHex : value;
});

/**
 * Decodes percent-encoded text to bytes; undefined if it is malformed. Works on bytes, because the platform's decoder
 * takes several times as long.
 */
function decodePercentBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "utf8");
  let length = bytes.indexOf(percent);
  if (length === -1) return bytes;
  /** Has a bit above the low four as soon as one digit was not hexadecimal. */
  let digits = 0;
  for (let at = length; at < bytes.length; at++) {
    let byte = bytes[at] as number;
    if (byte === percent) {
      const high = hexValues[bytes[at + 1] ?? 0] as number;
      const low = hexValues[bytes[at + 2] ?? 0] as number;
      digits |= high | low;
      byte = (high << 4) | low;
      at += 2;
    }
    bytes[length++] = byte;
  }
  const decoded = bytes.subarray(0, length);
  return digits < 16 && isUtf8(decoded) ? decoded : undefined;
}

function percentToBase64(body: string, param: string | undefined): string {
  const bytes = decodePercentBytes(body);
  if (bytes === undefined) throw malformed("its data is neither base64 nor percent-encoded text", param);
  return toBase64(bytes);
}

function malformed(reason: string, param: string | undefined): GatewayError {
  return new GatewayError("invalid_request", `Cannot read the data URL: ${reason}`, { param });
}
