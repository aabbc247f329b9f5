import { createHmac } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** What an authenticator on a phone shows for such an address now (RFC 6238), by no code of ours or better-auth's. */
export function codeOf(address: string, now = Date.now()): string {
  const { searchParams } = new URL(address);
  const period = Number(searchParams.get("period") ?? "30");
  const digits = Number(searchParams.get("digits") ?? "6");
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 1000 / period)));
  const hmac = createHmac("sha1", fromBase32(searchParams.get("secret") ?? ""))
    .update(counter)
    .digest();
  const offset = (hmac.at(-1) as number) & 15;
  return String((hmac.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 10 ** digits).padStart(digits, "0");
}

function fromBase32(text: string): Buffer {
  const bits = [...text.replaceAll("=", "")]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
