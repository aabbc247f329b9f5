/** The kinds of blocks of a prompt, in the order of providers' caches. */
export const blockKinds = ["tools", "system", "messages"] as const;
export type BlockKind = (typeof blockKinds)[number];

/** Blocks of a turn that are kept; a longer prompt is compared by its first ones. */
export const blocksMax = 1000;
/** Settings that are compared. */
export const settingsMax = 8;

/** The last turn of a conversation, as hashes. */
export interface Turn {
  /** When its provider began to answer, milliseconds since 1970. */
  readonly at: number;
  /** The number of the client's protocol. */
  readonly protocol: number;
  /** Tokens of its prompt by the provider's count, and how many of them the provider's cache has since then. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** The gateway's estimate of the whole prompt, which scales the estimates of single blocks. */
  readonly estimatedTokens: number;
  /** How long the provider keeps it, in seconds. */
  readonly lifetimeSeconds: number;
  readonly model: bigint;
  /** Plugin, model and provider key. */
  readonly route: bigint;
  readonly settings: BigUint64Array;
  readonly hashes: BigUint64Array;
  readonly tokens: Uint32Array;
  readonly kinds: Uint8Array;
}

const headBytes = 8 + 8 + 8 + 4 * 4 + 4;
const longBytes = BigUint64Array.BYTES_PER_ELEMENT;
const wholeBytes = Uint32Array.BYTES_PER_ELEMENT;

/** A turn as bytes: a head, then the settings and the blocks column by column. */
export function encodeTurn(turn: Turn): Uint8Array {
  const { settings, hashes, tokens, kinds } = turn;
  const bytes = new Uint8Array(
    headBytes + longBytes * (settings.length + hashes.length) + (wholeBytes + 1) * hashes.length,
  );
  const view = new DataView(bytes.buffer);
  view.setFloat64(0, turn.at, true);
  view.setBigUint64(8, turn.model, true);
  view.setBigUint64(16, turn.route, true);
  view.setUint32(24, turn.promptTokens, true);
  view.setUint32(28, turn.cachedTokens, true);
  view.setUint32(32, turn.estimatedTokens, true);
  view.setUint32(36, turn.lifetimeSeconds, true);
  view.setUint16(40, hashes.length, true);
  view.setUint8(42, settings.length);
  view.setUint8(43, turn.protocol);
  let at = headBytes;
  for (const column of [settings, hashes, tokens, kinds]) {
    bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), at);
    at += column.byteLength;
  }
  return bytes;
}

/** The turn of these bytes; `undefined` for others. */
export function decodeTurn(bytes: Uint8Array): Turn | undefined {
  if (bytes.byteLength < headBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [blocks, settings] = [view.getUint16(40, true), view.getUint8(42)];
  const expected = headBytes + longBytes * (settings + blocks) + (wholeBytes + 1) * blocks;
  if (bytes.byteLength !== expected) return undefined;
  // A copy, because columns of eight bytes must begin at a multiple of eight.
  const columns = new Uint8Array(bytes.subarray(headBytes));
  const hashesAt = longBytes * settings;
  const tokensAt = hashesAt + longBytes * blocks;
  return {
    at: view.getFloat64(0, true),
    model: view.getBigUint64(8, true),
    route: view.getBigUint64(16, true),
    promptTokens: view.getUint32(24, true),
    cachedTokens: view.getUint32(28, true),
    estimatedTokens: view.getUint32(32, true),
    lifetimeSeconds: view.getUint32(36, true),
    protocol: view.getUint8(43),
    settings: new BigUint64Array(columns.buffer, 0, settings),
    hashes: new BigUint64Array(columns.buffer, hashesAt, blocks),
    tokens: new Uint32Array(columns.buffer, tokensAt, blocks),
    kinds: new Uint8Array(columns.buffer, tokensAt + wholeBytes * blocks, blocks),
  };
}
