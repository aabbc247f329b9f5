import { Buffer } from "node:buffer";

/**
 * Lists the forms that a secret may have within a text: plain, in hexadecimal digits, and in base64. Its characters in
 * base64 depend on the number of bytes before it (`user:key` of Basic authentication). A character that base64 shares
 * with neighbouring bytes is left out.
 *
 * @example
 * encodedForms("key").includes("6b6579"); // => true
 */
export function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const forms = new Set([secret, hex, hex.toUpperCase()]);
  for (const before of [0, 1, 2]) {
    const base64 = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const own = base64.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    forms.add(own).add(own.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return [...forms];
}
