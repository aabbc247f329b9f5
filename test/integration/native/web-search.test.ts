import { afterEach, describe, expect, test } from "bun:test";
import { chatReply, claude, eventsOf, gpt, type NativeBench, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const perMillion = (usd: string) => ({ usd, per: 1_000_000 });
const createRow = (id: string, [input, output, searchUsd]: readonly [string, string, string]) => ({
  id,
  upstreamId: id,
  capability: "chat",
  premium: true,
  ownedBy: "acme",
  created: 1_790_000_000,
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  price: {
    inputToken: perMillion(input),
    outputToken: perMillion(output),
    webSearch: { usd: searchUsd, per: 1000 },
  },
});
const rows = [
  createRow("claude-web", ["3.00", "15.00", "10.00"]),
  // The wallet has $100: enough for three searches at $30, and for none at $200.
  createRow("claude-dear", ["3.00", "15.00", "30000"]),
  createRow("claude-dearest", ["3.00", "15.00", "200000"]),
  {
    id: "claude-plain",
    upstreamId: "claude-plain",
    capability: "chat",
    premium: true,
    ownedBy: "anthropic",
    created: 1_790_000_000,
    contextTokens: 200_000,
    options: { pass: ["web_search_20250305"] },
    price: { inputToken: perMillion("3.00"), outputToken: perMillion("15.00") },
  },
];
const gptRow = createRow("gpt-web", ["1.25", "10.00", "10.00"]);
const files = {
  "catalogue/anthropic.json": { models: rows },
  "catalogue/openai.json": {
    models: [
      gptRow,
      // Its context is long, and that of its searches is not.
      {
        ...gptRow,
        id: "gpt-long",
        upstreamId: "gpt-long",
        contextTokens: 1_000_000,
        searchTokensMax: 128_000,
        reasoning: false,
      },
    ],
  },
};

async function start(answer: Parameters<typeof startNative>[0], options: Parameters<typeof startNative>[1] = {}) {
  const bench = await startNative(answer, { files, ...options });
  toStop.push(bench);
  return bench;
}

const search = { type: "web_search_20250305", name: "web_search" };
const look = { name: "look", input_schema: { type: "object" } };
const searching = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "news" } };
const message = {
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "claude-web",
  content: [searching, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 9000, output_tokens: 40, server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 } },
};
const body = { model: "claude-web", max_tokens: 500, messages: [{ role: "user", content: "What is new?" }] };

describe("a search of the web on POST /messages", () => {
  test("is passed on as Claude Code asks for it, and charged by the number that the provider reports", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(message));
    const tools = [{ ...search, max_uses: 8 }];
    const response = await ask("/messages", { ...body, tools, tool_choice: { type: "tool", name: "web_search" } });
    expect(response.headers.get("x-modelgate-ignored")).toBeNull();
    expect(await response.json()).toEqual({ ...message, model: "claude-web" });
    expect(seen[0]?.body).toMatchObject({ tools, tool_choice: { type: "tool", name: "web_search" } });
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      usage_source: "reported",
      input_tokens: 9000,
      web_searches: 2,
      cost_nanodollars: 9000 * 3000 + 40 * 15_000 + 2 * 10_000_000,
    });
  });

  test("gets a limit where the client set none, divided among the tools", async () => {
    const { ask, seen } = await start(() => Response.json(message));
    const fetching = { type: "web_fetch_20250910", name: "web_fetch" };
    await ask("/messages", { ...body, tools: [look, search] });
    expect(seen[0]?.body.tools).toEqual([look, { ...search, max_uses: 8 }]);
    await ask("/messages", { ...body, tools: [{ ...search, max_uses: 3 }, fetching] });
    expect(seen[1]?.body.tools).toEqual([
      { ...search, max_uses: 3 },
      { ...fetching, max_uses: 5 },
    ]);
  });

  test("is held with the whole context for each time that the prompt may be read", async () => {
    let heldNanodollars: unknown;
    const { ask, gateway } = await start(() => {
      heldNanodollars = gateway.ledger.latest()?.hold_nanodollars;
      return Response.json(message);
    });
    await ask("/messages", { ...body, tools: [{ ...search, max_uses: 2 }] });
    expect(heldNanodollars).toBe(3 * 200_000 * 3000 + 500 * 15_000 + 2 * 10_000_000);
  });

  test("is charged by what was seen of a stream that breaks before its report", async () => {
    const begun = [
      { type: "message_start", message: { ...message, content: [], usage: { input_tokens: 30, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: searching },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
    ];
    const { ask, gateway } = await start(() => streamOf(eventsOf(begun)));
    const response = await ask("/messages", { ...body, stream: true, tools: [{ ...search, max_uses: 3 }] });
    await response.text();
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      usage_source: "estimated",
      web_searches: 1,
      input_tokens: 2 * 200_000,
    });
  });

  test("is lowered to what can be paid, and left out where that is less than one", async () => {
    const { ask, seen } = await start(() => Response.json({ ...message, content: [] }));
    const tools = [{ ...search, max_uses: 8 }, look];
    const fewer = await ask("/messages", { ...body, model: "claude-dear", tools });
    expect([fewer.status, seen[0]?.body.tools]).toEqual([200, [{ ...search, max_uses: 3 }, look]]);
    const without = await ask("/messages", { ...body, model: "claude-dearest", tools });
    expect([without.status, seen[1]?.body.tools]).toEqual([200, [look]]);
    expect(without.headers.get("x-modelgate-ignored")).toBe("tools");
    const alone = await ask("/messages", { ...body, model: "claude-dearest", tools: [search] });
    expect([alone.status, seen.length]).toEqual([402, 2]);
  });

  test("is left out where the price has none, even if the row would pass the tool", async () => {
    const { ask, seen } = await start(() => Response.json(message));
    const response = await ask("/messages", { ...body, model: "claude-plain", tools: [search, look] });
    expect([response.headers.get("x-modelgate-ignored"), seen[0]?.body.tools]).toEqual(["tools", [look]]);
  });

  test.each([["claude-plain"], [gpt]])("is 400 on %s where nothing else was asked for", async (model) => {
    const { ask, seen } = await start(() => Response.json(message));
    const response = await ask("/messages", { ...body, model, tools: [search] });
    expect([response.status, seen.length]).toEqual([400, 0]);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  test("goes to no route that would answer from memory", async () => {
    const { ask, seen } = await start(
      ({ path }) =>
        path.startsWith("/backup")
          ? chatReply({ path, headers: {}, text: "", body: {} })
          : Response.json({ type: "error", error: { type: "overloaded_error", message: "Busy" } }, { status: 529 }),
      { backup: "last" },
    );
    const response = await ask("/messages", { ...body, model: claude, tools: [search] });
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(seen.filter(({ path }) => path.startsWith("/backup"))).toEqual([]);
    expect((await ask("/messages", { ...body, model: claude, tools: [look] })).status).toBe(200);
  });
});

describe("a search of the web on POST /responses", () => {
  const call = (type: string) => ({ type: "web_search_call", id: `ws_${type}`, status: "completed", action: { type } });
  const answer = {
    id: "resp_upstream",
    object: "response",
    status: "completed",
    model: "gpt-web",
    output: [
      call("search"),
      call("open_page"),
      call("search"),
      { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
    ],
    usage: { input_tokens: 5000, output_tokens: 20, total_tokens: 5020 },
  };
  const request = { model: "gpt-web", input: "What is new?", max_output_tokens: 500 };
  // As Codex asks for it.
  const tools = [
    { type: "function", name: "shell", parameters: {} },
    { type: "web_search", external_web_access: true },
  ];

  test("is passed on with a limit, and charged by the number that the provider reports", async () => {
    const reported = { ...answer, tool_usage: { web_search: { num_requests: 1 } } };
    const { ask, seen, gateway } = await start(() => Response.json(reported));
    const response = await ask("/responses", { ...request, tools });
    expect(seen[0]?.body).toMatchObject({ tools, max_tool_calls: 8 });
    expect(gateway.ledger.callOf(response)).toMatchObject({
      usage_source: "reported",
      web_searches: 1,
      cost_nanodollars: 5000 * 1250 + 20 * 10_000 + 10_000_000,
    });
    await ask("/responses", { ...request, tools, max_tool_calls: 3 });
    expect(seen[1]?.body.max_tool_calls).toBe(3);
  });

  test("has its present name at the provider, because the preview of it costs more on some models", async () => {
    const { ask, seen } = await start(() => Response.json(answer));
    const preview = { type: "web_search_preview", search_context_size: "low", search_content_types: ["text"] };
    const choice = { type: "web_search_preview_2025_03_11" };
    const response = await ask("/responses", { ...request, tools: [tools[0], preview], tool_choice: choice });
    expect([response.status, response.headers.get("x-modelgate-ignored")]).toEqual([200, null]);
    expect(seen[0]?.body).toMatchObject({
      tools: [tools[0], { type: "web_search", search_context_size: "low" }],
      tool_choice: { type: "web_search" },
    });
    expect(seen[0]?.text).not.toContain("search_content_types");
  });

  test("counts the searches of the answer where the provider reports no number", async () => {
    const { ask, gateway } = await start(() => Response.json(answer));
    expect(gateway.ledger.callOf(await ask("/responses", { ...request, tools }))).toMatchObject({ web_searches: 2 });
    const streamed = await start(({ body: sent }) => {
      const events = [
        { type: "response.created", response: { ...answer, status: "in_progress", output: [], usage: null } },
        { type: "response.output_item.done", output_index: 0, item: call("search") },
        { type: "response.output_item.done", output_index: 1, item: call("open_page") },
        { type: "response.output_text.delta", delta: "Hi" },
        { type: "response.completed", response: { ...answer, model: sent.model } },
      ];
      return streamOf(eventsOf(events));
    });
    const response = await streamed.ask("/responses", { ...request, stream: true, tools });
    await response.text();
    expect(streamed.gateway.ledger.callOf(response)).toMatchObject({ usage_source: "reported", web_searches: 2 });
  });

  /** What a request of `gpt-long` with two searches holds for its prompts, in tokens, beside so much output. */
  const heldPromptTokens = (holdNanodollars: unknown, outputTokens: number) =>
    (Number(holdNanodollars) - 2 * 10_000_000 - outputTokens * 10_000) / 1250;
  const long = { ...request, model: "gpt-long", tools, max_tool_calls: 2 };

  test("holds for each search what the provider lets searches put into a prompt, and no whole context", async () => {
    const holds: unknown[] = [];
    const { ask, gateway } = await start(() => {
      holds.push(gateway.ledger.latest()?.hold_nanodollars);
      return Response.json(answer);
    });
    await ask("/responses", long);
    const promptTokens = heldPromptTokens(holds[0], 500) / 3 - 128_000 - 500;
    expect(promptTokens).toBeGreaterThan(0);
    expect(promptTokens).toBeLessThan(1000);
    // A budget that is not the default finds more results, but puts no more of them into one prompt.
    const wide = { type: "web_search", return_token_budget: "unlimited" };
    await ask("/responses", { ...long, tools: [tools[0], wide] });
    expect(heldPromptTokens(holds[1], 500)).toBeLessThan(3 * 130_000);
  });

  test("holds whole contexts for a search with a field that nobody knows", async () => {
    let heldNanodollars: unknown;
    const { ask, gateway } = await start(() => {
      heldNanodollars = gateway.ledger.latest()?.hold_nanodollars;
      return Response.json(answer);
    });
    await ask("/responses", { ...long, tools: [tools[0], { type: "web_search", depth: "everything" }] });
    expect(heldPromptTokens(heldNanodollars, 500)).toBe(3 * 1_000_000);
  });

  test("costs no more than was held where the provider bills the most that it says", async () => {
    let heldNanodollars = 0;
    const { ask, gateway } = await start(() => {
      heldNanodollars = Number(gateway.ledger.latest()?.hold_nanodollars);
      const promptTokens = 30;
      const usage = { input_tokens: 3 * (promptTokens + 128_000 + 500), output_tokens: 500, total_tokens: 386_090 };
      return Response.json({ ...answer, usage, tool_usage: { web_search: { num_requests: 2 } } });
    });
    const { cost_nanodollars: cost } = gateway.ledger.callOf(await ask("/responses", long));
    expect(cost).toBe(3 * 128_530 * 1250 + 500 * 10_000 + 2 * 10_000_000);
    expect(heldNanodollars).toBeGreaterThanOrEqual(Number(cost));
  });

  test("holds more for each prompt as the answer of a stream grows", async () => {
    const holds: number[] = [];
    const delta = { type: "response.output_text.delta", delta: "word ".repeat(1200) };
    const { ask, gateway } = await start(() => {
      holds.push(Number(gateway.ledger.latest()?.hold_nanodollars));
      const events = [
        { type: "response.created", response: { ...answer, status: "in_progress", output: [], usage: null } },
        delta,
        { type: "response.completed", response: { ...answer, model: "gpt-long" } },
      ];
      return streamOf(eventsOf(events));
    });
    const { max_output_tokens: _, ...unlimited } = long;
    const response = await ask("/responses", { ...unlimited, stream: true });
    await response.text();
    holds.push(Number(gateway.ledger.callOf(response)?.hold_nanodollars));
    const [first = 0, last = 0] = holds;
    expect(heldPromptTokens(first, 4096)).toBeLessThan(3 * (128_000 + 4096 + 1000));
    // The 6,000 bytes that came are held for as tokens of the answer and of three prompts.
    expect((last - first) / (10_000 + 3 * 1250)).toBe(6000);
  });

  test("takes the setting for the searches of a request that sets no limit, and none with 0", async () => {
    const { ask, seen } = await start(() => Response.json(answer), { files, env: { WEB_SEARCHES: "3" } });
    await ask("/responses", { ...request, tools });
    await ask("/responses", { ...request, tools, max_tool_calls: 5 });
    expect(seen.map(({ body: sent }) => sent.max_tool_calls)).toEqual([3, 5]);
    const none = await start(() => Response.json(answer), { files, env: { WEB_SEARCHES: "0" } });
    const response = await none.ask("/responses", { ...request, tools });
    expect([response.status, response.headers.get("x-modelgate-ignored")]).toEqual([200, "tools"]);
    expect(none.seen[0]?.body.tools).toEqual([{ ...tools[0], parameters: { type: "object", properties: {} } }]);
  });
});
