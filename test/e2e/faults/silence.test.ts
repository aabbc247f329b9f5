import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { catalogueRow } from "../../support/catalogue.ts";
import { completionOf, textChunk } from "../../support/chunks.ts";
import { closeCircuits } from "../../support/close-circuits.ts";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply, type Reply } from "../../support/reply.ts";
import { saidByChunks, type WireChunk } from "../../support/said.ts";
import { parseEvents } from "../../support/sse.ts";
import { expectCost } from "../replay/expect-ledger.ts";

const model = "famA-4.1";
const messages = [{ role: "user", content: "Hello" }];
const words = "Some words before the silence";

/** A provider that falls silent, held to deadlines that a test can wait for. */
describe("a provider that falls silent", () => {
  let gateway: InProcessGateway;
  let upstream: ReplayUpstream;
  beforeAll(async () => {
    upstream = await startReplayUpstream();
    const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1") };
    gateway = await startInProcess({ env, bounds: { firstByteMsMax: 700, idleMsMax: 700 } });
  });
  afterAll(async () => {
    await gateway.stop();
    await upstream.stop();
  });

  beforeEach(() => closeCircuits(gateway));

  const whole = jsonReply(completionOf(words));
  const cases: [string, Reply][] = [
    ["before its head", { ...whole, fault: { kind: "hang" } }],
    ["after its head", { ...whole, fault: { kind: "hangAfter", bytes: 0 } }],
    ["inside a JSON answer", { ...whole, fault: { kind: "hangAfter", bytes: 30 } }],
  ];
  test.each(cases)("%s is given up at its deadline, and the prompt is charged: it goes on", async (_, reply) => {
    for (const stream of [false, true]) {
      upstream.answer("openai", reply);
      const response = await gateway.post("/chat/completions", { model, messages, stream });
      await expectError(response.clone() as Response, { status: 500, code: "upstream_timeout" });
      const call = gateway.ledger.callOf(response);
      expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
      expect(call.input_tokens).toBeGreaterThan(0);
      expect(await upstream.seen.at(-1)?.left).toBe(true);
    }
  });

  test("in the middle of a stream ends in an error event, and what was said is charged", async () => {
    const bytes = JSON.stringify(textChunk(words)).length + 8;
    upstream.answer("openai", {
      ...eventsReply(textChunk(words), textChunk(" never")),
      fault: { kind: "hangAfter", bytes },
    });
    const response = await gateway.post("/chat/completions", { model, messages, stream: true });
    const { events, done } = parseEvents<WireChunk & { error?: { code: string } }>(await response.text());
    expect({ done, code: events.at(-1)?.error?.code }).toEqual({ done: false, code: "upstream_timeout" });
    expect(saidByChunks(events).choices[0]?.text).toBe(words);
    const call = gateway.ledger.callOf(response);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expectCost(call, catalogueRow(model));
    expect(await upstream.seen.at(-1)?.left).toBe(true);
  });

  test("for less than its deadline between pieces is waited for", async () => {
    const pieces = ["One", " two", " three"].map(textChunk);
    const finish = { ...textChunk(""), choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    upstream.answer("openai", { ...eventsReply(...pieces, finish, "[DONE]"), fault: { kind: "drip", gapMs: 10 } });
    const response = await gateway.post("/chat/completions", { model, messages, stream: true });
    const { events, done } = parseEvents<WireChunk>(await response.text());
    expect({ done, text: saidByChunks(events).choices[0]?.text }).toEqual({ done: true, text: "One two three" });
  });
});
