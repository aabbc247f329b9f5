import { Buffer } from "node:buffer";
import { UpstreamError } from "../contract/index.ts";

/**
 * Bytes as base64 text with padding.
 *
 * @example
 * toBase64(new Uint8Array([104, 105])); // => "aGk="
 */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/**
 * Reads base64 text, of the standard or the URL alphabet, with or without padding.
 *
 * @throws {RangeError} When the text holds anything else, white space included.
 *
 * @example
 * [...fromBase64("aGk=")]; // => [104, 105]
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  let characters = text.length;
  while (characters > 0 && text.length - characters < 2 && text.charCodeAt(characters - 1) === 61) characters--;
  const length = Math.floor((characters * 3) / 4);
  const buffer = Buffer.alloc(length);
  // The decoder skips unknown characters. Even text that it read to full length can have one in the last group.
  const hasStranger = /[^A-Za-z0-9+/_-]/.test(text.slice(Math.max(0, characters - 4), characters));
  if (characters % 4 === 1 || buffer.write(text, "base64") !== length || hasStranger) {
    throw new RangeError("Cannot read base64: the text holds other characters or is cut; send plain base64");
  }
  return new Uint8Array(buffer.buffer, buffer.byteOffset, length);
}

/**
 * Reads base64 text that a provider answered.
 *
 * @throws {UpstreamError} `bad_response` when it is not.
 *
 * @example
 * [...readBase64("aGk=")]; // => [104, 105]
 */
export function readBase64(text: unknown): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(String(text));
  } catch (cause) {
    throw new UpstreamError("bad_response", "The provider's answer is not base64", { cause });
  }
}

/**
 * Encodes a vector in OpenAI's base64 form: float32, little-endian as on every supported platform. Numbers are rounded
 * to float32.
 *
 * @example
 * floatsToBase64([0.5, -0.25]); // => "AAAAPwAAgL4="
 */
export function floatsToBase64(floats: readonly number[]): string {
  return toBase64(new Uint8Array(Float32Array.from(floats).buffer));
}

/**
 * Reads a vector from OpenAI's base64 form.
 *
 * @throws {RangeError} When the text is not base64, or not a whole number of float32.
 *
 * @example
 * base64ToFloats("AAAAPwAAgL4="); // => [0.5, -0.25]
 */
export function base64ToFloats(text: string): number[] {
  const bytes = fromBase64(text);
  if (bytes.length % 4 !== 0) {
    throw new RangeError(`Cannot read a vector: ${bytes.length} bytes are not a whole number of float32`);
  }
  return Array.from(new Float32Array(bytes.slice().buffer));
}
