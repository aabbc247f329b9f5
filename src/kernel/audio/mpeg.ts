import type { ByteReader } from "./byte-reader.ts";
import type { MeasuredLength } from "./wav.ts";

const windowBytes = 1024 * 1024;
const tagsMax = 8;
/** The most of a file that may be something else than frames, such as a tag at its end. */
const strangeShareMax = 0.05;

const kbits = {
  1: [
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  2: [
    [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;
const sampleRates = [44_100, 48_000, 32_000];
/** 448 kbit/s, the highest bitrate of the three layers. */
const bytesPerMsMax = 56;

/**
 * Measures MPEG audio (MP3 and its older layers) by counting its frames, which takes a few milliseconds for the largest
 * file. A Xing or VBRI header is not read, because it can be forged.
 *
 * @returns `undefined` if more than a little of the file is not frames, or if the file does not begin with frames: it
 * may be of another format, and a decoder would not look for frames after its beginning.
 */
export async function measureMpeg(reader: ByteReader): Promise<MeasuredLength | undefined> {
  const start = await skipTags(reader);
  if (start === undefined || !(await beginsWithFrame(reader, start))) return undefined;
  const strangeMax = (reader.size - start) * strangeShareMax;
  let [at, ms, strange] = [start, 0, 0];
  while (at + 4 <= reader.size) {
    const bytes = await reader.window(at, windowBytes);
    const base = at;
    // The last header of a window may be cut off: the next window begins with it.
    while (at - base + 4 <= bytes.length) {
      if (!reader.visit()) return undefined;
      const frame = readFrame(bytes, at - base);
      if (frame === undefined) {
        const next = bytes.indexOf(0xff, at - base + 1);
        const skipped = (next === -1 ? bytes.length : next) - (at - base);
        strange += skipped;
        at += skipped;
        ms += readFreeFrame(bytes, at - skipped - base);
        if (strange > strangeMax) return undefined;
      } else {
        ms += frame.ms;
        at += frame.bytes;
      }
    }
  }
  return ms === 0 ? undefined : { ms, msMax: ms, bytesPerMsMax, audioBytes: reader.size - start - strange };
}

/** Zeros that fill up a tag are passed over. */
async function beginsWithFrame(reader: ByteReader, start: number): Promise<boolean> {
  const bytes = await reader.window(start, windowBytes);
  const at = bytes.findIndex((byte) => byte !== 0);
  return at !== -1 && readHeader(bytes, at) !== undefined;
}

/**
 * Finds where the frames begin: after the ID3v2 tags. A file has one or two of them.
 *
 * @returns `undefined` after bytes that only some decoders take for a tag.
 */
async function skipTags(reader: ByteReader): Promise<number | undefined> {
  let at = 0;
  for (let tags = 0; tags < tagsMax; tags++) {
    const tag = await reader.view(at, 10);
    if (tag === undefined || tag.getUint16(0) !== 0x4944 || tag.getUint8(2) !== 0x33) return at;
    const hasFooter = (tag.getUint8(5) & 0x10) !== 0;
    if (tag.getUint8(3) === 0xff || tag.getUint8(4) === 0xff || (tag.getUint32(6) & 0x80808080) !== 0) return undefined;
    let size = 0;
    for (let index = 6; index < 10; index++) size = size * 128 + tag.getUint8(index);
    at = Math.min(reader.size, at + 10 + size + (hasFooter ? 10 : 0));
  }
  return at;
}

function readFrame(bytes: Uint8Array, at: number): { bytes: number; ms: number } | undefined {
  const header = readHeader(bytes, at);
  if (header === undefined) return undefined;
  const { version, layer, rateIndex, sampleRate, samples, third } = header;
  const kbit = kbits[version === 3 ? 1 : 2][layer - 1]?.[rateIndex - 1];
  if (kbit === undefined) return undefined;
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples * kbit * 125) / sampleRate / slotBytes) + ((third >> 1) & 1);
  return { bytes: slots * slotBytes, ms: (samples * 1000) / sampleRate };
}

/** Duration of a frame of a free bitrate. Its header does not give its length, so it is found between other frames. */
function readFreeFrame(bytes: Uint8Array, at: number): number {
  const header = readHeader(bytes, at);
  return header?.rateIndex === 0 ? (header.samples * 1000) / header.sampleRate : 0;
}

function readHeader(bytes: Uint8Array, at: number) {
  const [first, second, third] = [bytes[at] as number, bytes[at + 1] as number, bytes[at + 2] as number];
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  // Versions: 0 is MPEG 2.5, 1 is reserved, 2 is MPEG 2, 3 is MPEG 1. Layers count downwards.
  const [version, layer] = [(second >> 3) & 3, 4 - ((second >> 1) & 3)];
  const baseRate = sampleRates[(third >> 2) & 3];
  if (version === 1 || layer === 4 || baseRate === undefined) return undefined;
  const sampleRate = baseRate / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152;
  return { version, layer, rateIndex: third >> 4, sampleRate, samples, third };
}
