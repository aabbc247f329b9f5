import { type ByteReader, readTag } from "./byte-reader.ts";

/** What the bytes of a file say of its length, as far as they do. */
export interface Measure {
  /** By the file's own words, or as counted. A caller can forge words. */
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

/**
 * Measures a WAV file by the bytes of its samples. Its size fields and its `fact` chunk are not relied on: where the
 * chunks after the samples make no sense, they are samples too.
 *
 * @returns `undefined` for other than plain samples.
 */
export async function measureWav(reader: ByteReader): Promise<Measure | undefined> {
  let bytesPerMs: number | undefined;
  let audioBytes: number | undefined;
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
    if (name === "fmt ") bytesPerMs = await readFormat(reader, at + 8);
    if (name === "data") {
      const isOpenEnded = size === 0 || end > reader.size;
      audioBytes = (audioBytes ?? 0) + (isOpenEnded ? reader.size - at - 8 : (size as number));
      if (isOpenEnded) break;
    }
    at = end + ((size as number) % 2);
  }
  if (bytesPerMs === undefined || audioBytes === undefined) return undefined;
  const ms = audioBytes / bytesPerMs;
  return { ms, msMax: ms, bytesPerMsMax: bytesPerMs, audioBytes };
}

/** Bytes per millisecond. */
async function readFormat(reader: ByteReader, at: number): Promise<number | undefined> {
  const format = await reader.view(at, 16);
  if (format === undefined) return undefined;
  const code = format.getUint16(0, true);
  const subFormat = code === extensible ? (await reader.view(at + 24, 2))?.getUint16(0, true) : code;
  const [channels, sampleRate] = [format.getUint16(2, true), format.getUint32(4, true)];
  const sampleBytes = Math.ceil(format.getUint16(14, true) / 8);
  if (subFormat === undefined || !plainFormats.includes(subFormat)) return undefined;
  if (channels === 0 || channels > channelsMax || sampleRate === 0 || sampleRate > sampleRateMax) return undefined;
  return sampleBytes === 0 || sampleBytes > 8 ? undefined : (channels * sampleRate * sampleBytes) / 1000;
}
