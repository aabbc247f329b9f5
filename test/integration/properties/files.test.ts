import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UpstreamError } from "../../../src/contract/index.ts";
import { readAudioLength } from "../../../src/kernel/audio/audio-length.ts";
import { joinWav, readWav, wavMs, writeWav } from "../../../src/lib/wav.ts";
import { readManifest } from "../../../src/providers/manifest.ts";
import { PluginError } from "../../../src/sdk/errors.ts";
import { readModels } from "../../../src/sdk/index.ts";
import { anyJson, expectPrototypesClean, runs, thrownBy } from "../../support/hostile.ts";

const rowWords = [
  "models",
  "id",
  "upstreamId",
  "capability",
  "chat",
  "premium",
  "price",
  "inputToken",
  "usd",
  "per",
  "tiers",
];
const manifestWords = [
  "name",
  "baseUrl",
  "https://a.example/v1",
  "dialect",
  "openai",
  "authorize",
  "{key}",
  "options",
  "hosts",
];

describe("facts that are dropped in", () => {
  test("as a catalogue are read, or refused with the place", () => {
    fc.assert(
      fc.property(anyJson(...rowWords), (file) => {
        try {
          for (const { id } of readModels(file)) expect(id).toBeString();
        } catch (error) {
          expect(error).toBeInstanceOf(PluginError);
        }
        expectPrototypesClean();
      }),
      runs(1000),
    );
  });

  test("as a manifest make a plugin, or are refused with the field", () => {
    const good = { baseUrl: "https://a.example/v1", dialect: "openai", models: [{ id: "a", premium: false }] };
    const changed = fc
      .tuple(
        fc.constantFrom(...manifestWords, "models", "__proto__", "maxChoices"),
        anyJson(...manifestWords, ...rowWords),
      )
      .map(([name, value]) =>
        JSON.parse(`${JSON.stringify(good).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`),
      );
    fc.assert(
      fc.property(fc.oneof(changed, anyJson(...manifestWords)), (value) => {
        try {
          expect(readManifest(value, "acme").name).toBeString();
        } catch (error) {
          expect(error).toBeInstanceOf(PluginError);
        }
        expectPrototypesClean();
      }),
      runs(1000),
    );
  });
});

describe("sound", () => {
  const bytes = fc.uint8Array({ maxLength: 120 }).map((given) => new Uint8Array(given));
  const spoilt = fc
    .tuple(bytes, fc.nat(60), fc.uint8Array({ maxLength: 4 }), fc.nat(200))
    .map(([pcm, at, put, length]) => {
      const wav = writeWav({ pcm, sampleRate: 8000, channels: 1, bitsPerSample: 16 });
      wav.set(put.subarray(0, Math.max(0, wav.length - at)), Math.min(at, wav.length));
      return wav.slice(0, length);
    });

  test("of any bytes is read within what is there, or is broken", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes, spoilt), async (given) => {
        for (const read of [() => readWav(given).pcm.length, () => joinWav([given, given]).length]) {
          const error = await thrownBy(() => expect(read()).toBeLessThanOrEqual(44 + 2 * given.length));
          if (error !== undefined) expect(error).toBeInstanceOf(UpstreamError);
        }
        const ms = wavMs(given);
        expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
      }),
      runs(500),
    );
  });

  test("of any file has a length, or none that is known", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(bytes, spoilt),
        fc.constantFrom("a.wav", "a.mp3", "a.m4a", "a.webm"),
        async (given, name) => {
          const { audioMs, audioMsMin, audioMsMax } = await readAudioLength(new File([given], name));
          for (const ms of [audioMs ?? 0, audioMsMin, audioMsMax ?? 0])
            expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true);
          if (audioMsMax !== undefined) expect(audioMsMax).toBeGreaterThanOrEqual(audioMs ?? 0);
        },
      ),
      runs(50),
    );
  });
});
