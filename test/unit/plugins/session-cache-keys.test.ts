import { expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { PromptCaching } from "../../../src/kernel/index.ts";
import type { Call, ChatRequest, Model, NativeRequest, ProviderPlugin } from "../../../src/provider/index.ts";
import { definePlugin, openai as openaiHandlers } from "../../../src/sdk/index.ts";
import { fetchOf, json } from "../kernel/fake-fetch.ts";
import { caller, chatCall, createBench, runCall } from "../kernel/support.ts";
import { fakeCall } from "../sdk/fake-call.ts";

const openai = builtIns.find(({ name }) => name === "openai") as ProviderPlugin;
const messages = [{ role: "user" as const, content: "Hi" }];
const answer = {
  choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 },
};

/** The key that OpenAI is sent with a chat of an account and a session. */
async function keyOf(session: string | undefined, accountId = "account-1", request: object = {}) {
  const fetch = fetchOf(() => json(answer));
  const promptCaching = new PromptCaching({ secret: new Uint8Array(32).fill(3) });
  const { kernel } = createBench([openai], { fetch, promptCaching });
  const call = chatCall({ model: "famA-4.1", ...request }, { session, caller: { ...caller, accountId } });
  await runCall(kernel, call);
  const [asked] = fetch.asked;
  return [(asked?.body as Record<string, unknown> | undefined)?.prompt_cache_key, call.run?.ignored.size];
}

test("OpenAI is sent a prompt_cache_key for the session of a client that sends none", async () => {
  const [key, ignored] = await keyOf("s-1");
  expect([key, ignored]).toEqual([expect.stringMatching(/^[\w-]{32}$/), 0]);
  expect(await keyOf("s-1")).toEqual([key, 0]);
  expect((await keyOf("s-2"))[0]).not.toBe(key);
  expect((await keyOf("s-1", "account-2"))[0]).not.toBe(key);
  expect((await keyOf(undefined))[0]).toBeUndefined();
});

test("a client's own prompt_cache_key passes as it is", async () => {
  expect(await keyOf("s-1", "account-1", { prompt_cache_key: "mine" })).toEqual(["mine", 0]);
});

/** What a handler sends, with a key of the session. */
async function sentBy<Request>(
  handler: (call: Call<Request>) => unknown,
  request: Request,
  { model, ...changes }: Partial<Call<Request>> & { model: Model },
) {
  const sent: Record<string, unknown>[] = [];
  const ask = async (_: string, body: unknown) => {
    sent.push(body as Record<string, unknown>);
    throw new Error("Enough was seen");
  };
  const { call } = fakeCall(request, {}, model);
  const upstream = { ...call.upstream, baseUrl: "https://api.example/v1", json: ask, events: ask };
  await Promise.resolve(handler({ ...call, upstream, readCacheKey: () => "key-of-session", ...changes })).catch(
    () => undefined,
  );
  return sent[0];
}

const chatModelOf = (plugin: ProviderPlugin) => plugin.models.find(({ capability }) => capability === "chat");

test("no provider but OpenAI is sent one, because others may refuse it", async () => {
  const taking: string[] = [];
  let asked = 0;
  for (const plugin of builtIns) {
    const model = chatModelOf(plugin);
    const handlers = { ...plugin.handlers, ...(model && plugin.forModel?.(model)?.handlers) };
    if (model === undefined || handlers.chat === undefined) continue;
    const body = await sentBy<ChatRequest>(handlers.chat, { model: model.id, messages }, { model });
    if (body !== undefined) asked++;
    if (body !== undefined && "prompt_cache_key" in body) taking.push(plugin.name);
  }
  expect(taking).toEqual(["openai"]);
  expect(asked).toBeGreaterThan(15);
});

test("POST /responses of OpenAI gets it too, from clients of that protocol and of others", async () => {
  const model = { ...(chatModelOf(openai) as Model), endpoint: "responses" as const };
  const { responses, chat } = openai.handlers;
  if (responses === undefined || chat === undefined) throw new Error("It has no handler");
  const request = (body: object): NativeRequest => ({ body: { model: model.id, input: "Hi", ...body }, headers: {} });
  const passed = await sentBy(responses, request({}), { model });
  const own = await sentBy(responses, request({ prompt_cache_key: "mine" }), { model });
  const translated = await sentBy<ChatRequest>(chat, { model: model.id, messages }, { model });
  const keys = [passed, own, translated].map((body) => body?.prompt_cache_key);
  expect(keys).toEqual(["key-of-session", "mine", "key-of-session"]);
});

test("a server of the operator's in place of OpenAI is sent none, nor is a model whose row omits it", async () => {
  const model = chatModelOf(openai) as Model;
  const { chat } = openai.handlers;
  if (chat === undefined) throw new Error("It has no handler");
  const request: ChatRequest = { model: model.id, messages };
  const [private_, omitting, plain] = [
    await sentBy(chat, request, { model, isOwnServer: true }),
    await sentBy(chat, request, { model: { ...model, omit: ["prompt_cache_key"] } }),
    await sentBy(chat, request, { model }),
  ];
  const keys = [private_, omitting, plain].map((body) => body?.prompt_cache_key);
  expect(keys).toEqual([undefined, undefined, "key-of-session"]);
});

test("another provider in OpenAI's dialect is sent one where its options say cacheKey", async () => {
  const models = [{ id: "acme-1", premium: false }];
  const [plain, taking] = [{}, { cacheKey: true }].map((chat) =>
    definePlugin({ name: "acme", baseUrl: "https://acme.example/v1", models, handlers: openaiHandlers({ chat }) }),
  );
  const keys = [];
  for (const plugin of [plain, taking]) {
    const model = plugin?.models[0];
    const chat = plugin?.handlers.chat;
    if (model === undefined || chat === undefined) throw new Error("It has no handler");
    keys.push((await sentBy<ChatRequest>(chat, { model: "acme-1", messages }, { model }))?.prompt_cache_key);
  }
  expect(keys).toEqual([undefined, "key-of-session"]);
});
