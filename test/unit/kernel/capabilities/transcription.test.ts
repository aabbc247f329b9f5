import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import type { Model, Transcript, TranscriptionRequest } from "../../../../src/provider/index.ts";
import { chunk, fileOf, flacFrames, flacHead, wavHead } from "../../../support/audio-files.ts";
import { wavFile } from "../../../support/wav.ts";
import { callOf, chatModel, createBench, createPlugin, FakeLedger, rejectionOf, runCall } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row: Model = {
  ...plain,
  id: "hear-1",
  capability: "transcription",
  price: { audioMs: { usd: "3.6", per: 3_600_000 } },
  audioMsMax: 30_000,
  languages: ["en", "hi-IN"],
};

const file = wavFile(1500);
/** A second of sound whose header speaks of a millisecond, and two of 44.1 kHz that speak of a sample. */
const forgedWav = fileOf(wavHead, chunk("fact", [1, 0, 0, 0]), chunk("data", new Uint8Array(32_000).fill(200), 32));
const forgedFlac = fileOf(flacHead(1), new Uint8Array(352_800));

function ask(
  request: Partial<TranscriptionRequest>,
  answer: unknown = { text: "Hello" },
  changes: Partial<Model> = {},
) {
  const transcription = async () => answer as Transcript;
  const bench = createBench([createPlugin({ transcription }, { models: [{ ...row, ...changes }] })]);
  const call = callOf("transcription", { model: "hear-1", file: new File(["x".repeat(2000)], "a.mp3"), ...request });
  return { ...bench, done: runCall(bench.kernel, call) };
}

describe("a transcription", () => {
  test.each<[string, Partial<TranscriptionRequest>, unknown, number, string]>([
    ["as long as the provider says", { file }, 2.0004, 2000, "reported"],
    ["no less than its samples play", { file }, 0.001, 1500, "reported"],
    ["no less than its samples play, whatever its header says", { file: forgedWav }, undefined, 1000, "estimated"],
    ["no less than its bytes play, whatever its header says", { file: forgedFlac }, undefined, 2000, "estimated"],
    ["no less than its bytes play beside a report", { file: forgedFlac }, 0.5, 2000, "reported"],
    ["as long as the file says", { file }, undefined, 1500, "estimated"],
    ["as long as the file says, for a length of 0", { file }, 0, 1500, "estimated"],
    ["as long as the file says, for a length below 0", { file }, -3, 1500, "estimated"],
    ["as long as the file says, for no number", { file }, Number.NaN, 1500, "estimated"],
    ["as long as the file says, for a length beyond all", { file }, 1e300, 1500, "estimated"],
    ["the most that the model takes where nothing is known", {}, undefined, 30_000, "estimated"],
  ])("costs %s", async (...[, request, duration, audioMs, source]) => {
    const { done, ledger } = ask(request, { text: "Hello", duration });
    expect((await done).text).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ meters: { audioMs }, usageSource: source as "reported" });
    expect(ledger.settlement.costNanodollars).toBe(audioMs * 1000);
  });

  test("holds what is counted in the file, and the most that the model takes where nothing can be counted", async () => {
    const known = ask({ file });
    const unknown = ask({});
    const silent = ask({ file: fileOf(flacHead(1), flacFrames(4, 65_536)) });
    const long = ask({ file: fileOf(flacHead(1), flacFrames(400, 65_536)) });
    const bounds = [known, unknown, silent, long];
    await Promise.all(bounds.map(({ done }) => done));
    const held = bounds.map(({ ledger }) => ledger.claims[0]?.holdNanodollars);
    expect(held).toEqual([1_500_000, 30_000_000, 5_945_000, 30_000_000]);
  });

  test.each([[{}], [null], [{ text: null }]])("without a text (%p) is free", async (answer) => {
    const { done, ledger } = ask({}, answer);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(ledger.settlement.outcome).toBe("released");
  });

  test("of silence is an empty text, and costs", async () => {
    const { done, ledger } = ask({ file }, { text: "" });
    await done;
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test.each<[string, Partial<TranscriptionRequest>, Partial<Model>, string | undefined]>([
    ["as long as the model takes", { file: wavFile(30_000) }, {}, undefined],
    ["a millisecond longer", { file: wavFile(30_001) }, {}, "file"],
    ["longer than it takes, of few bytes", { file: fileOf(flacHead(44_100 * 31)) }, {}, "file"],
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

test("the length is read after the cheap refusals, and not for a caller over its limit", async () => {
  const unread = new File(["x".repeat(100)], "a.wav");
  let reads = 0;
  Object.defineProperty(unread, "slice", {
    value: (...range: [number, number]) => {
      reads++;
      return Blob.prototype.slice.apply(unread, range);
    },
  });
  expect((await rejectionOf(ask({ file: unread, model: "nobody" }).done)).code).toBe("model_not_found");
  expect((await rejectionOf(ask({ file: unread, language: "de" }).done)).param).toBe("language");
  const { kernel, ledger } = createBench([
    createPlugin({ transcription: async () => ({ text: "" }) }, { models: [row] }),
  ]);
  ledger.readLimitState = async () => ({ ...(await new FakeLedger().readLimitState()), remainingRequests: 0 });
  ledger.refusal = new GatewayError("rate_limit_exceeded", "Too many requests");
  const limited = runCall(kernel, callOf("transcription", { model: "hear-1", file: unread }));
  expect((await rejectionOf(limited)).code).toBe("rate_limit_exceeded");
  expect(reads).toBe(0);
  await ask({ file: unread }).done;
  expect(reads).toBeGreaterThan(0);
});

test("fields that no transcription takes are named to the caller, under names that a header can hold", async () => {
  const bench = createBench([createPlugin({ transcription: async () => ({ text: "" }) }, { models: [row] })]);
  const unknownFields = ["include[]", "chunking_strategy", "a\r\nb", "x".repeat(65)];
  const call = callOf("transcription", { model: "hear-1", file, unknownFields });
  await runCall(bench.kernel, call);
  expect([...(call.run?.ignored ?? [])]).toEqual(["include[]", "chunking_strategy"]);
});
