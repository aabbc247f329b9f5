import { type ByteReader, countMarks, readTag } from "./byte-reader.ts";
import { getOpusPacketMs } from "./opus.ts";
import type { MeasuredLength } from "./wav.ts";

/** 512 kbit/s, the highest bitrate of Opus and Vorbis for one channel. */
const oggBytesPerMs = 64;
const headBytes = 27;
/** The largest page: its head, its table and 255 segments of 255 bytes. */
const pageBytesMax = headBytes + 255 + 255 * 255;
const windowBytes = 1024 * 1024;
const pageMark = Uint8Array.from([0x4f, 0x67, 0x67, 0x53]);

/** A logical stream of a file. */
interface Stream {
  /** Duration of the packet that begins with these bytes. */
  packetMs(first: number | undefined, second: number | undefined): number;
  readonly channels: number;
  /** Milliseconds up to a position that a page names. */
  msAt(position: number): number;
  isInPacket: boolean;
  ms: number;
  /** Length by the position that the last page names. */
  saidMs: number | undefined;
}

/**
 * Measures an Ogg file of Opus or Vorbis by its packets: a packet of silence has one byte. The positions in its pages
 * are claims, which can only raise the length.
 *
 * @returns `undefined` for other contents. The length has no bound if a page is broken, there are too many pages to
 * count, or one page is inside another: a decoder that refuses the outer page by its checksum plays the inner pages.
 */
export async function measureOgg(reader: ByteReader): Promise<MeasuredLength | undefined> {
  const streams = new Map<number, Stream>();
  let isCounted = true;
  let pages = 0;
  let window = new Uint8Array(0);
  let base = 0;
  for (let at = 0; at < reader.size; ) {
    if (at + Math.min(pageBytesMax, reader.size - at) > base + window.length) {
      window = await reader.window(at, windowBytes);
      base = at;
    }
    const page = new DataView(window.buffer, at - base);
    const segments = page.byteLength < headBytes ? 0 : page.getUint8(26);
    if (!reader.visit() || page.byteLength < headBytes + segments || readTag(page) !== "OggS") {
      isCounted = false;
      break;
    }
    pages++;
    const serial = page.getUint32(14, true);
    if (page.getUint8(5) & 2) {
      const opened = openStream(new DataView(window.buffer, Math.min(window.length, at - base + headBytes + segments)));
      if (opened === undefined) return undefined;
      const before = streams.get(serial);
      streams.set(serial, { ...opened, ms: before?.ms ?? 0, saidMs: before?.saidMs });
    }
    const stream = streams.get(serial);
    if (stream === undefined) {
      isCounted = false;
      break;
    }
    at += countPackets(page, segments, stream);
    const position = Number(page.getBigInt64(6, true));
    if (position >= 0) stream.saidMs = Math.max(stream.saidMs ?? 0, stream.msAt(position));
  }
  const all = [...streams.values()];
  if (all.length === 0) return undefined;
  isCounted &&= (await countMarks(reader, pageMark)) === pages;
  const msMax = all.reduce((sum, { ms }) => sum + ms, 0);
  const declaredMs = Math.max(...all.map(({ saidMs = 0 }) => saidMs));
  const channels = Math.max(...all.map((stream) => stream.channels));
  return {
    ms: declaredMs > 0 ? declaredMs : isCounted ? msMax : undefined,
    ...(isCounted && { msMax }),
    bytesPerMsMax: oggBytesPerMs * Math.max(1, channels),
  };
}

/** The stream that its first packet opens; `undefined` for one of another codec. */
function openStream(packet: DataView): Stream | undefined {
  const base = { isInPacket: false, ms: 0, saidMs: undefined };
  if (packet.byteLength >= 12 && readTag(packet) === "Opus" && readTag(packet, 4) === "Head") {
    const skipped = packet.getUint16(10, true);
    const msAt = (position: number) => Math.max(0, position - skipped) / 48;
    return { ...base, packetMs: getOpusPacketMs, channels: packet.getUint8(9), msAt };
  }
  if (packet.byteLength >= 29 && packet.getUint8(0) === 1 && readTag(packet, 1) === "vorb") {
    const rate = packet.getUint32(12, true);
    if (rate === 0) return undefined;
    // A packet plays at most half of a long block.
    const packetMs = ((2 ** (packet.getUint8(28) >> 4) / 2) * 1000) / rate;
    return {
      ...base,
      packetMs: () => packetMs,
      channels: packet.getUint8(11),
      msAt: (position) => (position * 1000) / rate,
    };
  }
  return undefined;
}

/** Counts the packets that begin in a page. Returns the bytes of the page. */
function countPackets(page: DataView, segments: number, stream: Stream): number {
  let at = headBytes + segments;
  // A page that does not say that it continues a packet begins a new one.
  let isInPacket = stream.isInPacket && (page.getUint8(5) & 1) === 1;
  for (let segment = 0; segment < segments; segment++) {
    const bytes = page.getUint8(headBytes + segment);
    if (!isInPacket) {
      const first = bytes > 0 && at < page.byteLength ? page.getUint8(at) : undefined;
      const second = bytes > 1 && at + 1 < page.byteLength ? page.getUint8(at + 1) : undefined;
      stream.ms += stream.packetMs(first, second);
    }
    isInPacket = bytes === 255;
    at += bytes;
  }
  stream.isInPacket = isInPacket;
  return at;
}
