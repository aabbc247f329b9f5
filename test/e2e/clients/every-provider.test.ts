import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { recordingAt, recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { saidIn } from "../../support/said-in.ts";
import { wavFile } from "../../support/wav.ts";
import { type Bench, startBench } from "../replay/bench.ts";
import { type Plan, providers, replayOf } from "../replay/plan.ts";
import { officialOf, type Talker, talkersOf } from "./talkers.ts";

/** A call of a tool and the answer to its result, whole and streamed, of each provider that has both recorded. */
const turns: [string, string, string, string][] = [
  ["anthropic", "famC-haiku-4-5", "tools/haiku-4.5-four-parallel.json", "tools/haiku-4.5-after-two-tool-results.json"],
  [
    "anthropic",
    "famC-haiku-4-5",
    "tools/haiku-4.5-stream-no-arg-tool.sse",
    "tools/haiku-4.5-stream-after-tool-result.sse",
  ],
  [
    "gemini",
    "famB-2.5-flash",
    "tools/2.5-flash-parallel-function-calls.json",
    "tools/2.5-flash-after-two-function-responses.json",
  ],
  ["gemini", "famB-3-flash", "tools/2.5-flash-tool-choice-required.json", "tools/3.1-pro-after-function-response.json"],
  [
    "gemini",
    "famB-3-flash",
    "tools/thinking-summary-then-signed-function-call-stream.sse",
    "thinking/3-flash-stream-thoughts.sse",
  ],
  ["gemini", "famB-2.5-flash", "tools/2.5-flash-stream-function-call.sse", "stream/2.0-flash-exp-stream.sse"],
  [
    "groq",
    "famD-4-scout-17b-16e-instruct",
    "chat-tools/llama-4-scout-parallel-two-calls.json",
    "chat-tools/llama-4-scout-after-tool.json",
  ],
  ["groq", "famA/oss-120b", "chat-tools/tool-call-chunks.chunks.txt", "chat-tools/gpt-oss-120b-stream-after-tool.sse"],
  [
    "openai",
    "famA-4o-mini",
    "chat-tools/gpt-5-nano-parallel-tools.json",
    "chat-tools/gpt-4.1-nano-after-tool-result.json",
  ],
  [
    "openai",
    "famA-4o-mini",
    "chat-tools/gpt-3.5-turbo-stream-parallel-tool-calls.sse",
    "chat-tools/gpt-4o-mini-stream-after-tool-result.sse",
  ],
];

const schemas: [string, string, string][] = [
  ["anthropic", "famC-haiku-4-5", "json-schema/haiku-4.5-output-config-format.json"],
  ["gemini", "famB-2.5-flash", "json-schema/2.5-flash-response-json-schema.json"],
  ["groq", "famA/oss-120b", "chat-json/gpt-oss-120b-json-object.json"],
  ["openai", "famA-4o-mini", "chat-json-schema/gpt-4o-mini-strict-json-schema.json"],
];

const pictures: [string, string, string][] = [
  ["anthropic", "famC-haiku-4-5", "vision/haiku-4.5-image-url.json"],
  ["gemini", "famB-2.5-flash", "vision/2.5-flash-inline-image.json"],
  ["groq", "famD-4-scout-17b-16e-instruct", "vision/llama-4-scout-image-url-detail.json"],
  ["openai", "famA-4o", "chat-vision/gpt-4o-image-data-url.json"],
];
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Base64 of any size is read by each client in its own way: as floats for those that cannot. */
const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan !== undefined && plan.recording.status === 200) as Plan[];
const embeddings = plans.filter(({ endpoint }) => endpoint === "/embeddings");

describe.skipIf(recordingsMissing !== undefined)("every provider by every client", () => {
  let bench: Bench;
  let talkers: Talker[];
  beforeAll(async () => {
    (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
    bench = await startBench();
    talkers = talkersOf(bench.gateway);
  });
  afterAll(() => bench.stop());

  test.each(turns)("%s, %s: %s, then %s with the tool's result", async (provider, model, first, second) => {
    const [call, answer] = [recordingAt(`${provider}/${first}`), recordingAt(`${provider}/${second}`)];
    const stream = !first.endsWith(".json");
    const names = [...new Set(saidIn(call).choices[0]?.tools.map(({ name }) => name))];
    for (const talker of talkers) {
      bench.upstream.answer(provider, replyOf(call), replyOf(answer));
      const said = await talker.toolTurn(model, names, stream);
      expect({ by: talker.name, said }).toEqual({ by: talker.name, said: saidIn(answer).choices[0]?.text as string });
      const asked = JSON.stringify(bench.upstream.seen.at(-1)?.json);
      for (const wanted of ["it is done", ...names]) expect(asked).toContain(wanted);
    }
  });

  test.each(schemas)("%s, %s: %s fills a schema", async (provider, model, path) => {
    const recording = recordingAt(`${provider}/${path}`);
    for (const talker of talkers) {
      bench.upstream.answer(provider, replyOf(recording));
      const wanted = JSON.parse(saidIn(recording).choices[0]?.text as string) as unknown;
      expect([talker.name, await talker.fillSchema(model)]).toEqual([talker.name, wanted]);
    }
  });

  test.each(pictures)("%s, %s: %s is said of a picture", async (provider, model, path) => {
    const recording = recordingAt(`${provider}/${path}`);
    for (const talker of talkers) {
      bench.upstream.answer(provider, replyOf(recording));
      const said = await talker.lookAt(model, png);
      expect([talker.name, said]).toEqual([talker.name, saidIn(recording).choices[0]?.text as string]);
      expect(JSON.stringify(bench.upstream.seen.at(-1)?.json)).toContain(png);
    }
  });

  test.each(embeddings.map((plan): [string, Plan] => [plan.recording.path, plan]))(
    "%s is embedded",
    async (_, plan) => {
      const { provider, row, body, recording } = plan;
      const values = [body?.input as string | string[]].flat();
      const dimensions = body?.dimensions as number | undefined;
      const { data } = JSON.parse(new TextDecoder().decode(recording.body)) as { data?: { embedding: unknown }[] };
      const recorded = data?.[0]?.embedding;
      const length = Array.isArray(recorded) ? recorded.length : (dimensions ?? row.dimensions?.default);
      for (const talker of talkers) {
        bench.upstream.answer(provider, replyOf(recording));
        const lengths = await talker.embeddings(row.id, values, dimensions);
        expect([talker.name, lengths]).toEqual([talker.name, values.map(() => length as number)]);
      }
    },
  );

  const media = (endpoint: Plan["endpoint"], provider?: string) =>
    plans
      .filter((plan) => plan.endpoint === endpoint && (provider ?? plan.provider) === plan.provider)
      .map((plan): [string, Plan] => [plan.recording.path, plan]);

  test.each(media("/images/generations"))("%s is drawn", async (_, { provider, row, recording }) => {
    for (const talker of talkers.filter((one) => one.draw !== undefined)) {
      bench.upstream.answer(provider, replyOf(recording));
      const picture = Buffer.from((await talker.draw?.(row.id)) as Uint8Array).toString("base64");
      expect(new TextDecoder().decode(recording.body)).toContain(picture);
    }
  });

  test.each(media("/audio/speech", "sarvam"))("%s is spoken", async (_, { provider, row, recording }) => {
    bench.upstream.answer(provider, replyOf(recording));
    const heard = await officialOf(bench.gateway).audio.speech.create({
      model: row.id,
      input: "Hello",
      voice: "shubh",
    });
    expect(Buffer.from(await heard.arrayBuffer()).toString("latin1", 0, 4)).toBe("RIFF");
  });

  test.each(media("/audio/transcriptions"))("%s is transcribed", async (_, { provider, row, recording }) => {
    bench.upstream.answer(provider, replyOf(recording));
    const body = JSON.parse(new TextDecoder().decode(recording.body)) as { text?: string; transcript?: string };
    const text = body.text ?? body.transcript;
    const { transcriptions } = officialOf(bench.gateway).audio;
    const asked = transcriptions.create({ model: row.id, file: wavFile(2000) });
    if (text !== undefined) expect((await asked).text).toBe(text);
    else expect(await asked.then(String, (error: Error) => error.constructor.name)).toBe("InternalServerError");
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
