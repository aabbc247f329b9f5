import { expect, test } from "bun:test";
import type { ChatChunk } from "modelgate/plugin";
import gemini from "../../../../plugins/gemini/index.ts";
import { Sink } from "../../kernel/streams.ts";
import { chatCall, createBench, runCall } from "../../kernel/support.ts";

const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
/** A million tokens in and out: $0.75 and $3.75, half of it by flex, and 1.8 times as much by priority. */
const [standard, flex, priority] = [112_500, 56_250, 202_500];

/** A call of a model whose provider says by which tier it served. */
async function callOf(request: Record<string, unknown>, serviceTier: string | undefined) {
  const sent: Record<string, unknown>[] = [];
  const answer = {
    candidates: [{ content: { parts: [{ text: "Yes" }] }, finishReason: "STOP" }],
    usageMetadata: { ...usageMetadata, serviceTier },
  };
  const fetch = async (_: string, { body }: RequestInit) => {
    sent.push(JSON.parse(String(body)));
    if (request.stream !== true) return Response.json(answer);
    const headers = { "content-type": "text/event-stream" };
    return new Response(`data: ${JSON.stringify(answer)}\r\n\r\n`, { headers });
  };
  const bench = createBench([gemini], { fetch });
  const sink = new Sink<ChatChunk>();
  const call = chatCall(request, request.stream === true ? { sink: sink as unknown as Sink<never> } : {});
  const completion = await runCall(bench.kernel, call);
  const told = [completion, ...sink.pieces].map((part) => (part as { service_tier?: unknown })?.service_tier);
  return { ...bench, call, sent: sent[0], told: told.findLast((tier) => tier !== undefined) };
}

test.each([
  ["flex", "flex", "flex", flex],
  ["flex", "standard", "default", standard],
  ["priority", "priority", "priority", priority],
  ["priority", "standard", "default", standard],
  ["priority", undefined, undefined, priority],
])("%p that Gemini serves as %p is told as %p and charged by that", async (asked, served, told, cost) => {
  for (const stream of [false, true]) {
    const request = { model: "gemini-3.8-flash", service_tier: asked, max_tokens: 10, stream };
    const { ledger, sent, ...call } = await callOf(request, served);
    expect(sent?.serviceTier).toBe(asked);
    expect(call.told).toBe(told);
    expect(ledger.settlement.costNanodollars).toBe(cost);
    expect(ledger.claims[0]?.holdNanodollars).toBeGreaterThan(asked === "priority" ? 10 * 6750 : 10 * 3750);
  }
});

test.each([
  ["auto", "gemini-3.8-flash", false],
  ["default", "gemini-3.8-flash", false],
  ["scale", "gemini-3.8-flash", true],
  ["flex", "famB-2.5-pro", true],
])("%s is not sent to %s", async (asked, model, isIgnored) => {
  const { sent, call } = await callOf({ model, service_tier: asked }, "standard");
  expect(Object.keys(sent ?? {})).not.toContain("serviceTier");
  expect(call.run?.ignored.has("service_tier")).toBe(isIgnored);
});
