import { describe, expect, test } from "bun:test";
import type { Model, Transcript } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { wavFile } from "../../../support/wav.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row: Model = {
  ...plain,
  id: "hear-1",
  aliases: ["whisper-1"],
  capability: "transcription",
  features: ["translation"],
  price: { audioMs: { usd: "3.6", per: 3_600_000 } },
};
const blank = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
const transcript: Transcript = {
  text: "Good evening. And good night.",
  language: "de",
  duration: 3661.5,
  segments: [
    { id: 0, start: 0, end: 1.25, text: " Good evening.", ...blank },
    { id: 1, start: 1.25, end: 3661.5, text: " And good night.", ...blank },
  ],
};

async function translate(fields: Record<string, string> = {}, changes: Partial<Model> = {}) {
  const transcription = async () => ({ text: "Guten Abend" });
  const plugin = createPlugin(
    { transcription, translation: async () => transcript },
    { models: [{ ...row, ...changes }] },
  );
  const http = httpOf([plugin]);
  const body = new FormData();
  body.set("file", wavFile(1500));
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const headers = { authorization: `Bearer ${goodKey}` };
  return { ...http, response: await http.ask("audio/translations", { method: "POST", headers, body }) };
}

describe("POST /audio/translations", () => {
  test("answers the text in English, charged by its length, of OpenAI's model where the form names none", async () => {
    const { response, ledger } = await translate();
    expect(await response.json()).toEqual({ text: transcript.text, usage: { type: "duration", seconds: 3662 } });
    expect(ledger.claims[0]).toMatchObject({ capability: "translation", model: "hear-1" });
    expect(ledger.settlement.meters).toEqual({ audioMs: 3_661_500 });
  });

  test("says in verbose JSON that it is English", async () => {
    const { response } = await translate({ model: "hear-1", response_format: "verbose_json" });
    expect(await response.json()).toMatchObject({
      task: "translate",
      language: "english",
      segments: transcript.segments,
    });
  });

  test.each([
    ["text", transcript.text],
    ["srt", "1\n00:00:00,000 --> 00:00:01,250\nGood evening.\n\n2\n00:00:01,250 --> 01:01:01,500\nAnd good night.\n"],
    [
      "vtt",
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.250\nGood evening.\n\n00:00:01.250 --> 01:01:01.500\nAnd good night.\n",
    ],
  ])("answers %s", async (response_format, text) => {
    const { response } = await translate({ response_format });
    expect([response.status, await response.text()]).toEqual([200, text]);
  });

  test.each([[[]], [undefined]])("is refused for a model whose features are %p", async (features) => {
    const { response } = await translate({ model: "hear-1" }, { features } as Partial<Model>);
    await expectError(response, { status: 400, param: "model", says: "/audio/translations" });
  });

  test("refuses a format that there is not", async () => {
    await expectError((await translate({ response_format: "ass" })).response, {
      status: 400,
      param: "response_format",
    });
  });
});
