import { expect, spyOn, test } from "bun:test";
import { audioTokensMax, measureAudio } from "../../../../src/kernel/normalize/chat-audio.ts";
import { writeWav } from "../../../../src/lib/wav.ts";

test("sound of a prompt is measured in windows of the bytes that it is decoded to, and never copied whole", async () => {
  const rate = 16_000;
  const seconds = 300;
  const pcm = new Uint8Array(seconds * rate * 2);
  const data = Buffer.from(writeWav({ pcm, sampleRate: rate, channels: 1, bitsPerSample: 16 })).toString("base64");
  const audio = { data, format: "wav" } as const;
  const blob = spyOn(globalThis, "Blob");
  const slice = spyOn(Uint8Array.prototype, "slice");
  try {
    await measureAudio({
      model: "m",
      messages: [{ role: "user", content: [{ type: "input_audio", input_audio: audio }] }],
    });
    expect(blob).not.toHaveBeenCalled();
    const copies = slice.mock.results.map(({ value }) => (value as Uint8Array).length);
    expect(copies.length).toBeGreaterThan(0);
    expect(Math.max(...copies)).toBeLessThan(100_000);
  } finally {
    blob.mockRestore();
    slice.mockRestore();
  }
  expect(audioTokensMax(audio)).toBe(seconds * 32);
});
