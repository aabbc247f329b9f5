import { UpstreamError } from "../contract/index.ts";
import type { AnswerStream } from "../provider/index.ts";

/** Audio as plain samples, and how to read them. */
export interface Wav {
  /** Interleaved samples, little-endian. */
  pcm: Uint8Array<ArrayBuffer>;
  /** Hz. */
  sampleRate: number;
  channels: number;
  bitsPerSample: number;
  /** 1: whole numbers (PCM), the default when writing; 3: IEEE floats. */
  format?: number | undefined;
}

const headerBytes = 44;

/**
 * Reads a WAV file. Sizes of 0 or 0xFFFFFFFF, or beyond the end, as streaming encoders leave them, mean "to the end".
 *
 * @throws {UpstreamError} `bad_response` when the bytes are not a WAV file of PCM or float samples.
 *
 * @example
 * const wav = writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 });
 * readWav(wav).sampleRate; // => 8000
 */
export function readWav(bytes: Uint8Array<ArrayBuffer>): Wav {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE") {
    throw unreadable("it does not begin with RIFF and WAVE");
  }
  let header: Omit<Wav, "pcm"> | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = tag(view, at);
    const size = view.getUint32(at + 4, true);
    if (name === "fmt ") header = readFormat(view, at + 8);
    if (name === "data") {
      if (header === undefined) throw unreadable("its samples come before their format");
      return { ...header, pcm: samples(bytes, at + 8, size, header) };
    }
    at += 8 + size + (size % 2);
  }
  throw unreadable("it holds no samples");
}

/**
 * Writes a WAV file with a header of 44 bytes.
 *
 * @example
 * writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 }).length; // => 60
 */
export function writeWav(wav: Wav): Uint8Array<ArrayBuffer> {
  const { pcm, sampleRate, channels, bitsPerSample, format = 1 } = wav;
  const bytes = new Uint8Array(headerBytes + pcm.length + (pcm.length % 2));
  const view = new DataView(bytes.buffer);
  const frameBytes = (channels * bitsPerSample) / 8;
  putTag(bytes, 0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  putTag(bytes, 8, "WAVE");
  putTag(bytes, 12, "fmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, format, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * frameBytes, true);
  view.setUint16(32, frameBytes, true);
  view.setUint16(34, bitsPerSample, true);
  putTag(bytes, 36, "data");
  view.setUint32(40, pcm.length, true);
  bytes.set(pcm, headerBytes);
  return bytes;
}

/**
 * The head of a WAV file whose samples follow as they come.
 *
 * @example
 * writeWavHead({ sampleRate: 8000, channels: 1, bitsPerSample: 16 }).length; // => 44
 */
export function writeWavHead(format: Omit<Wav, "pcm">): Uint8Array<ArrayBuffer> {
  const head = writeWav({ ...format, pcm: new Uint8Array(0) });
  const view = new DataView(head.buffer);
  for (const at of [4, 40]) view.setUint32(at, 0xffff_ffff, true);
  return head;
}

/**
 * Samples as they come, as a WAV file whose length is not known before its end.
 *
 * @example
 * const stream = streamWav([new Uint8Array(16)], { sampleRate: 8000, channels: 1, bitsPerSample: 16 });
 * stream.push(new Uint8Array(16)).length; // => 2
 */
export function streamWav(
  samples: AnswerStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>["events"],
  format: Omit<Wav, "pcm">,
): AnswerStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let head = [writeWavHead(format)];
  const take = (...pieces: Uint8Array<ArrayBuffer>[]) => {
    const all = [...head, ...pieces];
    head = [];
    return all;
  };
  return { events: samples, push: (piece) => take(piece), end: () => take() };
}

/**
 * Joins WAV files of one format into one, in order.
 *
 * @throws {UpstreamError} `bad_response` if the audio is empty, one part cannot be read, or their formats differ.
 *
 * @example
 * const wav = writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 });
 * joinWav([wav, wav]).length; // => 76
 */
export function joinWav(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const wavs = parts.map(readWav);
  const [first] = wavs;
  if (first === undefined) throw unreadable("there is no part to join");
  let length = 0;
  for (const wav of wavs) {
    if (formatName(wav) !== formatName(first)) {
      throw new UpstreamError("bad_response", `Cannot join audio of ${formatName(first)} and ${formatName(wav)}`);
    }
    length += wav.pcm.length;
  }
  const pcm = new Uint8Array(length);
  let at = 0;
  for (const wav of wavs) {
    pcm.set(wav.pcm, at);
    at += wav.pcm.length;
  }
  return writeWav({ ...first, pcm });
}

/**
 * How long a WAV file plays, in whole milliseconds rounded up. `undefined` when it cannot be read.
 *
 * @example
 * wavMs(writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 })); // => 1
 */
export function wavMs(bytes: Uint8Array<ArrayBuffer>): number | undefined {
  try {
    const { pcm, sampleRate, channels, bitsPerSample } = readWav(bytes);
    return Math.ceil((pcm.length * 8000) / (sampleRate * channels * bitsPerSample));
  } catch (error) {
    if (error instanceof UpstreamError) return undefined;
    throw error;
  }
}

function readFormat(view: DataView, at: number): Omit<Wav, "pcm"> {
  if (at + 16 > view.byteLength) throw unreadable("its format is cut off");
  const code = view.getUint16(at, true);
  const isExtensible = code === 0xfffe && at + 26 <= view.byteLength;
  const format = isExtensible ? view.getUint16(at + 24, true) : code;
  const channels = view.getUint16(at + 2, true);
  const sampleRate = view.getUint32(at + 4, true);
  const bitsPerSample = view.getUint16(at + 14, true);
  if (format !== 1 && format !== 3) throw unreadable(`its samples are encoded (format ${format}), not PCM`);
  if (channels === 0 || sampleRate === 0 || bitsPerSample === 0 || bitsPerSample % 8 !== 0) {
    throw unreadable("its format has no channels, no sample rate or an odd sample size");
  }
  return { format, channels, sampleRate, bitsPerSample };
}

function samples(bytes: Uint8Array<ArrayBuffer>, start: number, size: number, header: Omit<Wav, "pcm">) {
  const available = bytes.length - start;
  const length = size === 0 || size > available ? available : size;
  const frameBytes = (header.channels * header.bitsPerSample) / 8;
  return bytes.subarray(start, start + length - (length % frameBytes));
}

function formatName({ sampleRate, channels, bitsPerSample, format = 1 }: Wav): string {
  return `${sampleRate} Hz, ${channels} × ${bitsPerSample} bit${format === 3 ? " float" : ""}`;
}

function tag(view: DataView, at: number): string {
  return String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
}

function putTag(bytes: Uint8Array, at: number, text: string): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = text.charCodeAt(i);
}

function unreadable(reason: string): UpstreamError {
  return new UpstreamError("bad_response", `Cannot read the WAV file: ${reason}`);
}
