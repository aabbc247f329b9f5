import { describe, expect, test } from "bun:test";
import { audioFileBytesMax, type Transcript, type TranscriptionRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { wavFile } from "../../../support/wav.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const price = { audioMs: { usd: "0.04", per: 3_600_000 } };
const row = { ...plain, id: "famW-large-v3-turbo", capability: "transcription" as const, price };

function gateway(answer: Transcript = { text: "Hello" }) {
  const asked: TranscriptionRequest[] = [];
  const plugin = createPlugin(
    {
      async transcription({ request }) {
        asked.push(request);
        return answer;
      },
    },
    { models: [row] },
  );
  const bench = httpOf([plugin]);
  const send = (fields: Record<string, string | string[] | File | undefined>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) for (const one of Array.isArray(value) ? value : [value]) form.append(name, one);
    }
    return bench.ask("audio/transcriptions", { method: "POST", body: form });
  };
  return { ...bench, asked, send };
}

const file = wavFile(1500);

describe("POST /audio/transcriptions", () => {
  test("hands the file and its fields to the provider, typed", async () => {
    const { send, asked, ledger } = gateway();
    const fields = { language: "en", prompt: "Names", temperature: "0.5", response_format: "json" };
    await send({ file, model: "famW-large-v3-turbo", ...fields });
    expect(asked[0]).toMatchObject({ ...fields, temperature: 0.5, audioMs: 1500 });
    expect(await asked[0]?.file.bytes()).toEqual(await file.bytes());
    expect(ledger.settlement).toMatchObject({ meters: { audioMs: 1500 } });
  });

  test("takes the spec's default model, and empty fields as absent", async () => {
    const { send, asked } = gateway();
    expect((await send({ file, model: "", language: "", temperature: "", prompt: "" })).status).toBe(200);
    expect(asked[0]?.model).toBe("famW-large-v3-turbo");
    for (const name of ["language", "temperature", "prompt"]) expect(asked[0]).not.toHaveProperty(name);
  });

  test.each(["timestamp_granularities[]", "timestamp_granularities"])("reads %s", async (name) => {
    const { send, asked } = gateway();
    await send({ file, [name]: ["word", "segment"] });
    expect(asked[0]?.timestamp_granularities).toEqual(["word", "segment"]);
  });

  test("answers JSON with the length that is charged", async () => {
    const { send } = gateway();
    const answer = await (await send({ file })).json();
    expect(answer).toEqual({ text: "Hello", usage: { type: "duration", seconds: 2 } });
  });

  test("streams the text as one event, then the end with the length that is charged", async () => {
    const { send, asked, ledger } = gateway({ text: "Hello", duration: 1.5 });
    const response = await send({ file, stream: "true" });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const events = (await response.text()).split("\n\n").slice(0, -1);
    expect(events.map((event) => JSON.parse(event.split("data: ")[1] as string))).toEqual([
      { type: "transcript.text.delta", delta: "Hello" },
      { type: "transcript.text.done", text: "Hello", usage: { type: "duration", seconds: 2 } },
    ]);
    expect(asked[0]).not.toHaveProperty("stream");
    expect(ledger.settlement.usageSource).toBe("reported");
  });

  test("names the fields that no transcription takes", async () => {
    const { send } = gateway();
    const response = await send({
      file,
      "include[]": "logprobs",
      chunking_strategy: "auto",
      audioMs: "1",
      stream: "false",
    });
    expect(response.headers.get("x-modelgate-ignored")).toBe("include[], chunking_strategy, audioMs");
    expect((await send({ file })).headers.has("x-modelgate-ignored")).toBe(false);
  });

  test("does not take its length from the form", async () => {
    const { send, ledger } = gateway();
    await send({ file, audioMs: "1", audioMsMin: "0", audioMsMax: "1" });
    expect(ledger.settlement).toMatchObject({ meters: { audioMs: 1500 } });
  });

  test("answers plain text", async () => {
    const response = await gateway({ text: "नमस्ते" }).send({ file, response_format: "text" });
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("x-request-id")).toBeTruthy();
    expect(await response.text()).toBe("नमस्ते");
  });

  test.each<[string, Transcript, Record<string, unknown>]>([
    [
      "all of it",
      { text: "Hello", language: "English", duration: 1.4, segments: [], words: [] },
      { language: "english", duration: 1.4, words: [] },
    ],
    ["a language with a region", { text: "Hello", language: "hi-IN" }, { language: "hi" }],
    ["only a text", { text: "Hello" }, { language: "unknown", duration: 1.5, segments: [] }],
  ])("answers verbosely of %s", async (_, transcript, wanted) => {
    const answer = await (await gateway(transcript).send({ file, response_format: "verbose_json" })).json();
    expect(answer).toMatchObject({ task: "transcribe", text: "Hello", ...wanted });
  });

  test.each([
    ["srt", "1\n00:00:00,000 --> 00:00:01,500\nHello\n"],
    ["vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello\n"],
  ])("answers %s of the segments, or of the whole where there are none", async (response_format, subtitles) => {
    const segments = [{ id: 0, start: 0, end: 1.5, text: " Hello" }];
    for (const transcript of [{ text: "Hello", segments }, { text: "Hello" }]) {
      const response = await gateway(transcript as Transcript).send({ file, response_format });
      expect([response.status, await response.text()]).toEqual([200, subtitles]);
    }
  });

  test.each<[string, Record<string, string | File | undefined>, number, string]>([
    ["no file", { file: undefined }, 400, "file"],
    ["text instead of a file", { file: "a.wav" }, 400, "file"],
    ["an empty file", { file: new File([], "a.wav") }, 400, "file"],
    ["a file of 25 MB and a byte", { file: new File([new Uint8Array(audioFileBytesMax + 1)], "a.wav") }, 413, "file"],
    ["a picture", { file: new File(["x"], "a.png") }, 400, "file"],
    ["a file without an ending", { file: new File(["x"], "wav") }, 400, "file"],
    ["an unknown format of answer", { response_format: "ass" }, 400, "response_format"],
    ["a temperature in words", { temperature: "hot" }, 400, "temperature"],
    ["a stream in words", { stream: "yes" }, 400, "stream"],
    ["a temperature above 1", { temperature: "1.1" }, 400, "temperature"],
    ["a language in words", { language: "English" }, 400, "language"],
    ["another granularity", { timestamp_granularities: "letter" }, 400, "timestamp_granularities[0]"],
    ["a chat model", { model: "nobody" }, 400, "model"],
  ])("refuses %s", async (...[, fields, status, param]) => {
    const { send, ledger } = gateway();
    await expectError(await send({ file, ...fields }), { status, param });
    expect(ledger.claims).toEqual([]);
  });

  test("shows a temperature that is not a number as it was sent", async () => {
    const { error } = await (await gateway().send({ file, temperature: "hot" })).json();
    expect(error.message).toBe('temperature is "hot", but a number of 0 to 1 was expected');
  });

  test.each(["mp3", "MP3", "mp4", "mpeg", "mpga", "m4a", "wav", "webm"])("takes a file named .%s", async (ending) => {
    expect((await gateway().send({ file: new File(["x"], `a.b.${ending}`) })).status).toBe(200);
  });

  test("takes a file of exactly 25 MB", async () => {
    const full = new File([new Uint8Array(audioFileBytesMax)], "a.mp3");
    expect((await gateway().send({ file: full })).status).toBe(200);
  });
});
