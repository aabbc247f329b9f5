/** What was asked for without the money for it, because the hold did not see it: each of these overdrew a wallet. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { creditWallet } from "../../../src/ledger/index.ts";
import { chunk, concat, flacFrames, flacHead, le } from "../../support/audio-files.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/** What a provider bills: more than five cents with every model that is asked here. */
const billedTokens = 350_000;
const dollar = 1_000_000_000;
const pdf = `data:application/pdf;base64,${Buffer.from("%PDF-1.7 a page whose text is deflated").toString("base64")}`;
const text = "㐀㐁㐂㑃㒄 ".repeat(45_000);

let asked: string[] = [];
/** What it says when it is asked for a count. */
let countedTokens = billedTokens;
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    await request.arrayBuffer();
    asked.push(pathname);
    if (/count_tokens|input_tokens|countTokens/.test(pathname))
      return Response.json({ input_tokens: countedTokens, totalTokens: countedTokens });
    if (pathname.endsWith("/transcriptions")) return Response.json({ text: "Silence", duration: 7200 });
    const usage = { input_tokens: billedTokens, output_tokens: 1 };
    if (pathname.endsWith("/messages")) {
      const content = [{ type: "text", text: "Read" }];
      return Response.json({ id: "m", type: "message", role: "assistant", content, stop_reason: "end_turn", usage });
    }
    if (pathname.endsWith("/responses")) {
      const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Read" }] }];
      return Response.json({ id: "r", object: "response", status: "completed", output, usage });
    }
    if (pathname.includes(":generateContent")) {
      const usageMetadata = { promptTokenCount: billedTokens, candidatesTokenCount: 1 };
      return Response.json({
        candidates: [{ content: { parts: [{ text: "Read" }] }, finishReason: "STOP" }],
        usageMetadata,
      });
    }
    return Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Read" }, finish_reason: "stop" }],
      usage: { prompt_tokens: billedTokens, completion_tokens: 1 },
    });
  },
});
const origin = `http://127.0.0.1:${server.port}`;

let gateway: InProcessGateway;
beforeAll(async () => {
  const env: Record<string, string> = { FREE_TOKENS_PER_DAY: "250000" };
  for (const name of ["OPENAI", "ANTHROPIC", "GEMINI", "GROQ"]) {
    env[`${name}_API_KEY`] = "sk-test";
    env[`${name}_BASE_URL`] = `${origin}/${name.toLowerCase()}/v1`;
  }
  gateway = await startInProcess({ env });
});
afterAll(async () => {
  await gateway.stop();
  server.stop(true);
});
beforeEach(() => {
  asked = [];
  countedTokens = billedTokens;
});

/** An account with so many dollars, and a way to ask with its key. */
async function openAccount(usd: number) {
  const { id: accountId } = await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` });
  const { key } = await gateway.app.accounts.createKey({ accountId, name: "test" });
  if (usd > 0) await creditWallet(gateway.store, { accountId, nanodollars: usd * dollar, note: "test" });
  const headers = { authorization: `Bearer ${key}` };
  return {
    ask: (path: string, body: object) =>
      fetch(gateway.baseUrl + path, {
        method: "POST",
        headers: body instanceof FormData ? headers : { ...headers, "content-type": "application/json" },
        body: body instanceof FormData ? body : JSON.stringify(body),
      }),
    balance: async () => (await gateway.app.ledger.readWalletState(accountId)).balanceNanodollars,
  };
}

const chat = (model: string, content: unknown, more: object = {}) => ({
  model,
  messages: [{ role: "user", content }],
  max_tokens: 300,
  ...more,
});
const schema = {
  $defs: { long: { type: "string", description: text.slice(0, 2500) } },
  type: "object",
  properties: Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`p${at}`, { $ref: "#/$defs/long" }])),
};
const flac = new File([concat(flacHead(0), flacFrames(2422, 65_536))], "a.wav");
/** A second format, by which the samples play a fraction of a second; decoders take the first. */
const fmt = (channels: number, rate: number, sampleBytes: number) => {
  const block = channels * sampleBytes;
  const figures = [...le(1, 2), ...le(channels, 2), ...le(rate, 4), ...le(rate * block, 4), ...le(block, 2)];
  return chunk("fmt ", [...figures, ...le(sampleBytes * 8, 2)]);
};
const samples = chunk("data", new Uint8Array(3_600_000));
const wav = new File([concat("RIFF....WAVE", fmt(1, 1000, 1), fmt(32, 384_000, 8), samples)], "a.wav");
const form = (file: File) => () => {
  const fields = new FormData();
  fields.set("file", file);
  fields.set("model", "whisper-1");
  return fields;
};

describe("an account with five cents", () => {
  test.each<[string, string, () => object]>([
    [
      "a PDF",
      "/chat/completions",
      () => chat("gpt-5.4", [{ type: "file", file: { filename: "a.pdf", file_data: pdf } }]),
    ],
    [
      "a PDF by its address",
      "/responses",
      () => ({
        model: "gpt-5.4",
        max_output_tokens: 300,
        input: [{ role: "user", content: [{ type: "input_file", file_url: "https://files.example/a.pdf" }] }],
      }),
    ],
    [
      "a document by its address",
      "/messages",
      () =>
        chat("claude-sonnet-4-6", [{ type: "document", source: { type: "url", url: "https://files.example/a.pdf" } }]),
    ],
    ["documents", "/chat/completions", () => chat("gpt-4.1", "Read", { documents: [{ text }, { text }] })],
    [
      "the refusal of a message",
      "/chat/completions",
      () => ({ ...chat("gpt-4.1", "Go on"), messages: [{ role: "assistant", content: null, refusal: text }] }),
    ],
    [
      "an example of a tool that calls itself an image",
      "/messages",
      () =>
        chat("claude-sonnet-4-6", "Go on", {
          tools: [{ name: "f", input_schema: { type: "object" }, input_examples: [{ type: "image", text }] }],
        }),
    ],
    [
      "a schema of 10 kB that unfolds to 500 kB",
      "/chat/completions",
      () =>
        chat("gemini-2.5-pro", "Go on", { tools: [{ type: "function", function: { name: "f", parameters: schema } }] }),
    ],
    [
      "the same for the answer",
      "/chat/completions",
      () =>
        chat("claude-sonnet-4-6", "Go on", {
          response_format: { type: "json_schema", json_schema: { name: "f", schema } },
        }),
    ],
    ["an hour of silence in a few bytes", "/audio/transcriptions", form(flac)],
    ["an hour of samples under a format of a second", "/audio/transcriptions", form(wav)],
  ])("is refused %s before a provider serves it, however many ask at once: POST %s", async (_, path, body) => {
    const { ask, balance } = await openAccount(0.05);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(path, body())));
    const statuses = answers.map(({ status }) => status);
    // Each protocol has a status of its own for an empty wallet.
    expect(statuses).toEqual(answers.map(() => ({ "/messages": 402, "/responses": 400 })[path] ?? 403));
    expect(asked.filter((one) => !/count|input_tokens/.test(one))).toEqual([]);
    expect(await balance()).toBe(0.05 * dollar);
  });
});

test("a free quota does not pay for a PDF that the provider counts as more than is left of it", async () => {
  const { ask } = await openAccount(0);
  const file = { type: "file", file: { filename: "a.pdf", file_data: pdf } };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ask("/chat/completions", chat("gemini-2.5-flash", [file]))),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
  expect(asked.filter((path) => path.includes(":generateContent"))).toEqual([]);
});

test("an account with five cents does not have a document counted that is another one when it is read", async () => {
  countedTokens = 100;
  const { ask, balance } = await openAccount(0.05);
  const document = { type: "document", source: { type: "url", url: "https://files.example/a.pdf" } };
  const answer = await ask("/messages", chat("claude-sonnet-4-6", [document]));
  expect(answer.status).toBe(402);
  expect(asked).toEqual([]);
  expect(await balance()).toBe(0.05 * dollar);
});
