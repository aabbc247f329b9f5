import type { ByteReader } from "./byte-reader.ts";
import type { MeasuredLength } from "./wav.ts";

const windowBytes = 1024 * 1024;
/** The longest header of a frame, in bytes. */
const headerBytesMax = 16;

/** Samples of a block by the code of its size; 6 and 7 stand for a size of its own at the end of the header. */
const blockSizes = [0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768];
/**
 * Hertz by the code of the rate. Code 0 means the rate of the file; codes 12 to 14 mean a rate at the end of the
 * header.
 */
const sampleRates = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/**
 * Measures a FLAC file by its frames: a frame of silence plays four seconds with 16 bytes. Anything that looks like a
 * frame header with a correct checksum counts as a frame, so the sum is never below what a decoder plays.
 * https://www.rfc-editor.org/rfc/rfc9639#name-frame-header
 */
export async function measureFlac(reader: ByteReader): Promise<MeasuredLength | undefined> {
  const info = await reader.view(18, 8);
  if (info === undefined) return undefined;
  const packed = info.getBigUint64(0);
  const sampleRate = Number(packed >> 44n);
  const channels = Number((packed >> 41n) & 7n) + 1;
  const bits = Number((packed >> 36n) & 31n) + 1;
  const samples = Number(packed & 0xfffffffffn);
  if (sampleRate === 0) return undefined;
  const start = await skipMetadata(reader);
  const msMax = await countFrames(reader, start, sampleRate);
  const ms = samples === 0 ? msMax : (samples * 1000) / sampleRate;
  return { ms, msMax, bytesPerMsMax: (sampleRate * channels * bits) / 8000, audioBytes: reader.size - start };
}

/** Where the frames begin: after the metadata, which may hold an image. 0 when its end is not in the file. */
async function skipMetadata(reader: ByteReader): Promise<number> {
  for (let at = 4; ; ) {
    const head = await reader.view(at, 4);
    if (head === undefined) return 0;
    at += 4 + (head.getUint32(0) & 0xffffff);
    if (head.getUint8(0) >= 0x80) return at > reader.size ? 0 : at;
  }
}

/** Duration of all frames, in milliseconds; `undefined` when they are too many to be counted. */
async function countFrames(reader: ByteReader, start: number, fileRate: number): Promise<number | undefined> {
  let ms = 0;
  for (let at = start; at < reader.size; at += windowBytes) {
    // The last header of a window may reach into the next one.
    const bytes = await reader.window(at, windowBytes + headerBytesMax);
    const end = Math.min(bytes.length, windowBytes);
    for (let place = bytes.indexOf(0xff); place !== -1 && place < end; place = bytes.indexOf(0xff, place + 1)) {
      // Fourteen bits of a fixed pattern, and a bit that is reserved.
      if (((bytes[place + 1] as number) & 0xfe) !== 0xf8) continue;
      if (!reader.visit()) return undefined;
      ms += readFrame(bytes, place, fileRate);
    }
  }
  return ms;
}

/** Duration of a frame, in milliseconds; 0 if the bytes are not the header of one. */
function readFrame(bytes: Uint8Array, at: number, fileRate: number): number {
  const [sizeCode, rateCode] = [(bytes[at + 2] as number) >> 4, (bytes[at + 2] as number) & 15];
  if (sizeCode === 0 || rateCode === 15) return 0;
  // The number of the frame or of its first sample, written as UTF-8 writes a character.
  const first = bytes[at + 4] as number;
  const ones = Math.clz32(~(first << 24));
  if (ones === 1 || ones > 7) return 0;
  let end = at + 4 + Math.max(1, ones);
  const read = (length: number) => {
    let value = 0;
    for (const last = end + length; end < last; end++) value = value * 256 + (bytes[end] as number);
    return value;
  };
  const samples = sizeCode === 6 ? read(1) + 1 : sizeCode === 7 ? read(2) + 1 : (blockSizes[sizeCode] as number);
  const ownRate =
    rateCode === 12
      ? read(1) * 1000
      : rateCode === 13
        ? read(2)
        : rateCode === 14
          ? read(2) * 10
          : sampleRates[rateCode];
  if (end >= bytes.length || crc8(bytes, at, end) !== bytes[end]) return 0;
  // A decoder may use the rate of the frame or the rate of the file; the slower rate plays longer.
  const rate = ownRate ? Math.min(ownRate, fileRate) : fileRate;
  return (samples * 1000) / rate;
}

/** The checksum of a header: the polynomial x^8 + x^2 + x + 1. */
function crc8(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let at = start; at < end; at++) {
    crc ^= bytes[at] as number;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 7) & 0xff : crc << 1;
  }
  return crc;
}
