import { Buffer } from "node:buffer";
import { type ByteReader, readTag } from "./byte-reader.ts";
import type { Measure } from "./wav.ts";

/** MP4 and WebM may hold video, of 100 Mbit/s at the most. */
const videoBytesPerMs = 12_500;
/** 512 kbit/s, the highest bitrate of Opus and Vorbis for one channel. */
const oggBytesPerMs = 64;
/** More than the largest page of Ogg. */
const oggTailBytes = 66 * 1024;

/** The length of an MP4 file by its movie header, or that of its fragments. */
export async function measureMp4(reader: ByteReader): Promise<Measure> {
  const movie = await findBox(reader, "moov", { start: 0, end: reader.size });
  const header = movie && (await findBox(reader, "mvhd", movie));
  const bytesPerMsMax = videoBytesPerMs;
  const isWide = header && (await reader.view(header.start, 1))?.getUint8(0) === 1;
  const times = header && (await reader.view(header.start + (isWide ? 20 : 12), isWide ? 12 : 8));
  if (movie === undefined || times === undefined) return { bytesPerMsMax };
  const fragments = await findBox(reader, "mvex", movie);
  const total = fragments && (await findBox(reader, "mehd", fragments));
  const isWideTotal = total && (await reader.view(total.start, 1))?.getUint8(0) === 1;
  const inFragments = total && (await reader.view(total.start + 4, isWideTotal ? 8 : 4));
  const duration = readTime(times, 4) ?? (inFragments && readTime(inFragments, 0));
  return { ms: duration === undefined ? undefined : (duration * 1000) / times.getUint32(0), bytesPerMsMax };
}

/** A duration up to the end of a view; 0 and "all ones" mean unknown. */
function readTime(view: DataView, at: number): number | undefined {
  const isWide = view.byteLength - at === 8;
  const time = isWide ? Number(view.getBigUint64(at)) : view.getUint32(at);
  return time === 0 || time >= (isWide ? 2 ** 63 : 2 ** 32 - 1) ? undefined : time;
}

interface Extent {
  start: number;
  end: number;
}

/** The content of the first box of a name. */
async function findBox(reader: ByteReader, name: string, { start, end }: Extent): Promise<Extent | undefined> {
  for (let at = start; at + 8 <= end; ) {
    const head = await reader.view(at, 8);
    if (head === undefined) return undefined;
    let [size, headBytes] = [head.getUint32(0), 8];
    if (size === 1) {
      const wide = await reader.view(at + 8, 8);
      if (wide === undefined) return undefined;
      [size, headBytes] = [Number(wide.getBigUint64(0)), 16];
    } else if (size === 0) {
      size = end - at;
    }
    if (size < headBytes) return undefined;
    if (readTag(head, 4) === name) return { start: at + headBytes, end: Math.min(end, at + size) };
    at += size;
  }
  return undefined;
}

const segmentId = 0x18538067;
const infoId = 0x1549a966;
const clusterId = 0x1f43b675;
const [timestampScaleId, durationId] = [0x2ad7b1, 0x4489];

/** The length of a WebM or Matroska file by the `Info` before its first cluster. Recorders often leave it out. */
export async function measureMatroska(reader: ByteReader): Promise<Measure> {
  const bytesPerMsMax = videoBytesPerMs;
  let [scale, duration]: [number, number | undefined] = [1_000_000, undefined];
  let at = 0;
  while (at < reader.size) {
    const id = await readVint(reader, at, false);
    if (id === undefined || id.value === clusterId) break;
    const size = await readVint(reader, at + id.bytes, true);
    if (size === undefined) break;
    const start = at + id.bytes + size.bytes;
    if (id.value === timestampScaleId) scale = (await readUint(reader, start, size.value)) ?? scale;
    if (id.value === durationId) duration = await readFloat(reader, start, size.value);
    at = id.value === segmentId || id.value === infoId ? start : start + size.value;
  }
  return { ms: duration === undefined ? undefined : (duration * scale) / 1_000_000, bytesPerMsMax };
}

/** A number of variable length: an id keeps the bit that marks its length. */
async function readVint(reader: ByteReader, at: number, isSize: boolean) {
  const first = (await reader.view(at, 1))?.getUint8(0);
  if (first === undefined || first === 0) return undefined;
  const bytes = Math.clz32(first) - 23;
  const rest = await readUint(reader, at + 1, bytes - 1);
  if (rest === undefined) return undefined;
  const value = (isSize ? first & (0xff >> bytes) : first) * 2 ** (8 * (bytes - 1)) + rest;
  return { bytes, value };
}

async function readUint(reader: ByteReader, at: number, bytes: number): Promise<number | undefined> {
  if (bytes === 0) return 0;
  const view = bytes > 8 ? undefined : await reader.view(at, bytes);
  if (view === undefined) return undefined;
  let value = 0;
  for (let index = 0; index < bytes; index++) value = value * 256 + view.getUint8(index);
  return value;
}

async function readFloat(reader: ByteReader, at: number, bytes: number): Promise<number | undefined> {
  const view = bytes === 4 || bytes === 8 ? await reader.view(at, bytes) : undefined;
  return bytes === 4 ? view?.getFloat32(0) : view?.getFloat64(0);
}

/** The length of an Ogg file of Opus or Vorbis by the position that its last page names. */
export async function measureOgg(reader: ByteReader): Promise<Measure | undefined> {
  const page = await reader.view(0, 27);
  const headAt = page && 27 + page.getUint8(26);
  const head = headAt && (await reader.view(headAt, 16));
  if (!head) return undefined;
  const isOpus = readTag(head) === "Opus" && readTag(head, 4) === "Head";
  const isVorbis = head.getUint8(0) === 1 && readTag(head, 1) === "vorb";
  if (!isOpus && !isVorbis) return undefined;
  const channels = head.getUint8(isOpus ? 9 : 11);
  const [skipped, rate] = isOpus ? [head.getUint16(10, true), 48_000] : [0, head.getUint32(12, true)];
  const tailStart = Math.max(0, reader.size - oggTailBytes);
  const tail = Buffer.from((await reader.window(tailStart, oggTailBytes)).buffer);
  const last = tail.lastIndexOf("OggS");
  const position = last === -1 || last + 14 > tail.length ? undefined : Number(tail.readBigInt64LE(last + 6));
  const ms = position === undefined || rate === 0 ? undefined : ((position - skipped) * 1000) / rate;
  return { ms, bytesPerMsMax: oggBytesPerMs * Math.max(1, channels) };
}

/** The length of a FLAC file by its stream info. */
export async function measureFlac(reader: ByteReader): Promise<Measure | undefined> {
  const info = await reader.view(18, 8);
  if (info === undefined) return undefined;
  const packed = info.getBigUint64(0);
  const sampleRate = Number(packed >> 44n);
  const channels = Number((packed >> 41n) & 7n) + 1;
  const bits = Number((packed >> 36n) & 31n) + 1;
  const samples = Number(packed & 0xfffffffffn);
  if (sampleRate === 0) return undefined;
  const ms = samples === 0 ? undefined : (samples * 1000) / sampleRate;
  const audioBytes = reader.size - (await skipMetadata(reader));
  return { ms, bytesPerMsMax: (sampleRate * channels * bits) / 8000, audioBytes };
}

/** Where the frames of a FLAC file begin: after its metadata, which may hold a picture. 0 when its end is not found. */
async function skipMetadata(reader: ByteReader): Promise<number> {
  for (let at = 4; ; ) {
    const head = await reader.view(at, 4);
    if (head === undefined) return 0;
    at += 4 + (head.getUint32(0) & 0xffffff);
    if (head.getUint8(0) >= 0x80) return Math.min(at, reader.size);
  }
}
