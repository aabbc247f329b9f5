import { afterEach, describe, expect, test } from "bun:test";
import { claude, eventsOf, type NativeBench, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const usage = { input_tokens: 10, cache_creation_input_tokens: 9000, output_tokens: 2 };
const answer = {
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "upstream",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
};
const stream = [
  { type: "message_start", message: { ...answer, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];

async function start(options: Parameters<typeof startNative>[1] = {}) {
  const bench = await startNative(
    ({ body }) => (body.stream === true ? streamOf(eventsOf(stream)) : Response.json(answer)),
    options,
  );
  toStop.push(bench);
  return bench;
}

const long = "Where are the tests of it? ".repeat(2000);
const chat = {
  model: claude,
  messages: [{ role: "user", content: long }],
  tools: [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }],
};
const isMarked = (text: string | undefined) => text?.includes("cache_control");
const header = (response: Response) => response.headers.get("x-modelgate-cache-marks");

describe("the header x-modelgate-cache-marks", () => {
  test("says on whole answers and streams that the gateway marked the prompt, and so does the request log", async () => {
    const { ask, seen, gateway } = await start();
    const whole = await ask("/chat/completions", chat);
    const streamed = await ask("/chat/completions", { ...chat, stream: true });
    await streamed.text();
    const response = await ask("/responses", {
      model: claude,
      input: long,
      tools: [{ type: "function", name: "look" }],
    });
    expect([whole, streamed, response].map(header)).toEqual(["marked", "marked", "marked"]);
    expect(seen.map(({ text }) => isMarked(text))).toEqual([true, true, true]);
    const read = (path: string) =>
      fetch(`${gateway.baseUrl}${path}`, { headers: { authorization: `Bearer ${gateway.key}` } });
    const detail = await read(`/key/requests/${whole.headers.get("x-request-id")}`);
    expect(await detail.json()).toMatchObject({ cache_marks: "marked" });
  });

  test("says that a prompt is too short, and nothing of a question that would not be marked", async () => {
    const { ask, seen } = await start();
    const short = await ask("/chat/completions", { ...chat, messages: [{ role: "user", content: "Hi" }] });
    const question = await ask("/chat/completions", { model: claude, messages: chat.messages });
    const messages = await ask("/messages", { model: claude, max_tokens: 9, messages: chat.messages });
    expect([short, question, messages].map(header)).toEqual(["short", null, null]);
    expect(seen.map(({ text }) => isMarked(text))).toEqual([false, false, false]);
  });

  test("of a request leaves its prompt without marks if it is off, and with the client's own", async () => {
    const { ask, seen } = await start();
    const off = { "x-modelgate-cache-marks": "Off" };
    expect(header(await ask("/chat/completions", chat, off))).toBeNull();
    const content = [{ type: "text", text: long, cache_control: { type: "ephemeral" } }];
    await ask("/chat/completions", { ...chat, messages: [{ role: "user", content }] }, off);
    expect(header(await ask("/chat/completions", chat, { "x-modelgate-cache-marks": "sometimes" }))).toBe("marked");
    expect(seen.map(({ text }) => isMarked(text))).toEqual([false, true, true]);
    expect(seen[1]?.body).toMatchObject({ messages: [{ content }] });
  });

  test("says that the marks are refused, where the provider answers without", async () => {
    const bench = await startNative(({ text }) =>
      isMarked(text)
        ? Response.json(
            { type: "error", error: { type: "invalid_request_error", message: "cache_control: not permitted" } },
            { status: 400 },
          )
        : Response.json(answer),
    );
    toStop.push(bench);
    expect(header(await bench.ask("/chat/completions", chat))).toBe("refused");
    expect(bench.seen.map(({ text }) => isMarked(text))).toEqual([true, false]);
  });

  test("says that marks lose money, from the call after the twentieth on", async () => {
    const { ask } = await start();
    const states = new Set<string | null>();
    for (let call = 0; call < 20; call++) states.add(header(await ask("/chat/completions", chat)));
    expect([...states]).toEqual(["marked"]);
    expect(header(await ask("/chat/completions", chat))).toBe("losing");
  });
});

describe("the gateway marks no prompts", () => {
  test("with CACHE_MARKS=off", async () => {
    const { ask, seen } = await start({ env: { CACHE_MARKS: "off" } });
    expect(header(await ask("/chat/completions", chat))).toBeNull();
    expect(isMarked(seen[0]?.text)).toBe(false);
  });

  test("of a model whose row says so", async () => {
    const files = { "catalogue/anthropic.json": { models: [{ id: claude, cacheMarks: "off" }] } };
    const { ask, seen } = await start({ files });
    expect(header(await ask("/chat/completions", chat))).toBeNull();
    expect(isMarked(seen[0]?.text)).toBe(false);
  });

  test("of a key that has them off, from the next call on", async () => {
    const { ask, seen, gateway } = await start();
    const { accounts } = gateway.app;
    const [key] = await accounts.listKeys();
    expect(header(await ask("/chat/completions", chat))).toBe("marked");
    await accounts.changeKey(key?.id ?? "", { cacheMarks: "off" });
    expect(header(await ask("/chat/completions", chat))).toBeNull();
    await accounts.changeKey(key?.id ?? "", { cacheMarks: "auto" });
    expect(header(await ask("/chat/completions", chat))).toBe("marked");
    expect(seen.map(({ text }) => isMarked(text))).toEqual([true, false, true]);
  });
});
