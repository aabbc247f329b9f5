import { type ByteReader, readTag } from "./byte-reader.ts";

/** Length of a file as far as its bytes give it. */
export interface MeasuredLength {
  /** Length as the file claims it, or as counted. A caller can forge a claim. */
  ms?: number | undefined;
  /** The most that it can play, where everything in it that plays was counted. */
  msMax?: number | undefined;
  /** The most bytes that a millisecond takes in this format. */
  bytesPerMsMax: number;
  /** The bytes of the audio itself, where they are known. */
  audioBytes?: number;
}

/** PCM, IEEE float, A-law and µ-law: every sample has the same size. */
const plainFormats = [1, 3, 6, 7];
const extensible = 0xfffe;
/** More than any decoder takes: a format beyond that is not believed. */
const [sampleRateMax, channelsMax] = [384_000, 32];

/** The end of the format's GUID behind the code of the samples; with another end it is another format. */
const guidEnd = "000000001000800000aa00389b71";

/**
 * Measures a WAV file by the bytes of its samples, without relying on its size fields and its `fact` chunk. If the
 * chunks after the samples make no sense, they count as samples too. If the file has 64-bit sizes (RF64), everything
 * after the header of the samples counts as samples.
 *
 * @returns `undefined` for anything but plain samples, and if the file declares two formats: decoders disagree on the
 * one to use.
 */
export async function measureWav(reader: ByteReader): Promise<MeasuredLength | undefined> {
  let bytesPerMs: number | undefined;
  let audioBytes: number | undefined;
  const tag = await reader.view(0, 4);
  const isWide = tag !== undefined && readTag(tag) === "RF64";
  let at = 12;
  while (at + 8 <= reader.size) {
    const head = await reader.view(at, 8);
    const size = head?.getUint32(4, true);
    const isChunk = head !== undefined && /^[\w ]{4}$/.test(readTag(head));
    const end = at + 8 + (size as number);
    const name = isChunk ? readTag(head) : "";
    if (audioBytes !== undefined && (!isChunk || end > reader.size)) {
      audioBytes += reader.size - at;
      break;
    }
    if (!isChunk) return undefined;
    if (name === "fmt ") {
      if (bytesPerMs !== undefined) return undefined;
      bytesPerMs = await readFormat(reader, at + 8);
      if (bytesPerMs === undefined) return undefined;
    }
    if (name === "data") {
      const isOpenEnded = isWide || size === 0 || end > reader.size;
      audioBytes = (audioBytes ?? 0) + (isOpenEnded ? reader.size - at - 8 : (size as number));
      if (isOpenEnded) break;
    }
    at = end + ((size as number) % 2);
  }
  if (bytesPerMs === undefined || audioBytes === undefined) return undefined;
  const ms = audioBytes / bytesPerMs;
  return { ms, msMax: ms, bytesPerMsMax: bytesPerMs, audioBytes };
}

/**
 * Bytes per millisecond; `undefined` if the figures of the format contradict each other, because decoders use different
 * ones.
 */
async function readFormat(reader: ByteReader, at: number): Promise<number | undefined> {
  const format = await reader.view(at, 16);
  if (format === undefined) return undefined;
  const code = format.getUint16(0, true);
  const subFormat = code === extensible ? await readSubFormat(reader, at + 24) : code;
  const [channels, sampleRate, bits] = [
    format.getUint16(2, true),
    format.getUint32(4, true),
    format.getUint16(14, true),
  ];
  const sampleBytes = Math.ceil(bits / 8);
  if (subFormat === undefined || !plainFormats.includes(subFormat)) return undefined;
  // A-law and µ-law have one byte, whatever the header says.
  if (subFormat > 3 && bits !== 8) return undefined;
  if (channels === 0 || channels > channelsMax || sampleRate === 0 || sampleRate > sampleRateMax) return undefined;
  if (sampleBytes === 0 || sampleBytes > 8) return undefined;
  const [byteRate, blockBytes] = [format.getUint32(8, true), format.getUint16(12, true)];
  if (blockBytes !== channels * sampleBytes || byteRate !== sampleRate * blockBytes) return undefined;
  return byteRate / 1000;
}

async function readSubFormat(reader: ByteReader, at: number): Promise<number | undefined> {
  const guid = await reader.view(at, 16);
  if (guid === undefined) return undefined;
  let end = "";
  for (let index = 2; index < 16; index++) end += guid.getUint8(index).toString(16).padStart(2, "0");
  return end === guidEnd ? guid.getUint16(0, true) : undefined;
}
