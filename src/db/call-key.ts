/**
 * Ids of calls in the database are bytes: 16 of an id that the gateway made (`req_` and 32 hexadecimal digits, of which the
 * first 12 are its time), followed by what stands behind it in the row of a fallback, such as `-2`. Any other text is kept
 * as its characters. Time never begins with the byte of a printable character, so that one is told from the other, and
 * both sort as their texts do.
 */
const madeId = /^req_([01][0-9a-f]{31})/;
const madeLength = "req_".length + 32;

/** The bytes of an id. */
export function toCallKey(id: string): Buffer {
  if (!madeId.test(id)) return Buffer.from(id);
  const bytes = Buffer.from(id.slice("req_".length, madeLength), "hex");
  return id.length === madeLength ? bytes : Buffer.concat([bytes, Buffer.from(id.slice(madeLength))]);
}

/** The id of these bytes. */
export function fromCallKey(key: Uint8Array): string {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  if ((bytes[0] as number) >= 0x20) return bytes.toString();
  return `req_${bytes.toString("hex", 0, 16)}${bytes.toString("utf8", 16)}`;
}

/** The first bytes of ids of this millisecond: those of earlier ones sort before it. */
export function callKeyOfTime(ms: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1), 0, 6);
  return bytes;
}

/** The id as text in SQL of each engine, of the column that has its bytes. */
export const callIdText = {
  sqlite: (column: string) =>
    `case when ${column} < x'20' then 'req_' || lower(hex(substr(${column}, 1, 16))) || cast(substr(${column}, 17) as text)
    else cast(${column} as text) end`,
  postgres: (column: string) =>
    `case when ${column} < '\\x20' then 'req_' || encode(substr(${column}, 1, 16), 'hex') ||
    convert_from(substr(${column}, 17), 'UTF8') else convert_from(${column}, 'UTF8') end`,
} as const;
