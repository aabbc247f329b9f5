import { UpstreamError } from "../../contract/index.ts";
import { readWav, type Wav } from "../../lib/wav.ts";
import type { AnswerStream, Speech, SpeechFormat } from "../../provider/index.ts";

type Bytes = Uint8Array<ArrayBuffer>;
export type WavFormat = Omit<Wav, "pcm">;

/** `RIFF`, the first four bytes of every WAV file. */
const riff = [0x52, 0x49, 0x46, 0x46];
/** The header that nearly every WAV file has. */
export const wavHeaderBytes = 44;
/** More bytes than precede the samples of any WAV file. */
const headBytesMax = 64 * 1024;
/** Encoders that stream write a size of nothing, or the largest there is. */
const sizeMax = 2 ** 31;

/** How the bytes of a plugin are wanted. */
export interface AudioFileOptions {
  format: SpeechFormat;
  /** Only the samples of a WAV file, to be joined with others or given out as they are. */
  isSamples: boolean;
}

/**
 * One audio file of a plugin as it comes. Its head is read and checked before the first piece is given out, while another route
 * can still be tried. That piece is empty where nothing has come behind the head of a file whose samples are wanted.
 */
export class AudioFile implements AnswerStream<Bytes> {
  readonly events: AnswerStream<Bytes>["events"];
  /** All of it came at once. */
  readonly isWhole: boolean;
  readonly #source: AnswerStream<Bytes>;
  readonly #options: AudioFileOptions;
  /** The first bytes: a header at least, unless all of the file is shorter. */
  head: Bytes = new Uint8Array(0);
  /** Known where samples are wanted and have begun. */
  wavFormat: WavFormat | undefined;
  #hasBegun = false;
  /** Bytes of samples that are still to come, and bytes behind them. */
  #left = Number.POSITIVE_INFINITY;
  #behind = 0;

  constructor(audio: Speech["audio"], options: AudioFileOptions) {
    this.isWhole = audio instanceof Uint8Array;
    this.#source = audio instanceof Uint8Array ? { events: [audio], push: () => [audio], end: () => [] } : audio;
    this.events = this.#source.events;
    this.#options = options;
  }

  /**
   * Whether no more audio follows. Also true if the bytes after the samples do not end: they are not audio, but a
   * provider may report its usage in them.
   */
  get isComplete(): boolean {
    return this.#source.isComplete === true || this.#behind > headBytesMax;
  }

  push(event: unknown): Bytes[] {
    return this.#source.push(event).flatMap((piece) => this.#read(piece));
  }

  end(): Bytes[] {
    const pieces = this.#source.end().flatMap((piece) => this.#read(piece));
    if (this.#hasBegun) return pieces;
    if (this.head.length === 0) throw badResponseError("The provider sent no audio");
    return [...pieces, ...this.#begin(true)];
  }

  #read(piece: Bytes): Bytes[] {
    if (this.#hasBegun) return this.#cut(piece);
    this.head = this.head.length === 0 ? piece : concatBytes(this.head, piece);
    return this.head.length < wavHeaderBytes ? [] : this.#begin(false);
  }

  /** Gives out what there is, once the head is there. */
  #begin(isAll: boolean): Bytes[] {
    const { format, isSamples } = this.#options;
    checkFormat(this.head, format);
    if (!isSamples) {
      this.#hasBegun = true;
      return [this.head];
    }
    const wav = tryRead(this.head, isAll || this.head.length > headBytesMax);
    if (wav === undefined) return [];
    const { pcm, ...wavFormat } = wav;
    this.wavFormat = wavFormat;
    this.#hasBegun = true;
    const start = pcm.byteOffset - this.head.byteOffset;
    const size = new DataView(this.head.buffer, this.head.byteOffset).getUint32(start - 4, true);
    if (size > 0 && size < sizeMax) this.#left = size;
    return [this.head.subarray(start, start), ...this.#cut(this.head.subarray(start))];
  }

  #cut(bytes: Bytes): Bytes[] {
    const piece = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= piece.length;
    this.#behind += bytes.length - piece.length;
    return piece.length > 0 ? [piece] : [];
  }
}

/** Samples are cut out of a WAV file. Of other formats it is only known that they are not a WAV file. */
function checkFormat(bytes: Bytes, format: SpeechFormat): void {
  const isWav = format === "wav" || format === "pcm";
  if (riff.every((byte, index) => bytes[index] === byte) !== isWav)
    throw badResponseError(`The provider's audio is ${isWav ? "not a WAV file" : `no ${format}`}`);
}

/** The file as far as it is there; `undefined` when its samples have not begun. */
function tryRead(head: Bytes, isAll: boolean): Wav | undefined {
  try {
    return readWav(head);
  } catch (error) {
    if (isAll || !(error instanceof UpstreamError)) throw error;
    return undefined;
  }
}

/** @throws {UpstreamError} When audio of one format cannot follow on the other. */
export function expectSameFormat(one: WavFormat, other: WavFormat): void {
  const fields = ["sampleRate", "channels", "bitsPerSample", "format"] as const;
  if (fields.every((field) => one[field] === other[field])) return;
  throw badResponseError("The provider made the parts of the speech in different formats");
}

function concatBytes(a: Bytes, b: Bytes): Bytes {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function badResponseError(message: string): UpstreamError {
  return new UpstreamError("bad_response", message);
}
