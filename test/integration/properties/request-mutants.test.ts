import { expect, test } from "bun:test";
import { builtIns, sandbox } from "../../../plugins/index.ts";
import type { Capability } from "../../../src/contract/index.ts";
import { expectPrototypesClean } from "../../support/hostile.ts";
import { isLong } from "../../support/long.ts";
import { httpOf } from "../../unit/http/support.ts";
import { fetchOf } from "../../unit/kernel/fake-fetch.ts";
import { createBench } from "../../unit/kernel/support.ts";
import { exemplarOf } from "./exemplars.ts";
import { mutantsOf, triedOf } from "./mutants.ts";

const picture = "data:image/png;base64,iVBORw0KGgo=";
const schema = {
  type: "object",
  properties: {
    a: { type: ["string", "null"], enum: ["x", null], description: "d" },
    b: { anyOf: [{ $ref: "#/$defs/c" }, { type: "integer", minimum: 0 }] },
    d: { type: "array", items: { type: "string", format: "date" }, minItems: 1 },
  },
  required: ["a"],
  additionalProperties: false,
  $defs: { c: { allOf: [{ type: "object", properties: { e: { const: 1 } } }] } },
};
const called = [{ id: "call_1", type: "function", function: { name: "look_up", arguments: '{"a":"x"}' } }];
const chat = {
  messages: [
    { role: "system", content: "Be short" },
    { role: "developer", content: [{ type: "text", text: "And kind" }] },
    {
      role: "user",
      name: "ada",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: picture, detail: "low" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      refusal: null,
      tool_calls: called,
      reasoning_details: [{ type: "x", text: "t" }],
    },
    { role: "tool", tool_call_id: "call_1", content: "A kite" },
    { role: "user", content: "Thanks" },
  ],
  tools: [{ type: "function", function: { name: "look_up", description: "d", parameters: schema, strict: true } }],
  tool_choice: { type: "function", function: { name: "look_up" } },
  parallel_tool_calls: false,
  response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
  stop: ["END"],
  temperature: 0.5,
  top_p: 0.9,
  n: 1,
  max_tokens: 10,
  max_completion_tokens: 10,
  presence_penalty: 0.1,
  frequency_penalty: 0.1,
  logit_bias: { "1": 1 },
  logprobs: true,
  top_logprobs: 1,
  seed: 1,
  user: "u",
  metadata: { a: "b" },
  stream: false,
  stream_options: { include_usage: true },
  reasoning_effort: "low",
  service_tier: "auto",
};
const requests: Partial<Record<Capability, { path: string; body: object }>> = {
  chat: { path: "chat/completions", body: chat },
  embeddings: { path: "embeddings", body: { input: ["a", "b"], dimensions: 2, encoding_format: "float", user: "u" } },
  images: {
    path: "images/generations",
    body: { prompt: "A kite", n: 1, size: "1024x1024", quality: "hd", response_format: "b64_json", style: "vivid" },
  },
  speech: { path: "audio/speech", body: { input: "Hello", voice: "alloy", response_format: "wav", speed: 1 } },
  moderation: { path: "moderations", body: { input: ["Hello", "there"], user: "u" } },
  rerank: {
    path: "rerank",
    body: { query: "Hello", documents: ["a", { text: "b" }], top_n: 1, return_documents: true },
  },
};

const simulated = sandbox(builtIns.flatMap(({ models }) => models));
const cases = [...builtIns, simulated].flatMap((plugin) =>
  [...new Set(plugin.models.map(({ capability }) => capability))]
    .filter((capability) => requests[capability] !== undefined)
    .map((capability) => [plugin.name, capability, plugin] as const),
);
if (!isLong) console.log("One of three requests is tried with each plugin; all are for LONG=1");

test.each(cases)(
  "a request to %s' %s in which one thing is not what it should be is answered or refused in our form",
  async (name, capability, plugin) => {
    const { path, body } = requests[capability] as { path: string; body: object };
    const answer = JSON.stringify(exemplarOf(name, capability)?.whole ?? {});
    const headers = { "content-type": "application/json" };
    const bench = createBench([plugin], {
      fetch: fetchOf(() => new Response(answer, { headers })),
    });
    const { post } = httpOf([plugin], { ...bench, now: bench.clock.now });
    const model = plugin.models.find((row) => row.capability === capability)?.id;
    const bodies = new Set<string>();
    for (const mutant of mutantsOf({ model, ...body })) bodies.add(JSON.stringify(mutant) ?? "");
    for (const sent of triedOf(bodies, builtIns.indexOf(plugin) + 1)) {
      const response = await post(path, sent);
      const told = await response.text();
      const failed = bench.log.lines.filter(({ level }) => level === "error");
      const code = response.status < 400 ? undefined : JSON.parse(told).error.code;
      expect({ sent, code, failed }).toEqual({ sent, code: code === "internal_error" ? "another" : code, failed: [] });
      expectPrototypesClean();
    }
    expect(bodies.size).toBeGreaterThan(50);
  },
);
