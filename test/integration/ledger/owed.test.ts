import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { closeCircuits } from "../../support/close-circuits.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply, type Reply, textReply } from "../../support/reply.ts";
import { wavFile } from "../../support/wav.ts";

/**
 * What a provider served is owed, whatever becomes of the answer: every way in which an exchange can end, by capability and
 * protocol, through the running gateway.
 */
const bounds = { firstByteMsMax: 400, idleMsMax: 400, answerBytesMax: 4096 };
let gateway: InProcessGateway;
let upstream: ReplayUpstream;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = {
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: upstream.baseUrlOf("anthropic", "/v1"),
    GEMINI_API_KEY: "k",
    GEMINI_BASE_URL: upstream.baseUrlOf("gemini", "/v1beta"),
    GROQ_API_KEY: "k",
    GROQ_BASE_URL: upstream.baseUrlOf("groq", "/v1"),
    REQUESTS_PER_MINUTE: "100000",
    TOKENS_PER_MINUTE: "1000000000",
  };
  gateway = await startInProcess({ env, bounds });
});
afterAll(async () => {
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
  await gateway.stop();
  await upstream.stop();
});

/** A way to ask: where, with what, of which provider, and what it reports of 60 000 tokens of prompt and 500 of output. */
interface Way {
  provider: string;
  path: string;
  body: Record<string, unknown> | (() => FormData);
  /** The provider's answer with this report, of which the rest is not an answer. */
  odd: (input: number, output: number) => unknown;
}

const messages = [{ role: "user", content: "Say hello" }];
const openaiUsage = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
});
const tokenUsage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});
const geminiAnswer = (reason: string, input: number, output: number, parts: unknown[] = []) => ({
  candidates: [{ content: { parts }, finishReason: reason }],
  usageMetadata: { promptTokenCount: input, candidatesTokenCount: 0, thoughtsTokenCount: output },
});

const transcriptionForm = () => {
  const form = new FormData();
  form.append("model", "gpt-4o-transcribe");
  form.append("file", wavFile(1000));
  return form;
};

const ways: Record<string, Way> = {
  "chat of OpenAI": {
    provider: "openai",
    path: "/chat/completions",
    body: { model: "famA-4.1-mini", messages },
    odd: (input, output) => ({ choices: [], usage: openaiUsage(input, output) }),
  },
  "chat of Anthropic": {
    provider: "anthropic",
    path: "/chat/completions",
    body: { model: "famC-sonnet-4-5", messages },
    odd: (input, output) => ({ content: "?", usage: { input_tokens: input, output_tokens: output } }),
  },
  "chat of Gemini": {
    provider: "gemini",
    path: "/chat/completions",
    body: { model: "famB-2.0-flash", messages },
    odd: (input, output) => geminiAnswer("MALFORMED_FUNCTION_CALL", input, output),
  },
  "Responses of OpenAI": {
    provider: "openai",
    path: "/responses",
    body: { model: "famA-4.1-mini", input: "Say hello" },
    odd: (input, output) => ({ status: "failed", error: { message: "No" }, usage: tokenUsage(input, output) }),
  },
  "Messages of Anthropic": {
    provider: "anthropic",
    path: "/messages",
    body: { model: "famC-sonnet-4-5", max_tokens: 1000, messages },
    odd: (input, output) => ({ type: "message", usage: { input_tokens: input, output_tokens: output } }),
  },
  "pictures of Gemini": {
    provider: "gemini",
    path: "/images/generations",
    body: { model: "gemini-2.5-flash-image", prompt: "Do not draw. What is the capital of France?" },
    odd: (input, output) => geminiAnswer("STOP", input, output, [{ text: "The capital of France is Paris." }]),
  },
  "pictures of OpenAI": {
    provider: "openai",
    path: "/images/generations",
    body: { model: "gpt-image-2", prompt: "A cat" },
    odd: (input, output) => ({
      data: [{ no: "picture" }],
      usage: { ...tokenUsage(input, output), output_tokens_details: { text_tokens: output, image_tokens: 0 } },
    }),
  },
  transcription: {
    provider: "openai",
    path: "/audio/transcriptions",
    body: transcriptionForm,
    odd: (input, output) => ({
      usage: { ...tokenUsage(input, output), input_tokens_details: { text_tokens: input, audio_tokens: 0 } },
    }),
  },
  embeddings: {
    provider: "openai",
    path: "/embeddings",
    body: { model: "text-embedding-3-small", input: "Hello" },
    odd: (input) => ({ data: "?", usage: { prompt_tokens: input, total_tokens: input } }),
  },
};
const names = Object.keys(ways);
const chats = names.filter((name) => /chat|Responses|Messages/.test(name));

async function ask(name: string, ...replies: Reply[]) {
  const { provider, path, body } = ways[name] as Way;
  return askAs({ provider, path, body }, ...replies);
}

/** Asks with these replies of the provider; a function among them sees the text of the answer as far as it has come. */
async function askAs(
  { provider, path, body }: Pick<Way, "provider" | "path" | "body">,
  ...replies: (Reply | ((text: string) => void))[]
) {
  upstream.answer(provider, ...replies.filter((reply) => typeof reply !== "function"));
  const response = await fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.key}`,
      ...(typeof body !== "function" && { "content-type": "application/json" }),
    },
    body: typeof body === "function" ? body() : JSON.stringify(body),
  });
  const watchers = replies.filter((reply) => typeof reply === "function");
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    for (const watch of watchers) watch(text);
  }
  const row = await gateway.store.db.selectFrom("calls").selectAll().orderBy("seq", "desc").limit(1).executeTakeFirst();
  return { status: response.status, text, call: row as NonNullable<typeof row> };
}

beforeEach(() => closeCircuits(gateway));

const odd = (name: string, input = 6000, output = 500) => jsonReply((ways[name] as Way).odd(input, output));

describe("an answer that cannot be given out", () => {
  test.each(names)("costs what it reports: %s", async (name) => {
    const { status, text, call } = await ask(name, odd(name));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain("Paris");
    expect(call).toMatchObject({ state: "settled", usage_source: "reported", input_tokens: 6000 });
    if (name !== "embeddings") expect(call.output_tokens).toBe(500);
    expect(call.cost_nanodollars).toBeGreaterThan(0);
  });

  test.each(names)("costs its estimate where it is cut: %s", async (name) => {
    const { status, call } = await ask(name, { ...odd(name), fault: { kind: "cutAfter", bytes: 20 } });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.cost_nanodollars).toBeGreaterThan(0);
  });

  test.each(names)("costs its estimate where it is not JSON to its end: %s", async (name) => {
    const { status, call } = await ask(name, textReply('{"choices": [{"message": {"content": "Hello'));
    expect(status).toBeGreaterThanOrEqual(500);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.cost_nanodollars).toBeGreaterThan(0);
  });

  test.each(names)("costs its estimate where it is too long, which opens no circuit: %s", async (name) => {
    const long = textReply(`{"content": "${"word ".repeat(2000)}"}`);
    for (let count = 0; count < 6; count++) {
      const { status, call } = await ask(name, long);
      expect(status).toBeGreaterThanOrEqual(500);
      expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
      expect(call.charged_nanodollars ?? 0).toBeLessThanOrEqual(call.hold_nanodollars);
      if (chats.includes(name)) expect(call.output_tokens).toBeGreaterThan(500);
    }
    expect((await ask(name, odd(name))).call.usage_source).toBe("reported");
  });

  test.each(names)("costs nothing where the provider refuses, by its status or in its answer: %s", async (name) => {
    const refusals = [jsonReply({ error: { message: "Busy" } }, 400), jsonReply({ error: { message: "Busy" } })];
    for (const reply of [...refusals, textReply("<html>Blocked</html>", "text/html")]) {
      const { status, call } = await ask(name, reply);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(call).toMatchObject({ state: "released", usage_source: "none", charged_nanodollars: 0 });
    }
  });
});

describe("a refusal before any output", () => {
  const explanation = "This request was declined because of what it may be used for. ".repeat(5);
  const details = { type: "refusal", category: "cyber", explanation };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    stop_sequence: null,
  };
  const whole = () =>
    jsonReply({
      ...message,
      stop_reason: "refusal",
      stop_details: details,
      usage: { input_tokens: 10, output_tokens: 0 },
    });
  const streamed = () =>
    eventsReply(
      {
        type: "message_start",
        message: { ...message, stop_reason: null, usage: { input_tokens: 10, output_tokens: 0 } },
      },
      { type: "message_delta", delta: { stop_reason: "refusal", stop_details: details }, usage: { output_tokens: 0 } },
      { type: "message_stop" },
    );
  const model = "famC-sonnet-4-5";

  test.each([
    ["/chat/completions", { model, messages }],
    ["/responses", { model, input: "Say hello" }],
    ["/messages", { model, max_tokens: 1000, messages }],
  ])("costs its prompt alone, as the provider reports it, whole and streamed: %s", async (path, body) => {
    for (const [reply, stream] of [
      [whole(), false],
      [streamed(), true],
    ] as const) {
      const { status, text, call } = await askAs({ provider: "anthropic", path, body: { ...body, stream } }, reply);
      expect([path, stream, status]).toEqual([path, stream, 200]);
      expect(text).toContain("may be used for");
      expect(call).toMatchObject({ usage_source: "reported", input_tokens: 10, output_tokens: 0 });
    }
  });
});

describe("a provider that is silent for too long", () => {
  test.each(names)("is owed the prompt, because it goes on: %s", async (name) => {
    const { status, call } = await ask(name, { ...odd(name), fault: { kind: "hang" } });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated", error_code: "upstream_timeout" });
    expect(call.cost_nanodollars).toBeGreaterThan(0);
    // Output that cannot be seen counts by the time in which it is made: 100 tokens a second.
    if (chats.includes(name)) expect(call.output_tokens).toBeGreaterThanOrEqual(40);
    expect(call.charged_nanodollars ?? 0).toBeLessThanOrEqual(call.hold_nanodollars);
  });
});

describe("a provider that is silent for too long over pictures", () => {
  const hung = { ...jsonReply({}), fault: { kind: "hang" } } as const;

  test.each([
    ["by the piece", "gemini", "famB-3-pro-image-preview", 3],
    ["by the token", "openai", "gpt-image-2", 1],
  ])("is owed those that it was asked for, which it goes on to make: %s", async (_, provider, model, requests) => {
    const body = { model, prompt: "A cat", n: 3 };
    const replies = Array.from({ length: requests }, () => hung);
    const { status, call } = await askAs({ provider, path: "/images/generations", body }, ...replies);
    expect(status).toBeGreaterThanOrEqual(500);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated", error_code: "upstream_timeout" });
    if (provider === "gemini") expect(call).toMatchObject({ images: 3 });
    else expect(call.image_output_tokens).toBeGreaterThan(3 * 1000);
  });

  test("is owed one that it was asked for beside others that came", async () => {
    const part = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    const picture = jsonReply(geminiAnswer("STOP", 10, 0, [part]));
    const body = { model: "famB-3-pro-image-preview", prompt: "A cat", n: 3 };
    const { status, text, call } = await askAs(
      { provider: "gemini", path: "/images/generations", body },
      ...[picture, hung, picture],
    );
    expect([status, (JSON.parse(text) as { data: unknown[] }).data.length]).toEqual([200, 2]);
    expect(call).toMatchObject({ state: "settled", images: 3 });
  });
});

describe("a report that no call can have", () => {
  test.each(names)("is not believed: %s", async (name) => {
    const { call } = await ask(name, odd(name, 8_000_000_000, 500));
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.input_tokens ?? 0).toBeLessThan(10_000);
    expect(call.charged_nanodollars ?? 0).toBeLessThanOrEqual(call.hold_nanodollars);
  });

  test("costs the most of the call in an answer that is given out, and is shown so", async () => {
    const usage = openaiUsage(8_000_000_000, 8_000_000);
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    const way = ways["chat of OpenAI"] as Way;
    const body = { ...(way.body as object), max_tokens: 300 };
    const { status, text, call } = await askAs({ ...way, body }, jsonReply({ choices, usage }));
    expect(status).toBe(200);
    const shown = (JSON.parse(text) as { usage: Record<string, number> }).usage;
    expect(shown.completion_tokens).toBe(300);
    expect(call).toMatchObject({ output_tokens: 300, charged_nanodollars: call.hold_nanodollars });
  });
});

describe("of several requests that serve one call", () => {
  const choice = (text: string) =>
    jsonReply({
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: openaiUsage(10, 3),
    });
  const body = { model: "famD-3.3-70b-versatile", n: 3, messages };
  const groq = { provider: "groq", path: "/chat/completions", body };
  const busy = jsonReply({ error: { message: "Busy" } }, 429);

  test("those that were served are charged and given out", async () => {
    const { status, text, call } = await askAs(groq, choice("one"), busy, choice("three"));
    expect(status).toBe(200);
    const answer = JSON.parse(text) as { choices: { index: number }[]; usage: object };
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 6 });
    expect(call).toMatchObject({ input_tokens: 20, output_tokens: 6, usage_source: "reported" });
  });

  test("those whose answer cannot be given out are charged too", async () => {
    const { status, text, call } = await askAs(groq, choice("one"), odd("chat of OpenAI", 100, 7), choice("three"));
    expect(status).toBe(200);
    expect((JSON.parse(text) as { usage: object }).usage).toMatchObject({ prompt_tokens: 120, completion_tokens: 13 });
    expect(call).toMatchObject({ input_tokens: 120, output_tokens: 13, usage_source: "reported" });
  });

  test("one that is silent for too long is owed its prompt beside those that were given out", async () => {
    const hung = { ...busy, fault: { kind: "hang" } } as const;
    const { status, text, call } = await askAs(groq, choice("one"), hung, choice("three"));
    expect([status, (JSON.parse(text) as { choices: unknown[] }).choices.length]).toEqual([200, 2]);
    expect(call).toMatchObject({ output_tokens: 6, usage_source: "estimated" });
    expect(call.input_tokens ?? 0).toBeGreaterThan(20);
    expect(call.charged_nanodollars ?? 0).toBeLessThanOrEqual(call.hold_nanodollars);
  });

  test("a streamed one that breaks off is estimated beside what the finished ones reported, their thoughts too", async () => {
    const usage = { input_tokens: 10, output_tokens: 900, total_tokens: 910 };
    const finished = eventsReply(
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Yes" },
      { type: "response.completed", response: { status: "completed", output: [], usage } },
    );
    const begun = eventsReply({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta: "one two three four five six seven eight nine ten ".repeat(10),
    });
    const broken = { ...begun, fault: { kind: "hangAfter", bytes: begun.body.length } } as const;
    const body = { model: "gpt-5.3-codex", n: 2, stream: true, messages };
    const asked = { provider: "openai", path: "/chat/completions", body };
    // `fetch` drops what was not read when a connection ends: it ends once the client has the last of the words.
    const { call } = await askAs(asked, finished, broken, (text) => text.includes("nine ten ") && upstream.cut());
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    // A word of the broken one is a token; those of the finished one are in its report.
    expect(call.output_tokens).toBeGreaterThanOrEqual(900 + 100);
    expect(call.output_tokens).toBeLessThanOrEqual(900 + 102);
    expect(call.input_tokens ?? 0).toBeGreaterThan(10);
  });

  test("nothing is sent again where one was served and none can be given out", async () => {
    const before = upstream.seen.length;
    const { status, call } = await askAs(groq, odd("chat of OpenAI", 100, 7), busy);
    expect([status, upstream.seen.length - before]).toEqual([500, 3]);
    expect(call).toMatchObject({ input_tokens: 100, output_tokens: 7, usage_source: "reported" });
  });

  test("pictures are fewer, and the words of one are charged as words", async () => {
    const picture = geminiAnswer("STOP", 10, 0, [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }]);
    const drawn = { ...picture.usageMetadata, candidatesTokenCount: 1290 };
    const way = ways["pictures of Gemini"] as Way;
    const { status, text, call } = await askAs(
      { ...way, body: { ...(way.body as object), n: 3 } },
      jsonReply({ ...picture, usageMetadata: drawn }),
      odd("pictures of Gemini", 50, 20),
      jsonReply({ ...picture, usageMetadata: drawn }),
    );
    expect(status).toBe(200);
    expect((JSON.parse(text) as { data: unknown[] }).data).toHaveLength(2);
    expect(call).toMatchObject({ input_tokens: 70, image_output_tokens: 2580, output_tokens: 20 });
  });
});

describe("a stream of images", () => {
  const body = { model: "gpt-image-2", prompt: "A cat", stream: true, partial_images: 1 };
  const openai = { provider: "openai", path: "/images/generations", body };
  const partial = { type: "image_generation.partial_image", b64_json: "iVBORw0KGgo=", partial_image_index: 0 };
  const completed = { type: "image_generation.completed", b64_json: "iVBORw0KGgo=", usage: tokenUsage(10, 1000) };
  const eventsOf = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);

  test("costs what its last event reports", async () => {
    const { text, call } = await askAs(openai, eventsReply(partial, completed));
    expect(eventsOf(text)).toEqual(["image_generation.partial_image", "image_generation.completed"]);
    expect(call).toMatchObject({ state: "settled", usage_source: "reported", input_tokens: 10 });
    expect(call.image_output_tokens).toBe(1000);
  });

  test.each<[string, Reply, object, number]>([
    ["breaks off", eventsReply(partial), { state: "settled", usage_source: "estimated" }, 0],
    [
      "says an error",
      eventsReply(partial, { type: "error", error: { message: "No" } }),
      { state: "released", usage_source: "none" },
      0,
    ],
    // The provider goes on and makes the image.
    [
      "is silent for too long",
      { ...eventsReply(partial), fault: { kind: "hangAfter", bytes: 120 } },
      { state: "settled", usage_source: "estimated" },
      1000,
    ],
  ])("that %s after an unfinished image ends with an error", async (_, reply, state, imageTokensMin) => {
    const { text, call } = await askAs(openai, reply);
    expect(eventsOf(text).slice(0, 1)).toEqual(["image_generation.partial_image"]);
    expect(text).not.toContain("image_generation.completed");
    expect(text).toContain('"error"');
    expect(call).toMatchObject(state);
    expect(call.image_output_tokens ?? 0).toBeGreaterThanOrEqual(imageTokensMin);
    expect(call.charged_nanodollars ?? 0).toBeLessThanOrEqual(call.hold_nanodollars);
  });
});

describe("a stream", () => {
  const gemini = {
    provider: "gemini",
    path: "/chat/completions",
    body: { model: "famB-2.5-flash", messages, stream: true },
  };

  test("without an answer costs what it reports", async () => {
    const reply = eventsReply(geminiAnswer("MALFORMED_FUNCTION_CALL", 6000, 500));
    const { call } = await askAs(gemini, reply);
    expect(call).toMatchObject({ state: "settled", usage_source: "reported", input_tokens: 6000, output_tokens: 500 });
  });

  test("that is an error from the start costs nothing", async () => {
    const { call } = await askAs(gemini, eventsReply({ error: { message: "Busy", code: 503, status: "UNAVAILABLE" } }));
    expect(call).toMatchObject({ state: "released", charged_nanodollars: 0 });
  });
});
