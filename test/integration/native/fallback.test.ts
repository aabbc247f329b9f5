import { afterEach, describe, expect, test } from "bun:test";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import { chatReply, claude, eventsOf, gpt, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) {
    await bench.gateway.app.close();
    expect((await verifyLedger(bench.gateway.store)).differences).toEqual([]);
    await bench.stop();
  }
});

const files = { "catalogue/virtual.json": { models: [{ id: "safe", models: [claude, gpt] }] } };

async function start(answer: (seen: Seen, index: number) => Response | Promise<Response>): Promise<NativeBench> {
  const bench = await startNative(answer, { files });
  toStop.push(bench);
  return bench;
}

const busy = () => Response.json({ error: { message: "Busy", type: "overloaded_error" } }, { status: 503 });
const isClaude = ({ path }: Seen) => path.startsWith("/anthropic");

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-upstream",
  content: [{ type: "text", text: "From Claude" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 4 },
};
const messageEvents = [
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "From Claude" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 4 } },
  { type: "message_stop" },
];
const claudeReply = ({ body }: Seen) =>
  body.stream === true ? streamOf(eventsOf(messageEvents)) : Response.json(message);

/** The rows of a call's models, the first one's first. */
function rowsOf({ gateway: { ledger } }: NativeBench, response: Response): (CallRow | undefined)[] {
  const id = response.headers.get("x-request-id") as string;
  return [ledger.call(id), ledger.call(`${id}-2`)];
}

const eventsIn = (text: string) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data as string));
const facts = (row: CallRow | undefined) => [row?.model, row?.state, row?.charged_nanodollars, row?.error_code];

describe("a call whose first model fails", () => {
  test.each([
    ["/chat/completions", { messages: [{ role: "user", content: "Hi" }] }],
    ["/messages", { max_tokens: 100, messages: [{ role: "user", content: "Hi" }] }],
  ])("is served whole by the second at %s, and only that one is charged", async (path, request) => {
    const bench = await start((seen) => (isClaude(seen) ? busy() : chatReply(seen, "From GPT")));
    const response = await bench.ask(path, { model: "safe", ...request });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("From GPT")]);
    expect(JSON.parse(text).model).toBe(gpt);
    expect(response.headers.get("x-modelgate-model")).toBe(gpt);
    expect(response.headers.get("x-modelgate-failed")).toBe(`${claude}=upstream_error`);
    // The first model is not asked again: another one is next.
    expect(response.headers.get("x-modelgate-attempts")).toBe("2");
    const [first, second] = rowsOf(bench, response);
    expect(facts(first)).toEqual([claude, "released", 0, "upstream_error"]);
    expect(facts(second).slice(0, 2)).toEqual([gpt, "settled"]);
    expect(second?.charged_nanodollars).toBe(second?.cost_nanodollars as number);
    expect(second?.charged_nanodollars).toBeGreaterThan(0);
    const { heldNanodollars } = await readWalletState(bench.gateway.store, await accountOf(bench));
    expect(heldNanodollars).toBe(0);
  });

  test("is served by a stream of the second, translated", async () => {
    const bench = await start((seen) => (isClaude(seen) ? busy() : chatReply(seen, "From GPT")));
    const body = { model: "safe", max_tokens: 100, stream: true, messages: [{ role: "user", content: "Hi" }] };
    const response = await bench.ask("/messages", body);
    const events = eventsIn(await response.text());
    expect(events[0].message.model).toBe(gpt);
    expect(JSON.stringify(events)).toContain("From GPT");
    expect(events.at(-1)).toEqual({ type: "message_stop" });
    expect(response.headers.get("x-modelgate-model")).toBe(gpt);
  });

  test.each([[false], [true]])("is served natively by the second (stream: %p)", async (stream) => {
    const bench = await start((seen) => (isClaude(seen) ? claudeReply(seen) : busy()));
    const body = { models: [gpt, claude], max_tokens: 100, stream, messages: [{ role: "user", content: "Hi" }] };
    const response = await bench.ask("/messages", body);
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("From Claude")]);
    expect(text).toContain(`"model":"${claude}"`);
    expect(bench.seen.at(-1)?.body.models).toBeUndefined();
    expect(rowsOf(bench, response).map((row) => row?.state)).toEqual(["released", "settled"]);
  });

  test.each([[false], [true]])("is a response of the second by another protocol (stream: %p)", async (stream) => {
    const bench = await start((seen) => (isClaude(seen) ? claudeReply(seen) : busy()));
    const response = await bench.ask("/responses", { models: [gpt, claude], input: "Hi", stream });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("From Claude")]);
    const last = stream ? eventsIn(text).at(-1)?.response : JSON.parse(text);
    expect([last.model, last.status]).toEqual([claude, "completed"]);
    expect(rowsOf(bench, response).map((row) => row?.state)).toEqual(["released", "settled"]);
  });

  test("fails when the provider of the first has the whole request and says nothing", async () => {
    const bench = await start((seen) => (isClaude(seen) ? new Response("{") : chatReply(seen)));
    const body = { model: "safe", messages: [{ role: "user", content: "Hi" }] };
    const response = await bench.ask("/chat/completions", body);
    expect(response.status).toBe(500);
    expect(bench.seen).toHaveLength(1);
  });
});

test("many calls at once are each charged once, whichever model serves them", async () => {
  let asked = 0;
  const bench = await start((seen) => {
    if (isClaude(seen)) return asked++ % 2 === 0 ? busy() : claudeReply(seen);
    return chatReply(seen);
  });
  const ask = async (index: number) => {
    const stream = index % 2 === 0;
    const response = await bench.ask("/chat/completions", {
      model: "safe",
      stream,
      messages: [{ role: "user", content: "Hi" }],
    });
    await response.text();
    return response;
  };
  const responses = await Promise.all(Array.from({ length: 24 }, (_, index) => ask(index)));
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 200));
  for (const response of responses) {
    const states = rowsOf(bench, response).map((row) => row?.state);
    expect(states.filter((state) => state === "settled")).toHaveLength(1);
  }
  expect(bench.gateway.ledger.counts().open).toBe(0);
});

describe("a list of models in the request", () => {
  test.each([
    [{ models: [] }, "models must be a list of 1 to 16 names"],
    [{ models: "fast" }, "models must be a list of 1 to 16 names"],
    [{ model: gpt, models: ["nobody"] }, "The model 'nobody' does not exist here"],
  ])("%j is refused", async (request, said) => {
    const bench = await start(() => busy());
    const response = await bench.ask("/chat/completions", { ...request, messages: [{ role: "user", content: "Hi" }] });
    expect([response.status, ((await response.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringContaining(said),
    ]);
    expect(bench.seen).toEqual([]);
  });

  test("makes another request under the same Idempotency-Key", async () => {
    const bench = await start((seen) => (isClaude(seen) ? claudeReply(seen) : chatReply(seen)));
    const ask = (models: string[]) => {
      const body = { models, messages: [{ role: "user", content: "Hi" }] };
      return bench.ask("/chat/completions", body, { "idempotency-key": "once" });
    };
    expect((await ask([gpt])).status).toBe(200);
    expect((await ask([gpt, claude])).status).toBe(409);
  });
});

test("GET /models lists a virtual model with its members", async () => {
  const bench = await start(() => busy());
  const { baseUrl, key } = bench.gateway;
  const get = async (path: string) =>
    (await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } })).json() as Promise<{
      data: { id: string }[];
    }>;
  const expected = {
    id: "safe",
    object: "model",
    members: ["claude-sonnet-4-6", "gpt-5.1"],
    strategy: "priority",
    capability: "chat",
  };
  expect((await get("/models")).data.find(({ id }) => id === "safe")).toMatchObject(expected);
  expect(await get("/models/safe")).toMatchObject(expected);
});

async function accountOf({ gateway: { store } }: NativeBench): Promise<string> {
  const { account_id: id } = await store.db.selectFrom("calls").select("account_id").executeTakeFirstOrThrow();
  return id;
}
