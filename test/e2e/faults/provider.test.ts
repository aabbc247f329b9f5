import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { catalogueRow } from "../../support/catalogue.ts";
import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import { expectError } from "../../support/expect-error.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import { eventsReply, jsonReply, type Reply, textReply } from "../../support/reply.ts";
import { saidByChunks, type WireChunk, type WireCompletion } from "../../support/said.ts";
import { parseEvents } from "../../support/sse.ts";
import { type Bench, keepCircuitClosed, startBench } from "../replay/bench.ts";
import { expectCost } from "../replay/expect-ledger.ts";

/** A premium model and a free one: both must end alike, each in its own purse. */
const models = ["famA-4.1", "famA-4o-mini"];
const messages = [{ role: "user", content: "Tell me about kites" }];
const words = "Kites fly well in a steady wind of four to six metres a second";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const ask = (fields: Record<string, unknown>) => bench.gateway.post("/chat/completions", { messages, ...fields });
const readWalletState = async () =>
  (await (await bench.gateway.ask("/key")).json()) as { wallet: Record<string, string> };

/** What was not answered costs nothing and holds nothing. */
async function expectReleased(call: CallRow): Promise<void> {
  expect(call).toMatchObject({ state: "released", usage_source: "none" });
  expect([call.charged_nanodollars ?? 0, call.quota_tokens ?? 0, call.output_tokens ?? 0]).toEqual([0, 0, 0]);
  expect((await readWalletState()).wallet.held_usd).toBe("0");
}

const refusals: [string, Reply, { status: number; code?: string }][] = [
  [
    "401",
    jsonReply({ error: { message: "Incorrect API key provided: sk-abc", code: "invalid_api_key" } }, 401),
    { status: 500, code: "upstream_error" },
  ],
  ["403", jsonReply({ error: { message: "Country not supported" } }, 403), { status: 500, code: "upstream_error" }],
  [
    "429",
    jsonReply({ error: { message: "Slow down", code: "rate_limit_exceeded" } }, 429, { "retry-after": "7" }),
    { status: 429, code: "rate_limit_exceeded" },
  ],
  [
    "500",
    jsonReply({ error: { message: "Oops", type: "server_error" } }, 500),
    { status: 500, code: "upstream_error" },
  ],
  [
    "503 with HTML",
    textReply("<html><body>Bad gateway</body></html>", "text/html", 503),
    { status: 500, code: "upstream_error" },
  ],
  [
    "302",
    { ...textReply("", "text/plain", 302), headers: { location: "http://127.0.0.1:9/" } },
    { status: 500, code: "upstream_error" },
  ],
  ["a reset connection", { ...textReply(""), fault: { kind: "reset" } }, { status: 500, code: "upstream_error" }],
  ["a cut in the head's wake", { ...textReply("{}"), fault: { kind: "cutAfter", bytes: 0 } }, { status: 500 }],
  [
    "a cut inside the JSON",
    { ...jsonReply(completionOf(words)), fault: { kind: "cutAfter", bytes: 40 } },
    { status: 500 },
  ],
  ["an empty 200", textReply(""), { status: 500, code: "upstream_error" }],
  ["garbage", textReply("\u0000\u0001 not json at all"), { status: 500, code: "upstream_error" }],
  ["JSON of another shape", jsonReply({ hello: "world" }), { status: 500, code: "upstream_error" }],
  ["choices that are none", jsonReply({ choices: "many" }), { status: 500, code: "upstream_error" }],
  [
    "a choice without a message",
    jsonReply({ choices: [{ index: 0, finish_reason: "stop" }] }),
    { status: 500, code: "upstream_error" },
  ],
  ["null", textReply("null"), { status: 500, code: "upstream_error" }],
  ["an error in a 200", jsonReply({ error: { message: "Overloaded", type: "server_error" } }), { status: 500 }],
];

/**
 * Answers that broke off: the prompt is owed, and what came. One that came to its end with neither content nor a report is owed by
 * nobody, whatever its shape is.
 */
const brokenWhole = ["a cut in the head's wake", "a cut inside the JSON"];
/** Of one that came in place of a stream, some has to have come. What is cut at once may be lost with its connection, so it is asked again. */
const brokenStream = ["a cut inside the JSON"];
const triesMax = 5;

describe.each(models)("a provider of %s", (model) => {
  beforeEach(() => keepCircuitClosed(bench, model));

  async function refuse(stream: boolean, reply: Reply, promised: { status: number; code?: string }) {
    bench.upstream.answer("openai", reply);
    const response = await ask({ model, stream });
    const error = await expectError(response.clone() as Response, promised);
    expect(error.message).not.toContain("sk-abc");
    return bench.ledger.callOf(response);
  }

  test.each(refusals)("that answers with %s: a clear error, the hold released", async (name, reply, promised) => {
    for (const stream of [false, true]) {
      const isOwed = (stream ? brokenStream : brokenWhole).includes(name);
      let call = await refuse(stream, reply, promised);
      for (let tries = 1; isOwed && stream && call.state === "released" && tries < triesMax; tries++) {
        await expectReleased(call);
        call = await refuse(stream, reply, promised);
      }
      if (isOwed) {
        expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
        expect(call.input_tokens).toBeGreaterThan(0);
      } else await expectReleased(call);
    }
  });

  const firstEventBytes = JSON.stringify(textChunk(words)).length + 8;
  const twoEvents = eventsReply(textChunk(words), textChunk(" more"));
  const broken: [string, Reply][] = [
    ["ends without a finish", eventsReply(textChunk(words))],
    ["is cut between events", { ...twoEvents, fault: { kind: "hangAfter", bytes: firstEventBytes } }],
    ["is cut inside an event", { ...twoEvents, fault: { kind: "hangAfter", bytes: firstEventBytes + 32 } }],
    ["turns into garbage", eventsReply(textChunk(words), "{not json")],
    ["holds an error", eventsReply(textChunk(words), { error: { message: "Overloaded", type: "server_error" } })],
  ];

  test.each(broken)("whose stream %s: an error event, no [DONE], and what was said is charged", async (_, reply) => {
    bench.upstream.answer("openai", reply);
    const response = await ask({ model, stream: true });
    expect(response.status).toBe(200);
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body as ReadableStream<Uint8Array>) {
      text += decoder.decode(bytes, { stream: true });
      // Only now, with something of the answer at the client, so that what is cut is always the same.
      bench.upstream.cut();
    }
    const { events, done } = parseEvents<WireChunk>(text);
    expect(done).toBe(false);
    expect(events.at(-1)?.error?.message).toBeTruthy();
    expect(saidByChunks(events).choices[0]?.text).toBe(words);
    const call = bench.ledger.callOf(response);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.output_tokens).toBeGreaterThanOrEqual(words.split(" ").length);
    expectCost(call, catalogueRow(model));
  });

  const usages: [string, unknown][] = [
    ["no usage", undefined],
    ["null", null],
    ["zero usage with words out", { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ["negative usage", { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 }],
    ["usage in fractions", { prompt_tokens: 1.5, completion_tokens: 2.5, total_tokens: 4 }],
    ["usage as words", { prompt_tokens: "five", completion_tokens: "7", total_tokens: "12" }],
    [
      "more cached than prompt",
      { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, prompt_tokens_details: { cached_tokens: 50 } },
    ],
  ];

  test.each(usages)("that reports %s: counted here, whole and streamed", async (_, usage) => {
    bench.upstream.answer("openai", jsonReply(completionOf(words, usage)));
    const whole = await ask({ model });
    const answer = (await whole.json()) as WireCompletion;
    const call = bench.ledger.callOf(whole);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(answer.usage).toMatchObject({
      prompt_tokens: call.input_tokens as number,
      completion_tokens: call.output_tokens as number,
    });
    expect(call.output_tokens).toBeGreaterThanOrEqual(words.split(" ").length);
    expectCost(call, catalogueRow(model));

    bench.upstream.answer("openai", eventsReply(textChunk(words), finishChunk(), usageChunk(usage), "[DONE]"));
    const streamed = await ask({ model, stream: true });
    expect(parseEvents(await streamed.text()).done).toBe(true);
    const streamedCall = bench.ledger.callOf(streamed);
    expect(streamedCall).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(tokensOf(streamedCall)).toEqual(tokensOf(call));
  });

  test("that reports its figures as texts: they are figures, whole and streamed", async () => {
    const usage = { prompt_tokens: "5", completion_tokens: "7", total_tokens: "12" };
    const counted = { state: "settled", usage_source: "reported", input_tokens: 5, output_tokens: 7 };
    bench.upstream.answer("openai", jsonReply(completionOf(words, usage)));
    const whole = await ask({ model });
    await whole.text();
    expect(bench.ledger.callOf(whole)).toMatchObject(counted);
    bench.upstream.answer("openai", eventsReply(textChunk(words), finishChunk(), usageChunk(usage), "[DONE]"));
    const streamed = await ask({ model, stream: true });
    await streamed.text();
    expect(bench.ledger.callOf(streamed)).toMatchObject(counted);
  });

  test("that repeats its usage: the last report stands", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
    const early = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    const events = [{ ...textChunk(words), usage: early }, { ...finishChunk(), usage }, usageChunk(usage), "[DONE]"];
    bench.upstream.answer("openai", eventsReply(...events));
    const response = await ask({ model, stream: true });
    await response.text();
    expect(tokensOf(bench.ledger.callOf(response))).toEqual([5, 7]);
  });
});

const tokensOf = (call: CallRow) => [call.input_tokens, call.output_tokens];

test("the ledger is right after all of them", async () => {
  const { code, stdout } = await bench.gateway.run("ledger", "verify");
  expect({ code, stdout: code === 0 ? "" : stdout }).toEqual({ code: 0, stdout: "" });
  expect(bench.ledger.counts().open).toBe(0);
});
