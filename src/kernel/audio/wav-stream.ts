import { UpstreamFault } from "../../contract/index.ts";
import { readWav, type Wav } from "../../lib/wav.ts";
import { closeIterator } from "../streaming.ts";

type Bytes = Uint8Array<ArrayBuffer>;
export type WavFormat = Omit<Wav, "pcm">;

/** A file of which the first bytes are there: whole, or with an iterator of the others. */
export interface OpenedFile {
  first: Bytes;
  rest?: AsyncIterator<Bytes>;
}

/** More bytes than stand before the samples of any WAV file. */
const headBytesMax = 64 * 1024;
/** Encoders that stream write a size of nothing, or the largest there is. */
const sizeMax = 2 ** 31;

/**
 * Reads the head of a WAV file. Its samples follow as they come.
 *
 * @throws {UpstreamFault} When it cannot be read.
 */
export async function openSamples({
  first,
  rest,
}: OpenedFile): Promise<{ format: WavFormat; samples: AsyncIterable<Bytes> }> {
  let head = first;
  try {
    while (true) {
      const wav = tryRead(head, rest === undefined || head.length > headBytesMax);
      if (wav !== undefined) {
        const { pcm, ...format } = wav;
        return { format, samples: readSamples(head, pcm.byteOffset - head.byteOffset, rest) };
      }
      const { done, value } = await (rest as AsyncIterator<Bytes>).next();
      if (done) throw new UpstreamFault("bad_response", "The provider's WAV file ends in its head");
      head = concatBytes(head, value);
    }
  } catch (error) {
    closeIterator(rest);
    throw error;
  }
}

/** The file as far as it is there; `undefined` when its samples have not begun. */
function tryRead(head: Bytes, isAll: boolean): Wav | undefined {
  try {
    return readWav(head);
  } catch (error) {
    if (isAll || !(error instanceof UpstreamFault)) throw error;
    return undefined;
  }
}

async function* readSamples(head: Bytes, start: number, rest: AsyncIterator<Bytes> | undefined): AsyncGenerator<Bytes> {
  const size = new DataView(head.buffer, head.byteOffset).getUint32(start - 4, true);
  // What stands behind the samples is not sound, but the provider may report the usage behind it.
  let left = size === 0 || size >= sizeMax ? Number.POSITIVE_INFINITY : size;
  let behind = 0;
  try {
    for (let bytes: Bytes | undefined = head.subarray(start); bytes !== undefined && behind <= headBytesMax; ) {
      const piece = bytes.length > left ? bytes.subarray(0, left) : bytes;
      left -= piece.length;
      behind += bytes.length - piece.length;
      if (piece.length > 0) yield piece;
      const next: IteratorResult<Bytes> | undefined = await rest?.next();
      bytes = next === undefined || next.done ? undefined : next.value;
    }
  } finally {
    closeIterator(rest);
  }
}

/** @throws {UpstreamFault} When sound of one format cannot follow on the other. */
export function expectSameFormat(one: WavFormat, other: WavFormat): void {
  const fields = ["sampleRate", "channels", "bitsPerSample", "format"] as const;
  if (fields.every((field) => one[field] === other[field])) return;
  throw new UpstreamFault("bad_response", "The provider made the parts of the speech in different formats");
}

export function concatBytes(a: Bytes, b: Bytes): Bytes {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
