import { describe, expect, test } from "bun:test";
import { catalogueRow, costOf } from "../../support/catalogue.ts";
import { expectError } from "../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { wavFile, wavOf } from "../../support/wav.ts";

const shared = useSandboxGateway();

function formOf(fields: Record<string, string | File | undefined>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ file: wavFile(1500), ...fields })) {
    if (value !== undefined) form.append(name, value);
  }
  return form;
}

const ask = (fields: Record<string, string | File | undefined> = {}) =>
  shared.gateway.ask("/audio/transcriptions", { method: "POST", body: formOf(fields) });

/** A WAV file of exactly so many bytes: silence after its head. */
function fileOfSize(bytes: number): File {
  const head = wavOf(0);
  const view = new DataView(head.buffer);
  view.setUint32(4, bytes - 8, true);
  view.setUint32(40, bytes - 44, true);
  return new File([head, new Uint8Array(bytes - 44)], "long.wav", { type: "audio/wav" });
}

const fileBytesMax = 25 * 1024 * 1024;

describe("POST /audio/transcriptions", () => {
  test("famW-large-v3-turbo is the default, and json the default format", async () => {
    const response = await ask();
    const answer = (await response.json()) as { text: string };
    expect(response.status).toBe(200);
    expect(answer.text).toBeString();
    expect(answer.text).not.toBe("");
    if (schemaMissing === undefined) expect(faultsOf("CreateTranscriptionResponseJson", answer)).toEqual([]);
    expect(shared.ledger.callOf(response).model).toBe("famW-large-v3-turbo");
  });

  test.each(["famW-large-v3", "famW-large-v3-turbo", "famF-stt"])("%s is charged by its length", async (model) => {
    const response = await ask({ model });
    expect(response.status).toBe(200);
    const call = shared.ledger.callOf(response);
    expect(call).toMatchObject({ model, audio_ms: 1500, premium: 1 });
    expect(call.charged_nanodollars).toBe(Number(costOf(catalogueRow(model), call)));
  });

  test("verbose_json and text have their own shapes", async () => {
    const verbose = await (await ask({ response_format: "verbose_json" })).json();
    if (schemaMissing === undefined) expect(faultsOf("CreateTranscriptionResponseVerboseJson", verbose)).toEqual([]);
    expect(verbose).toMatchObject({ task: "transcribe", duration: 1.5 });
    const text = await ask({ response_format: "text" });
    expect(text.headers.get("content-type")).toStartWith("text/plain");
    expect((await text.text()).trim()).toBe((verbose as { text: string }).text.trim());
  });

  test.each(["mp3", "mp4", "mpeg", "mpga", "m4a", "wav", "webm"])("takes a file named .%s", async (ending) => {
    expect((await ask({ file: wavFile(1000, `speech.${ending}`) })).status).toBe(200);
  });

  const taken: [string, Record<string, string>][] = [
    ["language en", { language: "en" }],
    ["temperature 0", { temperature: "0" }],
    ["temperature 1", { temperature: "1" }],
    ["a prompt", { prompt: "Names: Ada" }],
  ];
  test.each(taken)("takes %s", async (_, fields) => {
    expect((await ask(fields)).status).toBe(200);
  });

  const refused: [string, Record<string, string | File | undefined>, string][] = [
    ["no file", { file: undefined }, "file"],
    ["a file that is a text field", { file: "speech.wav" }, "file"],
    ["a file of another kind", { file: wavFile(1000, "speech.txt") }, "file"],
    ["an empty file", { file: new File([], "speech.wav") }, "file"],
    ["response_format ass", { response_format: "ass" }, "response_format"],
    ["a language that is no code", { language: "english" }, "language"],
    ["temperature 1.01", { temperature: "1.01" }, "temperature"],
    ["temperature -0.01", { temperature: "-0.01" }, "temperature"],
    ["a temperature that is not a number", { temperature: "warm" }, "temperature"],
  ];
  test.each(refused)("refuses %s, naming the field", async (_, fields, param) => {
    const before = shared.ledger.counts();
    await expectError(await ask(fields), { status: 400, param });
    expect(shared.ledger.counts()).toEqual(before);
  });

  test("a file of 25 MB is taken, and one byte more is 413", async () => {
    expect((await ask({ file: fileOfSize(fileBytesMax) })).status).toBe(200);
    const before = shared.ledger.counts();
    await expectError(await ask({ file: fileOfSize(fileBytesMax + 1) }), {
      status: 413,
      param: "file",
      code: "payload_too_large",
    });
    expect(shared.ledger.counts()).toEqual(before);
  });

  test("famF-stt takes 30 seconds and not a tenth more", async () => {
    expect((await ask({ model: "famF-stt", file: wavFile(30_000) })).status).toBe(200);
    await expectError(await ask({ model: "famF-stt", file: wavFile(30_100) }), {
      status: 400,
      param: "file",
      says: "30",
    });
  });
});
