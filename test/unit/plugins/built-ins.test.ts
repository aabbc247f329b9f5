import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { builtIns } from "../../../plugins/index.ts";
import type { ChatCompletion, ChatRequest, Model } from "../../../src/provider/index.ts";
import { headersOf } from "../../support/authorize.ts";
import { recordingAt, recordingsMissing } from "../../support/recordings.ts";
import { fakeCall } from "../sdk/fake-call.ts";

const names = ["groq", "openai", "together"];
const createPlugin = (name: string) => builtIns.find((plugin) => plugin.name === name) as (typeof builtIns)[number];
const rowOf = (name: string, upstreamId: string) =>
  createPlugin(name).models.find((row) => row.upstreamId === upstreamId) as Model;
const messages: ChatRequest["messages"] = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Hi" },
];

describe("the built-in plugins", () => {
  test("have names of their own, in order", () => {
    const all = builtIns.map(({ name }) => name);
    expect(all).toEqual([...new Set(all)].sort());
    expect(all).toEqual(expect.arrayContaining(names));
  });

  test.each(names)("%s is a plugin of at most 15 lines", (name) => {
    const source = readFileSync(new URL(`../../../plugins/${name}/index.ts`, import.meta.url), "utf8");
    const lines = source.trimEnd().split("\n").length;
    expect(lines).toBeLessThanOrEqual(15);
  });

  test.each(names)("%s carries its key as a bearer token and names only its own host", async (name) => {
    const plugin = createPlugin(name);
    const { credential, hosts, models } = plugin;
    expect(await headersOf(plugin, "k")).toEqual({ authorization: "Bearer k" });
    expect([credential, hosts]).toEqual(["key", []]);
    expect(models.length).toBeGreaterThan(0);
  });
});

async function chatBody(name: string, upstreamId: string, request: object) {
  const json = { choices: [{ index: 0, message: { content: "Yes" }, finish_reason: "stop" }] };
  const model = rowOf(name, upstreamId);
  const { call, asked } = fakeCall({ model: model.id, messages, ...request } as ChatRequest, { json }, model);
  await createPlugin(name).handlers.chat?.(call);
  return asked[0]?.body as Record<string, unknown>;
}

describe("openai", () => {
  test("sends a reasoning model what it takes", async () => {
    const body = await chatBody("openai", "o3", { max_tokens: 9, temperature: 0.7, top_p: 1, seed: 1 });
    const sent = [{ role: "developer", content: "Be brief" }, messages[1]];
    expect(body).toEqual({ model: "o3", messages: sent, max_completion_tokens: 9, seed: 1 });
  });

  test("sends another model all of it", async () => {
    const request = { max_tokens: 9, temperature: 0.7, functions: [{ name: "f" }], store: true };
    expect(await chatBody("openai", "gpt-4.1-nano", request)).toEqual({ model: "gpt-4.1-nano", messages, ...request });
  });

  test("leaves sampling out only while the model reasons", async () => {
    const reasoning = await chatBody("openai", "gpt-5.1", { reasoning_effort: "high", temperature: 0.7 });
    expect(reasoning).not.toHaveProperty("temperature");
    const plain = await chatBody("openai", "gpt-5.1", { reasoning_effort: "none", temperature: 0.7 });
    expect(plain).toMatchObject({ reasoning_effort: "none", temperature: 0.7 });
  });
});

describe("groq", () => {
  test("sends nothing that Groq refuses", async () => {
    const request = {
      logprobs: true,
      logit_bias: {},
      metadata: {},
      store: true,
      service_tier: "default",
      n: 1,
      stop: "x",
    };
    const named: ChatRequest["messages"] = [
      { role: "user", content: "Hi", name: "Ann" },
      { role: "assistant", content: "Yes", ...{ refusal: "No" }, reasoning_content: "Hm" },
    ];
    const body = await chatBody("groq", "openai/gpt-oss-20b", { ...request, messages: named });
    expect(body).toEqual({
      model: "openai/gpt-oss-20b",
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Yes" },
      ],
      service_tier: "on_demand",
      n: 1,
      stop: "x",
    });
    expect(createPlugin("groq").maxChoices).toEqual({ chat: 1 });
  });

  test("sends legacy functions as tools", async () => {
    const body = await chatBody("groq", "openai/gpt-oss-20b", {
      functions: [{ name: "f" }],
      function_call: { name: "f" },
    });
    expect(body.tools).toEqual([{ type: "function", function: { name: "f" } }]);
    expect(body.tool_choice).toEqual({ type: "function", function: { name: "f" } });
    expect(body).not.toHaveProperty("functions");
  });

  test.skipIf(recordingsMissing !== undefined)("answers with what an OpenAI client knows, and no more", async () => {
    const json = JSON.parse(
      new TextDecoder().decode(recordingAt("groq/reasoning/gpt-oss-120b-service-tier.json").body),
    );
    const { call } = fakeCall<ChatRequest>({ model: "m", messages }, { json }, rowOf("groq", "openai/gpt-oss-120b"));
    const answer = (await createPlugin("groq").handlers.chat?.(call)) as ChatCompletion;
    const fields = ["choices", "created", "id", "model", "object", "system_fingerprint", "usage"];
    expect(Object.keys(answer).sort()).toEqual(fields);
    expect(Object.keys(answer.usage as object).sort()).toEqual([
      "completion_tokens",
      "completion_tokens_details",
      "prompt_tokens",
      "total_tokens",
    ]);
    expect(Object.keys(answer.choices[0]?.message as object).sort()).toEqual(["content", "reasoning_content", "role"]);
  });
});

test("together embeds without dimensions, format and user, which it does not know", async () => {
  const { handlers, models } = createPlugin("together");
  const [model] = models as [Model];
  const request = { model: model.id, input: "a", dimensions: 768, encoding_format: "base64" as const, user: "u" };
  const { call, asked } = fakeCall(request, { json: { data: [{ index: 0, embedding: [1] }] } }, model);
  expect(await handlers.embeddings?.(call)).toEqual({ vectors: [[1]] });
  expect(asked[0]?.body).toEqual({ model: model.upstreamId, input: "a" });
});
