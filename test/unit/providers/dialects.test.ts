import { describe, expect, test } from "bun:test";
import type { ChatRequest, Model, ProviderPlugin } from "../../../src/provider/index.ts";
import { readManifest } from "../../../src/providers/manifest.ts";
import { headersOf } from "../../support/authorize.ts";
import { fakeCall } from "../sdk/fake-call.ts";

const row = { id: "acme-1", premium: false };
const manifest = (changes: object) => ({ baseUrl: "https://api.acme.example/v1", models: [row], ...changes });
const messages: ChatRequest["messages"] = [{ role: "user", content: "Hi" }];

async function ask(plugin: ProviderPlugin, json: object, request: Partial<ChatRequest> = {}) {
  const [model] = plugin.models as [Model];
  const { call, asked } = fakeCall<ChatRequest>({ model: model.id, messages, ...request }, { json }, model);
  await plugin.handlers[model.capability as "chat"]?.(call);
  return asked;
}

describe("a manifest in the dialect", () => {
  test("anthropic speaks Messages, also to clients of that protocol, and shows its key in x-api-key", async () => {
    const plugin = readManifest(manifest({ dialect: "anthropic" }), "acme");
    const answer = { content: [{ type: "text", text: "Yes" }], stop_reason: "end_turn", usage: {} };
    const [asked] = await ask(plugin, answer);
    expect(asked).toMatchObject({ path: "/messages", body: { model: "acme-1", messages: [{ role: "user" }] } });
    expect(Object.keys(plugin.handlers).sort()).toEqual(["chat", "countChatTokens", "countMessagesTokens", "messages"]);
    expect(await headersOf(plugin, "k")).toEqual({ "x-api-key": "k" });
    expect(plugin.maxChoices).toEqual({ chat: 1 });
  });

  test("gemini speaks generateContent and shows its key in x-goog-api-key, unless the manifest says otherwise", async () => {
    const plugin = readManifest(manifest({ dialect: "gemini" }), "acme");
    const answer = { candidates: [{ content: { parts: [{ text: "Yes" }] }, finishReason: "STOP" }] };
    const [asked] = await ask(plugin, answer);
    expect(asked).toMatchObject({ path: "/models/acme-1:generateContent", body: { contents: [{ role: "user" }] } });
    expect(await headersOf(plugin, "k")).toEqual({ "x-goog-api-key": "k" });
    const bearer = manifest({ dialect: "gemini", authorize: { authorization: "Bearer {key}" } });
    expect(await headersOf(readManifest(bearer, "acme"), "k")).toEqual({ authorization: "Bearer k" });
  });

  test.each<[string, object, string]>([
    ["an unknown one", { dialect: "cohere" }, "dialect: got"],
    ["options of another", { dialect: "gemini", options: { chat: {} } }, "options is for the dialect openai"],
    [
      "a capability that it lacks",
      { dialect: "anthropic", models: [{ ...row, capability: "embeddings" }] },
      "there is no handlers.embeddings",
    ],
  ])("that is %s is refused", (_, changes, sentence) => {
    expect(() => readManifest(manifest(changes), "acme")).toThrow(sentence);
  });
});

describe("a path", () => {
  const completion = { choices: [{ index: 0, message: { content: "Yes" }, finish_reason: "stop" }] };

  test("of the options is asked in place of OpenAI's", async () => {
    const plugin = readManifest(
      manifest({ dialect: "openai", options: { chat: { path: "/v2/{model}/chat" } } }),
      "acme",
    );
    const models = [{ ...(plugin.models[0] as Model), upstreamId: "org/one" }];
    const [asked] = await ask({ ...plugin, models }, completion);
    expect(asked).toMatchObject({ path: "/v2/org%2Fone/chat", body: { model: "org/one" } });
  });

  test("of a row is asked for that model alone", async () => {
    const models = [
      { ...row, options: { path: "/special" } },
      { id: "acme-2", premium: false },
    ];
    const plugin = readManifest(manifest({ dialect: "openai", models }), "acme");
    expect((await ask(plugin, completion))[0]?.path).toBe("/special");
    const other = { ...plugin, models: plugin.models.slice(1) };
    expect((await ask(other, completion))[0]?.path).toBe("/chat/completions");
  });

  test("that does not begin with a slash is refused", () => {
    expect(() => readManifest(manifest({ dialect: "openai", options: { chat: { path: "v2" } } }), "acme")).toThrow(
      "options.chat.path",
    );
  });
});

describe("an option of a row", () => {
  test.each<[string, string, object, string]>([
    [
      "that is misspelt",
      "openai",
      { think_: true },
      "model acme-1 has options.think_, which this plugin does not know, did you mean think?",
    ],
    ["that is misspelt, of another dialect", "anthropic", { thinkin: "budget" }, "did you mean thinking?"],
    [
      "with a value that it cannot have",
      "anthropic",
      { thinking: "much" },
      'options.thinking as "much", expected one of adaptive, budget',
    ],
    ["of another type", "gemini", { budgetMax: "many" }, "expected a number"],
    ["that is a list of something else", "openai", { omit: [1] }, "expected a list of texts"],
  ])("%s is refused in the dialect %s", (_, dialect, options, sentence) => {
    expect(() => readManifest(manifest({ dialect, models: [{ ...row, options }] }), "acme")).toThrow(sentence);
  });
});
