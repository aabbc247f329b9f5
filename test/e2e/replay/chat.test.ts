import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectSaid } from "../../support/expect-said.ts";
import { faultsOf } from "../../support/openai-schema.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { saidBy, saidByChunks, type WireChunk, type WireCompletion } from "../../support/said.ts";
import { saidIn } from "../../support/said-in.ts";
import { parseEvents } from "../../support/sse.ts";
import { type Bench, startBench } from "./bench.ts";
import { expectSettled, expectTokens } from "./expect-ledger.ts";
import { type Plan, providers, replayOf } from "./plan.ts";

const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan?.endpoint === "/chat/completions" && !plan.recording.path.includes("/errors/")) as Plan[];
const named = (streams: boolean): [string, Plan][] =>
  plans.filter((plan) => (plan.body?.stream === true) === streams).map((plan) => [plan.recording.path, plan]);

/** Fields that must reach a provider of the same dialect as they are, unless the catalogue says the model rejects them. */
const forwarded = ["tools", "tool_choice", "response_format", "stop", "seed", "parallel_tool_calls", "functions"];

function expectAsked({ body: recorded, row, faithful }: Plan, json: unknown): void {
  if (!faithful || recorded === undefined) return;
  const asked = json as Record<string, unknown>;
  expect(asked.model).toBe(row.upstreamId);
  for (const field of forwarded) {
    if (recorded[field] === undefined || recorded[field] === null || row.omit?.includes(field)) continue;
    expect([field, asked[field]]).toEqual([field, recorded[field]]);
  }
  const contents = (messages: unknown) => (messages as { content: unknown }[]).map(({ content }) => content ?? null);
  expect(contents(asked.messages)).toEqual(contents(recorded.messages));
}

describe.skipIf(recordingsMissing !== undefined)("recorded chat", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  test.each(named(false))("%s comes through whole", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    upstream.answer(plan.provider, replyOf(plan.recording));
    const response = await gateway.post(plan.endpoint, plan.body);
    const answer = (await response.json()) as WireCompletion & { id: string; model: string };
    expect({ status: response.status, answer: response.status === 200 ? undefined : answer }).toEqual({
      status: 200,
      answer: undefined,
    });
    expect(faultsOf("CreateChatCompletionResponse", answer)).toEqual([]);
    expect(answer.model).toBe(plan.row.id);
    expect(answer.id).toStartWith("chatcmpl-");
    expectSaid(saidBy(answer), plan.recording);
    expectAsked(plan, upstream.seen.at(-1)?.json);
    const call = ledger.callOf(response);
    expectSettled(call, plan.row, plan.provider);
    expectTokens(call, saidIn(plan.recording).usage);
  });

  test.each(named(true))("%s comes through as a stream, with and without usage", async (_, plan) => {
    for (const includeUsage of [true, false]) await expectStream(bench, plan, includeUsage);
  });
});

async function expectStream({ gateway, upstream, ledger }: Bench, plan: Plan, includeUsage: boolean): Promise<void> {
  upstream.answer(plan.provider, replyOf(plan.recording));
  const { stream_options: _, ...body } = plan.body as Record<string, unknown>;
  const options = includeUsage ? { stream_options: { include_usage: true } } : {};
  const response = await gateway.post(plan.endpoint, { ...body, ...options });
  const text = await response.text();
  const type = response.headers.get("content-type")?.split(";")[0];
  expect({ status: response.status, type, text }).toEqual({ status: 200, type: "text/event-stream", text });
  const { events, done } = parseEvents<WireChunk & { id: string; model: string }>(text);
  expect(done ? "[DONE]" : text).toBe("[DONE]");
  expect(events.flatMap((event) => faultsOf("CreateChatCompletionStreamResponse", event))).toEqual([]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(1);
  expect([...new Set(events.map(({ model }) => model))]).toEqual([plan.row.id]);
  expectSaid(saidByChunks(events), plan.recording);
  expectUsageChunk(events, includeUsage);
  expectAsked(plan, upstream.seen.at(-1)?.json);
  const call = ledger.callOf(response);
  expectSettled(call, plan.row, plan.provider);
  expectTokens(call, saidIn(plan.recording).usage);
}

/** OpenAI's rule: asked for, it is the last event, alone with no choices, and `null` before; else it is nowhere. */
function expectUsageChunk(events: WireChunk[], asked: boolean): void {
  const reports = events.filter((event) => event.usage !== null && event.usage !== undefined);
  expect(reports.length).toBe(asked ? 1 : 0);
  if (!asked) return;
  expect(events.at(-1)).toBe(reports[0] as WireChunk);
  expect(events.at(-1)?.choices).toEqual([]);
  expect(events.slice(0, -1).every((event) => event.usage === null)).toBe(true);
}

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
