/** Small audio files made by code, as encoders write them, and hostile ones. */

const ascii = (text: string) => new TextEncoder().encode(text);

export function concat(...parts: (Uint8Array | string | number[])[]): Uint8Array<ArrayBuffer> {
  const all = parts.map((part) => (typeof part === "string" ? ascii(part) : Uint8Array.from(part)));
  const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A number of so many bytes, big-endian. */
export function be(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** (bytes - 1 - index)) % 256);
}

export const le = (value: number, bytes: number): number[] => be(value, bytes).reverse();

export const fileOf = (...parts: (Uint8Array | string | number[])[]) => new File([concat(...parts)], "a.mp3");

/** A chunk of a WAV file. */
export function chunk(name: string, content: Uint8Array | number[], size = content.length): Uint8Array {
  return concat(name, le(size, 4), content, content.length % 2 === 1 ? [0] : []);
}

/** The head of a WAV file of 16-bit samples, 16 kHz, one channel: 32 bytes a millisecond. */
export const wavHead = concat(
  "RIFF",
  le(0xffffffff, 4),
  "WAVE",
  chunk("fmt ", [1, 0, 1, 0, ...le(16_000, 4), ...le(32_000, 4), 2, 0, 16, 0]),
);

/** Frames of MP3 at 128 kbit/s and 44.1 kHz: 417 bytes and 26.122 ms each. */
export function mp3Frames(count: number): Uint8Array<ArrayBuffer> {
  const frame = concat([0xff, 0xfb, 0x90, 0x64], new Uint8Array(413));
  return concat(...Array.from({ length: count }, () => frame));
}

/** An ID3v2 tag. */
export function id3(bytes: number, content = new Uint8Array(bytes)): Uint8Array {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f);
  return concat("ID3", [4, 0, 0], size, content);
}

/** A box of an MP4 file. */
export const box = (name: string, ...content: (Uint8Array | number[])[]): Uint8Array => {
  const inside = concat(...content);
  return concat(be(8 + inside.length, 4), name, inside);
};

/** The movie header of an MP4 file, in the version of 32 or 64 bits. */
export function mvhd(timescale: number, duration: number, version = 0): Uint8Array {
  const wide = version === 1 ? 8 : 4;
  const times = [...be(0, wide), ...be(0, wide), ...be(timescale, 4), ...be(duration, wide)];
  return box("mvhd", [version, 0, 0, 0], times, new Uint8Array(80));
}

/** An element of a Matroska file, with its size in eight bytes. */
export function element(id: number[], ...content: (Uint8Array | number[])[]): Uint8Array {
  const inside = concat(...content);
  return concat(id, [1, ...be(inside.length, 7)], inside);
}

export function float64(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return new Uint8Array(view.buffer);
}

/** A page of an Ogg file that ends at a position, with packets of less than 255 bytes; the first page opens a stream. */
export function oggPage(position: number, packets: readonly (Uint8Array | number[])[], isFirst = false): Uint8Array {
  const lacing = packets.map(({ length }) => length);
  return concat("OggS", [0, isFirst ? 2 : 0], le(position, 8), new Uint8Array(12), [lacing.length], lacing, ...packets);
}

/** The beginning of a FLAC file of 44.1 kHz, two channels and 16 bits. */
export function flacHead(samples: number): Uint8Array {
  const packed = (44_100n << 44n) | (1n << 41n) | (15n << 36n) | BigInt(samples);
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, packed);
  return concat("fLaC", [0x80, 0, 0, 34], new Uint8Array(10), new Uint8Array(view.buffer), new Uint8Array(16));
}

/** Frames of FLAC of up to 65 536 samples each, in which all samples are the same: 14 bytes each. */
export function flacFrames(count: number, samples: number): Uint8Array<ArrayBuffer> {
  const frames = Array.from({ length: count }, (_, index) => {
    // The size of the block in 16 bits, the rate of the file; one channel of 16 bits.
    const head = [0xff, 0xf8, 0x70, 0x08, index % 128, ...be(samples - 1, 2)];
    return [...head, crc8(head), 0, 0, 0, 0, 0, 0];
  });
  return concat(frames.flat());
}

function crc8(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x80 ? 0x107 : 0);
  }
  return crc & 0xff;
}

/** A WebM file as browsers record it, whose clusters have no size, with blocks of one track. */
export function webm(codec: string, blocks: readonly (Uint8Array | number[])[], ...inTrack: Uint8Array[]): Uint8Array {
  const unknownSize = [0x01, ...new Array(7).fill(255)];
  const track = element([0xae], element([0xd7], [1]), element([0x86], concat(codec)), ...inTrack);
  return concat(
    element([0x1a, 0x45, 0xdf, 0xa3], [0x42, 0x86, 0x81, 1]),
    [0x18, 0x53, 0x80, 0x67],
    unknownSize,
    element([0x15, 0x49, 0xa9, 0x66]),
    element([0x16, 0x54, 0xae, 0x6b], track),
    [0x1f, 0x43, 0xb6, 0x75],
    unknownSize,
    element([0xe7], [0]),
    ...blocks.map((block) => element([0xa3], block)),
  );
}
