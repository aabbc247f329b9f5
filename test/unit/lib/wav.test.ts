import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { joinWav, readWav, wavMs, writeWav } from "../../../src/lib/wav.ts";

const silence = (bytes: number) => new Uint8Array(bytes);
const plain = (pcm: Uint8Array<ArrayBuffer>) => writeWav({ pcm, sampleRate: 8000, channels: 1, bitsPerSample: 16 });

function withSizes(wav: Uint8Array<ArrayBuffer>, riff: number, data: number): Uint8Array<ArrayBuffer> {
  const copy = wav.slice();
  const view = new DataView(copy.buffer);
  view.setUint32(4, riff, true);
  view.setUint32(40, data, true);
  return copy;
}

describe("readWav", () => {
  test("reads what writeWav wrote", () => {
    const format = fc.record({
      sampleRate: fc.integer({ min: 8000, max: 48_000 }),
      channels: fc.integer({ min: 1, max: 4 }),
      bitsPerSample: fc.constantFrom(8, 16, 24, 32),
      format: fc.constantFrom(1, 3),
    });
    fc.assert(
      fc.property(format, fc.nat(50), (header, frames) => {
        const pcm = Uint8Array.from({ length: (frames * header.channels * header.bitsPerSample) / 8 }, (_, i) => i);
        expect(readWav(writeWav({ ...header, pcm }))).toEqual({ ...header, pcm });
      }),
    );
  });

  test.each([
    ["0", 0, 0],
    ["0xFFFFFFFF", 0xffffffff, 0xffffffff],
    ["more than there is", 1_000_000, 900_000],
  ])("takes a streaming header's sizes of %s for the rest", (_, riff, data) => {
    expect(readWav(withSizes(plain(silence(100)), riff, data)).pcm).toHaveLength(100);
  });

  test("passes chunks it does not know, and leaves out half a frame", () => {
    const wav = plain(silence(4));
    const list = Uint8Array.from([
      ...wav.subarray(0, 36),
      76,
      73,
      83,
      84,
      3,
      0,
      0,
      0,
      1,
      2,
      3,
      0,
      ...wav.subarray(36),
      9,
    ]);
    expect(readWav(list).pcm).toHaveLength(4);
    expect(readWav(withSizes(plain(silence(5)), 0, 5)).pcm).toHaveLength(4);
  });

  test("reads a view into a larger buffer", () => {
    const wav = plain(silence(6));
    const larger = new Uint8Array(wav.length + 20);
    larger.set(wav, 7);
    expect(readWav(larger.subarray(7, 7 + wav.length)).pcm).toHaveLength(6);
  });

  test.each<[string, Uint8Array<ArrayBuffer>]>([
    ["begin with RIFF", new TextEncoder().encode("ID3 this is an mp3 file")],
    ["begin with RIFF", new Uint8Array()],
    ["no samples", plain(silence(0)).slice(0, 36)],
    ["cut off", plain(silence(0)).slice(0, 24)],
  ])("refuses bytes with: %s", (reason, bytes) => {
    expect(() => readWav(bytes)).toThrow(reason);
    expect(wavMs(bytes)).toBeUndefined();
  });

  test("refuses encoded samples", () => {
    const wav = plain(silence(4));
    new DataView(wav.buffer).setUint16(20, 7, true);
    expect(() => readWav(wav)).toThrow("format 7");
  });
});

describe("joinWav", () => {
  test("puts the samples of all parts behind one header", () => {
    const joined = joinWav([plain(Uint8Array.of(1, 2)), withSizes(plain(Uint8Array.of(3, 4)), 0, 0)]);
    expect(joined).toEqual(plain(Uint8Array.of(1, 2, 3, 4)));
  });

  test("refuses parts of different formats, and none", () => {
    const other = writeWav({ pcm: silence(4), sampleRate: 16_000, channels: 1, bitsPerSample: 16 });
    expect(() => joinWav([plain(silence(4)), other])).toThrow("8000 Hz, 1 × 16 bit and 16000 Hz");
    expect(() => joinWav([])).toThrow("no part");
  });
});

test("wavMs is the length in milliseconds, rounded up", () => {
  expect(wavMs(plain(silence(16_000)))).toBe(1000);
  expect(wavMs(plain(silence(2)))).toBe(1);
});
