import { describe, expect, test } from "bun:test";
import type { Model, Transcript, TranscriptionRequest } from "../../../../src/contract/index.ts";
import { readAudioMs, runCall } from "../../../../src/kernel/index.ts";
import { wavFile } from "../../../support/wav.ts";
import { benchOf, callOf, chatModel, pluginOf, rejectionOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row: Model = {
  ...plain,
  id: "hear-1",
  capability: "transcription",
  price: { audioMs: { usd: "3.6", per: 3_600_000 } },
  audioMsMax: 30_000,
  languages: ["en", "hi-IN"],
};

function ask(
  request: Partial<TranscriptionRequest>,
  answer: unknown = { text: "Hello" },
  changes: Partial<Model> = {},
) {
  const transcription = async () => answer as Transcript;
  const bench = benchOf([pluginOf({ transcription }, { models: [{ ...row, ...changes }] })]);
  const call = callOf("transcription", { model: "hear-1", file: new File(["x".repeat(2000)], "a.mp3"), ...request });
  return { ...bench, done: runCall(bench.kernel, call) };
}

describe("a transcription", () => {
  test.each<[string, Partial<TranscriptionRequest>, unknown, number, string]>([
    ["as long as the provider says", { audioMs: 1500 }, 2.0004, 2000, "reported"],
    ["as long as the file says", { audioMs: 1500 }, undefined, 1500, "estimated"],
    ["as long as the file says, for a length of 0", { audioMs: 1500 }, 0, 1500, "estimated"],
    ["as long as the file says, for a length below 0", { audioMs: 1500 }, -3, 1500, "estimated"],
    ["as long as the file says, for no number", { audioMs: 1500 }, Number.NaN, 1500, "estimated"],
    ["as long as the file says, for a length beyond all", { audioMs: 1500 }, 1e300, 1500, "estimated"],
    ["a millisecond a byte where nothing is known", {}, undefined, 2000, "estimated"],
  ])("costs %s", async (...[, request, duration, audioMs, source]) => {
    const { done, ledger } = ask(request, { text: "Hello", duration });
    expect((await done).text).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ meters: { audioMs }, usageSource: source as "reported" });
    expect(ledger.settlement.costNanodollars).toBe(audioMs * 1000);
  });

  test("holds what the file says, or what it can be at the most", async () => {
    const known = ask({ audioMs: 1500 });
    const unknown = ask({});
    const long = ask({ file: new File(["x".repeat(90_000)], "a.mp3") });
    await Promise.all([known.done, unknown.done, long.done]);
    const held = [known, unknown, long].map(({ ledger }) => ledger.claims[0]?.holdNanodollars);
    expect(held).toEqual([1_500_000, 2_000_000, 30_000_000]);
  });

  test.each([[{}], [null], [{ text: null }]])("without a text (%p) is free", async (answer) => {
    const { done, ledger } = ask({}, answer);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(ledger.settlement.outcome).toBe("released");
  });

  test("of silence is an empty text, and costs", async () => {
    const { done, ledger } = ask({ audioMs: 1500 }, { text: "" });
    await done;
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test.each<[string, Partial<TranscriptionRequest>, Partial<Model>, string | undefined]>([
    ["as long as the model takes", { audioMs: 30_000 }, {}, undefined],
    ["a millisecond longer", { audioMs: 30_001 }, {}, "file"],
    ["in a language it takes", { language: "en" }, {}, undefined],
    ["in one it takes with a region", { language: "hi-IN" }, {}, undefined],
    ["in one it takes, without the region", { language: "hi" }, {}, undefined],
    ["in another", { language: "de" }, {}, "language"],
    ["in a region of its own", { language: "en-GB" }, {}, "language"],
  ])("%s: refused for %p", async (...[, request, changes, param]) => {
    const { done, ledger } = ask(request, undefined, changes);
    if (param === undefined) await done;
    else expect(await rejectionOf(done)).toMatchObject({ status: 400, param });
    expect(ledger.claims).toHaveLength(param === undefined ? 1 : 0);
  });
});

describe("the length of a file", () => {
  test.each([1, 999, 1000, 12_345])("of %d ms is read from it", async (ms) => {
    expect(await readAudioMs(wavFile(ms))).toBe(ms);
  });

  test.each([
    ["nothing", ""],
    ["text", "Hello, I am no audio"],
    ["a head without a body", "RIFF\x10\0\0\0WAVE"],
    ["noise", "\xff\xfb\x90\x64".repeat(3)],
  ])("that holds %s is unknown, not zero", async (_, text) => {
    expect(await readAudioMs(new File([text], "a.wav"))).not.toBe(0);
  });
});
