import { afterEach, describe, expect, test } from "bun:test";
import type { CallRow } from "../../support/ledger-view.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { parseEvents } from "../../support/sse.ts";
import { eventsOf, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const model = "gpt-5.5-pro";
const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const usage = {
  input_tokens: 300,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 340,
};
const call = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_Qm4vT9xZ",
  name: "weather",
  arguments: '{"city":"Paris"}',
};
const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }],
};
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
const response = {
  id: "resp_upstream",
  object: "response",
  created_at: 1,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "gpt-5.5-pro-2026-04-23",
  output: [thought, message, call],
  usage,
};
const begun = { ...response, status: "in_progress", output: [], usage: null };
const events = [
  { type: "response.created", sequence_number: 0, response: begun },
  { type: "response.output_item.done", sequence_number: 1, output_index: 0, item: thought },
  { type: "response.output_text.delta", sequence_number: 2, output_index: 1, delta: "Hel" },
  { type: "response.output_text.delta", sequence_number: 3, output_index: 1, delta: "lo" },
  { type: "response.output_item.added", sequence_number: 4, output_index: 2, item: { ...call, arguments: "" } },
  { type: "response.function_call_arguments.delta", sequence_number: 5, output_index: 2, delta: call.arguments },
  { type: "response.completed", sequence_number: 6, response },
];

async function start(): Promise<NativeBench> {
  const reply = ({ body }: Seen) => (body.stream === true ? streamOf(eventsOf(events)) : Response.json(response));
  const bench = await startNative(reply);
  toStop.push(bench);
  return bench;
}

const messages = [{ role: "user", content: "Hi" }];
const charge: Partial<CallRow> = {
  state: "settled",
  plugin: "openai",
  usage_source: "reported",
  output_tokens: 40,
  cost_nanodollars: 300 * 30_000 + 40 * 180_000,
};

describe("a model that only /responses serves", () => {
  test("answers /chat/completions, whole", async () => {
    const { ask, seen, gateway } = await start();
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
    const answered = await ask("/chat/completions", { model, messages, tools, reasoning_effort: "low" });
    const body = (await answered.json()) as Record<string, unknown>;
    expect(body).toMatchObject({
      model,
      choices: [
        {
          message: { content: "Hello", tool_calls: [{ id: "call_Qm4vT9xZ", function: { arguments: call.arguments } }] },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 },
    });
    if (schemaMissing === undefined) expect(faultsOf("CreateChatCompletionResponse", body)).toEqual([]);
    expect(seen.map(({ path }) => path)).toEqual(["/openai/responses"]);
    // Of the efforts that this model takes, medium is the nearest.
    expect(seen[0]?.body).toMatchObject({ model, store: false, reasoning: { effort: "medium" } });
    expect(gateway.ledger.callOf(answered)).toMatchObject(charge);
  });

  test("answers /chat/completions, streamed", async () => {
    const { ask, gateway } = await start();
    const asked = { model, messages, stream: true, stream_options: { include_usage: true } };
    const answered = await ask("/chat/completions", asked);
    const { events: chunks } = parseEvents<{ choices: { delta: { content?: string } }[] }>(await answered.text());
    if (schemaMissing === undefined) {
      for (const chunk of chunks) expect(faultsOf("CreateChatCompletionStreamResponse", chunk)).toEqual([]);
    }
    const content = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ""));
    expect(content.join("")).toBe("Hello");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 40 } });
    expect(gateway.ledger.callOf(answered)).toMatchObject(charge);
  });

  test.each([false, true])("answers /messages, streamed: %p", async (stream) => {
    const { ask, seen, gateway } = await start();
    const answered = await ask("/messages", { model, max_tokens: 500, messages, stream });
    const text = await answered.text();
    expect(text).toContain('"tool_use"');
    expect(text).toContain('"stop_reason":"tool_use"');
    expect(seen[0]).toMatchObject({ path: "/openai/responses", body: { max_output_tokens: 500 } });
    expect(gateway.ledger.callOf(answered)).toMatchObject(charge);
  });

  test("answers /responses as its provider does", async () => {
    const { ask, gateway } = await start();
    const answered = await ask("/responses", { model, input: "Hi", store: false });
    expect(await answered.json()).toEqual({ ...response, model, store: false });
    expect(gateway.ledger.callOf(answered)).toMatchObject(charge);
  });

  test("is asked once for each of several choices, and is paid for each", async () => {
    const { ask, seen, gateway } = await start();
    const answered = await ask("/chat/completions", { model, messages, n: 2 });
    expect(await answered.json()).toMatchObject({ choices: [{ index: 0 }, { index: 1 }] });
    expect(seen.map(({ body }) => body.n)).toEqual([undefined, undefined]);
    expect(gateway.ledger.callOf(answered)).toMatchObject({
      cost_nanodollars: 2 * (charge.cost_nanodollars as number),
    });
  });
});
