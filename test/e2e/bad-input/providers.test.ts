import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectError, type PromisedError } from "../../support/expect-error.ts";
import { jsonReply } from "../../support/reply.ts";
import { wavFile } from "../../support/wav.ts";
import { type Bench, startBench } from "../replay/bench.ts";

type Json = Record<string, unknown>;
type Row = [about: string, model: string, body: Json, promised: Omit<PromisedError, "status">];

const [claude, gemini] = ["famC-haiku-4-5", "famB-2.5-flash"];
const asking = (...content: Json[]): Json => ({ messages: [{ role: "user", content }] });
const picture = (url: string) => asking({ type: "image_url", image_url: { url } });
const sound = asking({ type: "input_audio", input_audio: { data: "AAAA", format: "midi" } });
const tool = (parameters: Json, name = "f"): Json => ({ type: "function", function: { name, parameters } });
const plain: Json = { messages: [{ role: "user", content: "Hello" }] };
const called = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
const deep = JSON.parse(`${'{"type":"array","items":'.repeat(150)}{}${"}".repeat(150)}`) as Json;
const schema = (given: Json) => ({ type: "json_schema", json_schema: { name: "answer", schema: given } });
const place = "messages[0].content[0]";

/** What no provider of the model could be asked: refused before anything is held, so that there is no call in the ledger. */
const chats: Row[] = [
  [
    "a picture of a type it does not take",
    claude,
    picture("data:image/tiff;base64,AAAA"),
    { param: `${place}.image_url.url`, says: "image/webp" },
  ],
  [
    "a picture of a type it does not take",
    gemini,
    picture("data:image/svg+xml;base64,AAAA"),
    { param: `${place}.image_url.url`, says: "image/webp" },
  ],
  ["a picture that is no base64", claude, picture("data:image/png;base64,***"), { says: "base64" }],
  ["a picture that is no base64", gemini, picture("data:image/png;base64,***"), { says: "base64" }],
  ["a picture of nothing", claude, picture("data:image/png;base64,"), { says: "no data" }],
  ["a picture of nothing", gemini, picture("data:image/png;base64,"), { says: "no data" }],
  ["a picture's address that is not https", claude, picture("http://example.com/a.png"), { says: "https" }],
  ["a picture's address that is not https", gemini, picture("http://example.com/a.png"), { says: "https" }],
  ["a picture from a file", gemini, picture("file:///etc/passwd"), { param: `${place}.image_url.url` }],
  ["sound where it takes none", claude, sound, { param: place, says: "image_url" }],
  ["sound of a type it does not take", gemini, sound, { param: `${place}.input_audio`, says: "audio/wav" }],
  [
    "a result without a call",
    claude,
    { messages: [...(plain.messages as []), { role: "tool", tool_call_id: "x", content: "1" }] },
    { param: "messages[1].tool_call_id" },
  ],
  [
    "a result without a call",
    gemini,
    { messages: [...(plain.messages as []), { role: "tool", tool_call_id: "x", content: "1" }] },
    { param: "messages[1].tool_call_id" },
  ],
  [
    "a call without a result",
    claude,
    { messages: [...(plain.messages as []), { role: "assistant", tool_calls: [called] }] },
    { param: "messages[1].tool_calls[0]" },
  ],
  [
    "a call without a result",
    gemini,
    { messages: [...(plain.messages as []), { role: "assistant", tool_calls: [called] }] },
    { param: "messages[1].tool_calls[0]" },
  ],
  [
    "a choice of a tool there is not",
    claude,
    { ...plain, tools: [tool({})], tool_choice: { type: "function", function: { name: "g" } } },
    { param: "tool_choice", says: "f" },
  ],
  [
    "a choice of a tool there is not",
    gemini,
    { ...plain, tools: [tool({})], tool_choice: { type: "function", function: { name: "g" } } },
    { param: "tool_choice", says: "f" },
  ],
  [
    "a function's name it cannot have",
    gemini,
    { ...plain, tools: [tool({}, "what is this")] },
    { param: "tools[0].function.name", says: "letters" },
  ],
  ["a schema nested too deep", gemini, { ...plain, tools: [tool(deep)] }, { param: "tools[0].function.parameters" }],
  [
    "a schema nested too deep",
    claude,
    { ...plain, response_format: schema(deep) },
    { param: "response_format.json_schema.schema" },
  ],
  ["more choices than can be made", claude, { ...plain, n: 17 }, { param: "n", says: "16" }],
  ["more choices than can be made", "famD-3.1-8b-instant", { ...plain, n: 17 }, { param: "n", says: "16" }],
  ["no choice at all", gemini, { ...plain, n: 0 }, { param: "n" }],
];

const others: [string, string, Json, Omit<PromisedError, "status">][] = [
  [
    "/audio/speech",
    "an unknown voice",
    { model: "famT/v1-english", voice: "nobody" },
    { param: "voice", says: "diana" },
  ],
  ["/audio/speech", "an unknown voice", { model: "famF-tts", voice: "nobody" }, { param: "voice", says: "shubh" }],
  [
    "/audio/speech",
    "an unknown language",
    { model: "famF-tts", target_language_code: "fr-FR" },
    { param: "target_language_code", says: "hi-IN" },
  ],
  [
    "/audio/speech",
    "a sample rate it does not have",
    { model: "famF-tts", speech_sample_rate: 12_345 },
    { param: "speech_sample_rate", says: "22050" },
  ],
  ["/audio/speech", "a pace out of its range", { model: "famF-tts", pace: 2.9 }, { param: "pace", says: "0.5 to 2" }],
  [
    "/audio/speech",
    "a text of more than fifty parts of what it takes at once",
    { model: "famT/v1-english", input: "a".repeat(10_001) },
    { param: "input", says: "50 parts" },
  ],
  ["/images/generations", "a size that is none", { prompt: "A kite", size: "huge" }, { param: "size", says: "auto" }],
  [
    "/images/generations",
    "an unknown quality",
    { prompt: "A kite", quality: "best" },
    { param: "quality", says: "hd" },
  ],
  ["/images/generations", "too many pictures", { prompt: "A kite", n: 11 }, { param: "n", says: "10" }],
  [
    "/embeddings",
    "dimensions it cannot have",
    { model: "famB-embedding-001", input: "Hi", dimensions: 64 },
    { param: "dimensions", says: "128" },
  ],
];

describe("what a provider could not be asked", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  async function expectRefused(path: string, body: Json, promised: Omit<PromisedError, "status">): Promise<void> {
    const before = bench.ledger.counts().calls;
    const asked = bench.upstream.seen.length;
    await expectError(await bench.gateway.post(path, body), { status: 400, code: "invalid_request", ...promised });
    expect(bench.ledger.counts().calls).toBe(before);
    expect(bench.upstream.seen.length).toBe(asked);
  }

  test.each(chats)("%s, of %s: is refused, streamed or not, and nothing is held", async (_, model, body, promised) => {
    for (const stream of [false, true]) await expectRefused("/chat/completions", { ...body, model, stream }, promised);
  });

  test.each(others)("%s with %s is refused, and nothing is held", async (path, _, body, promised) => {
    await expectRefused(path, { model: "famB-3-pro-image-preview", input: "Hello", ...body }, promised);
  });

  test("a recording longer than the model takes, or of another language, is refused, and nothing is held", async () => {
    for (const [field, value, param] of [
      ["language", "fr", "language"],
      ["prompt", "Hi", "file"],
    ] as const) {
      const form = new FormData();
      form.append("file", wavFile(param === "file" ? 31_000 : 1000));
      form.append("model", "famF-stt");
      form.append(field, value);
      const before = bench.ledger.counts().calls;
      const response = await bench.gateway.ask("/audio/transcriptions", { method: "POST", body: form });
      await expectError(response, { status: 400, param });
      expect(bench.ledger.counts().calls).toBe(before);
    }
  });

  test.each(["https://127.0.0.1/a.png", "https://[::1]/a.png", "https://10.0.0.7/a.png", "https://localhost/a.png"])(
    "a picture at %s is not fetched, and what was held is free again",
    async (url) => {
      const response = await bench.gateway.post("/chat/completions", { ...picture(url), model: gemini });
      await expectError(response, { status: 400, param: `${place}.image_url.url`, says: "Cannot fetch" });
      expect(bench.ledger.callOf(response)).toMatchObject({ state: "released", charged_nanodollars: 0 });
    },
  );

  const theirs: [provider: string, model: string, body: Json][] = [
    ["openai", "famA-4o-mini", { error: { message: "Too odd", param: "messages" } }],
    ["groq", "famD-3.1-8b-instant", { error: { message: "Too odd" } }],
    ["anthropic", claude, { type: "error", error: { type: "invalid_request_error", message: "Too odd" } }],
    ["gemini", gemini, { error: { code: 400, message: "Too odd" } }],
    ["sarvam", "famF-m", { error: { message: "Too odd" } }],
  ];

  test.each(theirs)("%s' own refusal comes through in its words", async (provider, model, body) => {
    bench.upstream.answer(provider, jsonReply(body, provider === "sarvam" ? 422 : 400));
    const response = await bench.gateway.post("/chat/completions", { ...plain, model });
    await expectError(response, { status: 400, says: "Too odd" });
  });

  test.each(theirs)("%s' refusal of our key never does", async (provider, model, body) => {
    for (const status of [401, 403]) {
      bench.upstream.answer(provider, jsonReply(body, status));
      const response = await bench.gateway.post("/chat/completions", { ...plain, model });
      const { message } = await expectError(response, { status: 500, code: "upstream_error" });
      expect(message).not.toContain("Too odd");
    }
  });
});
