import { type ByteReader, countMarks } from "./byte-reader.ts";
import { getOpusPacketMs } from "./opus.ts";
import type { MeasuredLength } from "./wav.ts";

/** WebM may hold video, of at most 100 Mbit/s. */
const videoBytesPerMs = 12_500;
const windowBytes = 1024 * 1024;
/** More than the head of an element and the beginning of a block in it. */
const headBytesMax = 64;
const clusterMark = Uint8Array.from([0x1f, 0x43, 0xb6, 0x75]);

const ids = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  codecId: 0x86,
  contentEncodings: 0x6d80,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
} as const;
/** Elements whose content is read. All others are passed over, as a decoder does. */
const parents: ReadonlySet<number> = new Set([
  ids.segment,
  ids.info,
  ids.tracks,
  ids.trackEntry,
  ids.cluster,
  ids.blockGroup,
]);

/**
 * Measures a WebM or Matroska file. If all its tracks are Opus, as browsers record, its packets are counted. The length
 * has no bound in these cases:
 *
 * - A track has another codec, whose packets can hold any number of frames.
 * - An element reaches beyond its parent.
 * - A cluster is in a place where none is read: after an error, a decoder continues at the next cluster.
 *
 * The duration and the timestamps are claims, which can only raise the length.
 * https://www.rfc-editor.org/rfc/rfc9559
 */
export async function measureMatroska(reader: ByteReader): Promise<MeasuredLength> {
  let view = new DataView(new ArrayBuffer(0));
  let [base, at] = [0, 0];
  let [scaleNs, duration, clusterTime, lastTime] = [1_000_000, 0, 0, 0];
  let msMax: number | undefined = 0;
  let hasTracks = false;
  let clusters = 0;
  /** Where the elements end that the current place is in. */
  const ends = [reader.size];
  while (at < reader.size) {
    if (at + Math.min(headBytesMax, reader.size - at) > base + view.byteLength) {
      view = new DataView((await reader.window(at, windowBytes)).buffer);
      base = at;
    }
    const id = readVint(view, at - base, false);
    const size = id && readVint(view, at - base + id.bytes, true);
    if (id === undefined || size === undefined || !reader.visit()) {
      msMax = undefined;
      break;
    }
    const start = at - base + id.bytes + size.bytes;
    const { value } = size;
    const isParent = parents.has(id.value);
    const isOpen = isParent && value === 2 ** (7 * size.bytes) - 1;
    while (ends.length > 1 && at >= (ends.at(-1) as number)) ends.pop();
    if (!isOpen && base + start + value > (ends.at(-1) as number)) {
      msMax = undefined;
      break;
    }
    if (isParent && !isOpen) ends.push(base + start + value);
    if (id.value === ids.cluster) clusters++;
    if (id.value === ids.timestampScale) scaleNs = readUint(view, start, value) || scaleNs;
    else if (id.value === ids.duration) duration = readFloat(view, start, value);
    else if (id.value === ids.timestamp) clusterTime = readUint(view, start, value);
    else if (id.value === ids.codecId) {
      hasTracks = true;
      if (!isOpus(view, start, value)) msMax = undefined;
    } else if (id.value === ids.contentEncodings) {
      // A decoder that puts bytes before each packet or unpacks it makes more of it than the block has.
      msMax = undefined;
    } else if (id.value === ids.simpleBlock || id.value === ids.block) {
      const block = readBlock(view, start, value);
      if (msMax !== undefined) msMax = hasTracks && block !== undefined ? msMax + block.ms : undefined;
      if (block !== undefined) lastTime = Math.max(lastTime, clusterTime + block.time);
    }
    // An element without a size, as recorders write it, ends where the next one of its level begins.
    at = base + start + (isParent ? 0 : value);
  }
  if (msMax !== undefined && (await countMarks(reader, clusterMark)) !== clusters) msMax = undefined;
  const ms = (Math.max(duration, lastTime) * scaleNs) / 1_000_000;
  return {
    ms: ms > 0 ? ms : undefined,
    ...(hasTracks && msMax !== undefined && { msMax }),
    bytesPerMsMax: videoBytesPerMs,
  };
}

/** A number of variable length: an id keeps the bit that marks its length. */
function readVint(view: DataView, at: number, isSize: boolean) {
  const first = at < view.byteLength ? view.getUint8(at) : 0;
  if (first === 0) return undefined;
  const bytes = Math.clz32(first) - 23;
  if (at + bytes > view.byteLength) return undefined;
  const value = (isSize ? first & (0xff >> bytes) : first) * 2 ** (8 * (bytes - 1)) + readUint(view, at + 1, bytes - 1);
  return { bytes, value };
}

function readUint(view: DataView, at: number, bytes: number): number {
  if (bytes > 8 || at + bytes > view.byteLength) return 0;
  let value = 0;
  for (let index = 0; index < bytes; index++) value = value * 256 + view.getUint8(at + index);
  return value;
}

function readFloat(view: DataView, at: number, bytes: number): number {
  if ((bytes !== 4 && bytes !== 8) || at + bytes > view.byteLength) return 0;
  return bytes === 4 ? view.getFloat32(at) : view.getFloat64(at);
}

const opusName = "A_OPUS";

function isOpus(view: DataView, at: number, bytes: number): boolean {
  if (bytes < opusName.length || at + opusName.length > view.byteLength) return false;
  for (let index = 0; index < opusName.length; index++) {
    if (view.getUint8(at + index) !== opusName.charCodeAt(index)) return false;
  }
  return true;
}

/** Duration of the packets of a block, and its time in its cluster; `undefined` for one that is cut off. */
function readBlock(view: DataView, at: number, bytes: number): { ms: number; time: number } | undefined {
  const track = readVint(view, at, true);
  if (track === undefined || at + track.bytes + 3 > view.byteLength) return undefined;
  const head = at + track.bytes;
  const byteAt = (place: number) => (place < Math.min(at + bytes, view.byteLength) ? view.getUint8(place) : undefined);
  const time = view.getInt16(head);
  const lacing = (view.getUint8(head + 2) >> 1) & 3;
  if (lacing === 0) {
    return { ms: getOpusPacketMs(byteAt(head + 3), byteAt(head + 4)), time };
  }
  // Several packets; each may have the maximum length.
  return { ms: ((byteAt(head + 3) ?? 255) + 1) * getOpusPacketMs(undefined, undefined), time };
}
