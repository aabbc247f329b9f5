import { afterEach, describe, expect, test } from "bun:test";
import { parseEvents } from "../../support/sse.ts";
import { chatReply, claude, gpt, type NativeBench, startNative } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

async function start(...options: Parameters<typeof startNative>): Promise<NativeBench> {
  const bench = await startNative(...options);
  toStop.push(bench);
  return bench;
}

const simple = { model: gpt, input: "Hi" };
const answer = { id: "resp_1", object: "response", status: "completed", model: "gpt-5.1", output: [], usage: {} };

describe("the Responses endpoints that are not here", () => {
  const webSocket = { connection: "upgrade", upgrade: "websocket" };

  test.each<[string, string, number, Record<string, string>]>([
    ["POST", "/responses/resp_1/cancel", 404, {}],
    ["GET", "/responses", 405, {}],
    ["GET", "/responses", 426, webSocket],
  ])("answer %s %s with %d in OpenAI's shape at once", async (method, path, status, upgrade) => {
    const { gateway } = await start(() => Response.json(answer));
    const headers = { authorization: `Bearer ${gateway.key}`, ...upgrade };
    const response = await fetch(gateway.baseUrl + path, { method, headers });
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { error: { message: expect.any(String) } },
    ]);
  });
});

describe("a large body", () => {
  const text = "word ".repeat(30_000);

  test("is refused for its model before its schema is looked at", async () => {
    const { ask } = await start(() => Response.json(answer));
    const wrong = { model: "nothing", input: [{ role: "nobody", content: text }], messages: undefined };
    const response = await ask("/responses", wrong);
    expect(await response.json()).toMatchObject({ error: { code: "model_not_found" } });
  });

  test("is refused for a rate limit before it is translated", async () => {
    const { ask, seen } = await start(() => Response.json(answer), { env: { REQUESTS_PER_MINUTE: "1" } });
    expect((await ask("/responses", { ...simple, input: text })).status).toBe(200);
    const wrong = { model: gpt, input: [{ role: "nobody", content: text }] };
    const response = await ask("/responses", wrong);
    expect([response.status, Number(response.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(seen.length).toBe(1);
  });
});

describe("POST /chat/completions with a body of the Responses protocol", () => {
  const tools = [{ type: "custom", name: "apply_patch", description: "Patches" }];
  const input = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [] },
    { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "seen" },
  ];

  test.each([false, true])("is served as chat, as Cursor expects (stream: %p)", async (stream) => {
    const { ask, seen } = await start((request) => chatReply(request, "Sure"));
    const response = await ask("/chat/completions", { model: gpt, input, tools, stream, user: "u" });
    expect(response.status).toBe(200);
    const text = await response.text();
    if (stream) expect(parseEvents(text)).toMatchObject({ done: true });
    else
      expect(JSON.parse(text)).toMatchObject({
        object: "chat.completion",
        choices: [{ message: { content: "Sure" } }],
      });
    expect(seen[0]).toMatchObject({
      path: "/openai/chat/completions",
      body: { messages: [{ role: "user" }, { role: "assistant" }, { role: "tool", tool_call_id: "call_1" }] },
    });
  });

  test("may say nothing in a tool's turn by an empty array, and in no other", async () => {
    const { ask, seen } = await start((request) => chatReply(request, "Sure"));
    const user = { role: "user", content: "Hi" };
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    const turn = [
      { role: "assistant", content: [], tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: [] },
    ];
    expect((await ask("/chat/completions", { model: gpt, messages: [user, ...turn] })).status).toBe(200);
    expect(seen[0]?.body.messages).toMatchObject([user, { role: "assistant" }, { role: "tool" }]);
    expect(JSON.stringify(seen[0]?.body)).not.toContain('"content":[]');
    const refused = await ask("/chat/completions", { model: gpt, messages: [{ ...user, content: [] }] });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: "messages[0].content" } }]);
  });

  test("is refused with the field at fault", async () => {
    const { ask } = await start(() => Response.json(answer));
    const response = await ask("/chat/completions", { model: gpt, input: [{ role: "nobody", content: 1 }] });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "invalid_request" } }]);
  });
});

describe("POST /responses/compact", () => {
  const compacted = {
    id: "resp_1",
    object: "response.compaction",
    created_at: 1,
    output: [{ type: "compaction", id: "cmp_1", encrypted_content: "gAAA" }],
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 20 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 130,
    },
  };

  test("goes to the provider that has it, with the fields that it takes, and is paid", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(compacted));
    const response = await ask("/responses/compact", {
      ...simple,
      stream: true,
      temperature: 0.5,
      max_output_tokens: 9,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject(compacted);
    expect(seen.map(({ path, body }) => [path, body])).toEqual([
      ["/openai/responses/compact", { model: "gpt-5.1", input: "Hi" }],
    ]);
    const call = await gateway.store.db.selectFrom("calls").selectAll().executeTakeFirstOrThrow();
    expect(call).toMatchObject({ state: "settled", input_tokens: 80, cache_read_tokens: 20, output_tokens: 30 });
  });

  test("compacts what came before by its id", async () => {
    const { ask, seen } = await start(({ path }) => Response.json(path.endsWith("compact") ? compacted : answer));
    const { id } = (await (await ask("/responses", simple)).json()) as { id: string };
    expect((await ask("/responses/compact", { ...simple, previous_response_id: id })).status).toBe(200);
    expect(seen[1]?.body.input).toMatchObject([{ role: "user" }, { role: "user" }]);
    expect(seen[1]?.body.previous_response_id).toBeUndefined();
  });

  test("is refused for a model whose provider has none", async () => {
    const { ask, seen } = await start(() => Response.json(compacted));
    const response = await ask("/responses/compact", { ...simple, model: claude });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "unsupported_model" } }]);
    expect(seen).toEqual([]);
  });

  test("is refused where its whole output cannot be paid, because it has no limit to lower", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(compacted));
    await gateway.store.change((db) =>
      db.updateTable("wallet_rows").set({ balance_nanodollars: 10_000_000 }).execute(),
    );
    const response = await ask("/responses/compact", { ...simple, max_output_tokens: 16 });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { type: "insufficient_quota" } }]);
    expect(seen).toEqual([]);
  });
});
