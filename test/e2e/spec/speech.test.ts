import { describe, expect, test } from "bun:test";
import { readWav } from "../../../src/lib/wav.ts";
import { catalogueRow, costOf } from "../../support/catalogue.ts";
import { expectError } from "../../support/expect-error.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const ask = (fields: Record<string, unknown>) =>
  shared.gateway.post("/audio/speech", { model: "famT/v1-english", input: "Hello there", ...fields });

const models = ["famT/v1-english", "famT/arabic-saudi", "famP-tts", "famP-tts-arabic", "famF-tts"];

/** The lengths that a WAV file's own head states must be those of the file. */
function expectWav(bytes: Buffer): void {
  expect([bytes.toString("latin1", 0, 4), bytes.toString("latin1", 8, 16)]).toEqual(["RIFF", "WAVEfmt "]);
  expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
}

describe("POST /audio/speech", () => {
  test.each(models)(
    "%s answers a WAV file with its default voice and each of its own, by the character",
    async (model) => {
      const row = catalogueRow(model);
      const input = "Ünïcode counts by character 🎈";
      for (const voice of [undefined, row.voices?.[0], row.voices?.at(-1)]) {
        const response = await ask({ model, input, ...(voice === undefined ? {} : { voice }) });
        expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/wav"]);
        expectWav(Buffer.from(await response.arrayBuffer()));
        const call = shared.ledger.callOf(response);
        expect(call.characters).toBe([...input].length);
        expect(call.cost_nanodollars).toBe(Number(costOf(row, call)));
      }
    },
  );

  test.each(models)("%s refuses a voice it does not have and lists those it has", async (model) => {
    const error = await expectError(await ask({ model, voice: "nobody" }), { status: 400, param: "voice" });
    for (const voice of catalogueRow(model).voices ?? []) expect(error.message).toContain(voice);
  });

  const taken: [string, Record<string, unknown>][] = [
    ["target_language_code hi-IN", { target_language_code: "hi-IN" }],
    ["speech_sample_rate 22050", { speech_sample_rate: 22_050 }],
    ["pace 1.5", { pace: 1.5 }],
    ["response_format wav", { response_format: "wav" }],
  ];
  test.each(taken)("famF-tts takes %s", async (_, fields) => {
    const response = await ask({ model: "famF-tts", ...fields });
    expect(response.status).toBe(200);
    expectWav(Buffer.from(await response.arrayBuffer()));
  });

  const refused: [string, Record<string, unknown>, string][] = [
    ["no input", { input: undefined }, "input"],
    ["an empty input", { input: "" }, "input"],
    ["a language that is no code", { model: "famF-tts", target_language_code: "hindi" }, "target_language_code"],
    ["a sample rate that is not a number", { model: "famF-tts", speech_sample_rate: "high" }, "speech_sample_rate"],
    ["a sample rate of 1 Hz", { model: "famF-tts", speech_sample_rate: 1 }, "speech_sample_rate"],
    ["pace 0", { model: "famF-tts", pace: 0 }, "pace"],
    ["response_format midi", { response_format: "midi" }, "response_format"],
    ["no model", { model: undefined }, "model"],
  ];
  test.each(refused)("refuses %s, naming the field", async (_, fields, param) => {
    const before = shared.ledger.counts();
    await expectError(await ask(fields), { status: 400, param });
    expect(shared.ledger.counts()).toEqual(before);
  });

  const limits: [string, number][] = [
    ["famT/v1-english", 200],
    ["famP-tts", 10_000],
    ["famF-tts", 2500],
  ];
  test.each(limits)("%s takes its %d characters, and one more in two parts of one file", async (model, characters) => {
    expect((await ask({ model, input: "a".repeat(characters) })).status).toBe(200);
    const longer = await ask({ model, input: "a".repeat(characters + 1) });
    expect(readWav(new Uint8Array(await longer.arrayBuffer())).pcm.length).toBeGreaterThan(0);
    expect(shared.ledger.callOf(longer).characters).toBe(characters + 1);
  });

  test("a text of more than fifty parts is refused", async () => {
    const tooLong = await ask({ input: "a".repeat(50 * 200 + 1) });
    await expectError(tooLong, { status: 400, param: "input", says: "200" });
  });

  test("pcm is the samples of the WAV file", async () => {
    const [wav, pcm] = [await ask({}), await ask({ response_format: "pcm" })];
    expect(pcm.headers.get("content-type")).toBe("audio/pcm");
    const file = Buffer.from(await wav.arrayBuffer());
    expect(Buffer.from(await pcm.arrayBuffer()).equals(file.subarray(44))).toBe(true);
  });

  test("a voice of OpenAI's becomes the model's own, and the answer says so", async () => {
    const [own, alloy] = [await ask({}), await ask({ voice: "alloy" })];
    expect([own, alloy].map(({ headers }) => headers.get("x-modelgate-ignored"))).toEqual([null, "voice"]);
    expect(await alloy.bytes()).toEqual(await own.bytes());
  });
});
