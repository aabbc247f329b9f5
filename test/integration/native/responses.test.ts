import { afterEach, describe, expect, test } from "bun:test";
import { parseEvents } from "../../support/sse.ts";
import { chatReply, claude, eventsOf, gpt, type NativeBench, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

async function start(...options: Parameters<typeof startNative>): Promise<NativeBench> {
  const bench = await startNative(...options);
  toStop.push(bench);
  return bench;
}

const usage = {
  input_tokens: 300,
  input_tokens_details: { cached_tokens: 256 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 340,
};
const output = [
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA/+==" },
  { type: "item_from_tomorrow", id: "it_1", anything: { kept: true } },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }],
  },
];
const answer = {
  id: "resp_upstream",
  object: "response",
  created_at: 1,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "gpt-5.1-2025-11-13",
  output,
  store: false,
  usage,
};
const begun = { ...answer, status: "in_progress", output: [], usage: null };
const said = output[2] as object;
const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
const events = [
  { type: "response.created", sequence_number: 0, response: begun },
  { type: "response.in_progress", sequence_number: 1, response: begun },
  { type: "response.output_item.added", sequence_number: 2, output_index: 0, item: { ...said, content: [] } },
  { type: "response.output_text.delta", sequence_number: 3, ...at, delta: "Hel", obfuscation: "x" },
  { type: "response.of_tomorrow", sequence_number: 4, kept: "\u00e9" },
  { type: "response.output_text.delta", sequence_number: 5, ...at, delta: "lo" },
  { type: "response.output_item.done", sequence_number: 6, output_index: 0, item: said },
  { type: "response.completed", sequence_number: 7, response: answer },
];
const asked = {
  model: gpt,
  instructions: "Be brief",
  input: [
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }], phase: "commentary" },
    { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" },
  ],
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "session-1",
  client_metadata: { a: "b" },
  reasoning: { effort: "low", summary: "auto", context: "auto" },
};
const simple = { model: gpt, input: "Hi" };

describe("POST /responses with a GPT model", () => {
  test("fails where the response was cancelled or has not begun, and gives out one that says no status", async () => {
    const play = async (status: string | undefined, said: object = {}) => {
      const { ask, gateway } = await start(() => Response.json({ ...answer, ...said, status }));
      const response = await ask("/responses", simple);
      return [response.ok, gateway.ledger.callOf(response).state];
    };
    const nothing = { output: [], usage: null };
    expect(await play(undefined)).toEqual([true, "settled"]);
    expect(await play("in_progress")).toEqual([true, "settled"]);
    expect(await play("cancelled")).toEqual([false, "settled"]);
    expect(await play("in_progress", nothing)).toEqual([false, "released"]);
    expect(await play("queued", nothing)).toEqual([false, "released"]);
  });

  test("hands the body on as it is, and gives the answer back with the public name alone changed", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(answer));
    const response = await ask("/responses", asked);
    // The provider stores nothing; the gateway does.
    expect(await response.json()).toEqual({ ...answer, model: gpt, store: true });
    expect(seen.map(({ path }) => path)).toEqual(["/openai/responses"]);
    expect(seen[0]?.body).toEqual({ ...asked, model: "gpt-5.1", store: false });
    expect(seen[0]?.headers.authorization).toBe("Bearer sk-upstream-openai");
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      plugin: "openai",
      usage_source: "reported",
      input_tokens: 44,
      cache_read_tokens: 256,
      output_tokens: 40,
      cost_nanodollars: 44 * 1250 + 256 * 125 + 40 * 10_000,
    });
  });

  test("streams event by event, also those that nobody knows", async () => {
    const { ask, gateway } = await start(() => streamOf(eventsOf(events)));
    const response = await ask("/responses", { ...simple, stream: true, store: false });
    const named = events.map((event) =>
      "response" in event ? { ...event, response: { ...event.response, model: gpt } } : event,
    );
    expect(await response.text()).toBe(eventsOf(named));
    expect(gateway.ledger.callOf(response)).toMatchObject({
      usage_source: "reported",
      output_tokens: 40,
      state: "settled",
    });
  });

  test("leaves nothing in the operator's account, and asks for the thoughts in return", async () => {
    const { ask, seen } = await start(() => Response.json(answer));
    const lost = { type: "reasoning", id: "rs_lost", summary: [] };
    await ask("/responses", { ...simple, store: true, input: [lost, { role: "user", content: "Hi" }] });
    expect(seen[0]?.body).toEqual({
      model: "gpt-5.1",
      store: false,
      input: [{ role: "user", content: "Hi" }],
      include: ["reasoning.encrypted_content"],
    });
  });

  test("leaves out what has no price, wherever it stands", async () => {
    const { ask, seen } = await start(() => Response.json(answer));
    const own = { type: "function", name: "look", parameters: {} };
    const space = { type: "namespace", name: "ns", tools: [own, { type: "mcp", server_label: "x" }] };
    const extra = { type: "additional_tools", tools: [{ type: "file_search" }, own] };
    const body = {
      ...simple,
      input: [{ role: "user", content: "Hi" }, extra],
      tools: [own, { type: "file_search" }, space, { type: "shell", environment: { type: "container_auto" } }],
      tool_choice: { type: "file_search" },
      service_tier: "priority",
    };
    const response = await ask("/responses", body);
    expect(response.headers.get("x-modelgate-ignored")).toBe("service_tier, tools, input, tool_choice");
    expect(seen[0]?.body).toMatchObject({
      tools: [own, { ...space, tools: [own] }],
      input: [{ role: "user" }, { type: "additional_tools", tools: [own] }],
    });
    expect([seen[0]?.body.tool_choice, seen[0]?.body.service_tier]).toEqual([undefined, undefined]);
  });

  test("bounds the output by what can be paid, also where the client named no bound", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(answer), { env: { FREE_TOKENS_PER_DAY: "2000" } });
    const response = await ask("/responses", { model: "famA-4o-mini", input: "Hi" });
    expect(response.status).toBe(200);
    const sent = seen[0]?.body.max_output_tokens as number;
    expect(sent).toBeGreaterThan(1500);
    expect(sent).toBeLessThan(2000);
    expect(response.headers.get("x-modelgate-lowered")).toBe(`max_output_tokens=${sent}`);
    expect(gateway.ledger.callOf(response).hold_tokens).toBeLessThanOrEqual(2000);
  });

  test("gives a provider's 400 with its own words, param and code", async () => {
    const error = { message: "No such tool", type: "invalid_request_error", param: "tools[0]", code: "bad_tool" };
    const { ask } = await start(() => Response.json({ error }, { status: 400 }));
    const response = await ask("/responses", asked);
    expect([response.status, await response.json()]).toEqual([400, { error }]);
  });

  test.each([
    ["an error event", { type: "error", code: "server_error", message: "Busy", param: null, sequence_number: 2 }],
    [
      "a failed response",
      {
        type: "response.failed",
        sequence_number: 2,
        response: { ...begun, status: "failed", error: { code: "server_error", message: "Busy" } },
      },
    ],
  ])("falls back to a translated route when %s comes before the first content", async (_, failure) => {
    const broken = eventsOf([...events.slice(0, 2), failure]);
    const { ask, seen, gateway } = await start(
      (request) => (request.path.startsWith("/backup") ? chatReply(request) : streamOf(broken)),
      { backup: "last" },
    );
    const response = await ask("/responses", { ...simple, stream: true });
    const got = parseEvents(await response.text()).events;
    expect(seen.map(({ path }) => path)).toEqual(["/openai/responses", "/backup/chat/completions"]);
    expect(got.filter(({ type }) => type === "response.created").length).toBe(1);
    expect(got.at(-1)).toMatchObject({ type: "response.completed", response: { model: gpt } });
    expect(gateway.ledger.callOf(response)).toMatchObject({ plugin: "backup", input_tokens: 11, output_tokens: 4 });
  });

  test.each([false, true])("falls back from a translated route to a native one (stream: %p)", async (stream) => {
    const { ask, seen } = await start(
      ({ path }) => {
        if (path.startsWith("/backup")) return new Response("", { status: 503 });
        return stream ? streamOf(eventsOf(events)) : Response.json(answer);
      },
      { backup: "first" },
    );
    const response = await ask("/responses", { ...simple, stream });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("resp_upstream");
    expect(seen.map(({ path }) => path)).toEqual(["/backup/chat/completions", "/openai/responses"]);
  });

  test.each([
    ["is cut", [], "server_error"],
    [
      "fails",
      [{ type: "error", sequence_number: 4, code: "rate_limit_exceeded", message: "Slow down" }],
      "rate_limit_exceeded",
    ],
  ])(
    "ends a stream that %s with response.failed of the same response, and charges for what came out",
    async (_, end, code) => {
      const { ask, gateway } = await start(() => streamOf(eventsOf([...events.slice(0, 4), ...end])));
      const response = await ask("/responses", { ...simple, stream: true });
      const got = parseEvents(await response.text()).events;
      expect(got.at(-1)).toMatchObject({
        type: "response.failed",
        sequence_number: 4,
        response: { id: "resp_upstream", status: "failed", error: { code } },
      });
      await gateway.ledger.untilSettled();
      expect(gateway.ledger.callOf(response)).toMatchObject({ state: "settled", usage_source: "estimated" });
    },
  );

  test("is refused for what no provider may be asked here", async () => {
    const { ask, seen } = await start(() => Response.json(answer));
    for (const [field, value] of Object.entries({
      background: true,
      conversation: "conv_1",
      prompt: { id: "pmpt_1" },
      previous_response_id: "resp_of_someone",
      input: [{ type: "item_reference", id: "rs_of_someone" }],
    })) {
      expect((await ask("/responses", { ...simple, [field]: value })).status).toBe(400);
    }
    expect(seen).toEqual([]);
  });

  test("counts with the provider's own counter, free of charge", async () => {
    const { ask, seen, gateway } = await start(() =>
      Response.json({ object: "response.input_tokens", input_tokens: 99 }),
    );
    expect(await (await ask("/responses/input_tokens", simple)).json()).toEqual({
      object: "response.input_tokens",
      input_tokens: 99,
    });
    expect(seen[0]).toMatchObject({ path: "/openai/responses/input_tokens", body: { model: "gpt-5.1", input: "Hi" } });
    expect(gateway.ledger.counts().calls).toBe(0);
  });

  test("is translated for a model whose provider does not speak the protocol", async () => {
    const message = {
      type: "message",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    const { ask, seen } = await start(() => Response.json(message));
    const response = await ask("/responses", { ...simple, model: claude });
    expect([response.status, seen[0]?.path]).toEqual([200, "/anthropic/messages"]);
  });
});
