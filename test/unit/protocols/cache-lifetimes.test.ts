import { expect, test } from "bun:test";
import anthropic from "../../../plugins/anthropic/index.ts";
import openai from "../../../plugins/openai/index.ts";
import { boundPrompt, chatForm } from "../../../src/kernel/normalize/prompt-bounds.ts";
import { messagesFormat } from "../../../src/protocols/messages/passthrough.ts";
import { responsesFormat } from "../../../src/protocols/responses/passthrough.ts";
import type { Model, ProviderPlugin } from "../../../src/provider/index.ts";
import { completionOf } from "../kernel/streams.ts";
import { fakeCall } from "../sdk/fake-call.ts";

type Json = Record<string, unknown>;

const breakpoint = (ttl: string) => ({ prompt_cache_breakpoint: { mode: "explicit", ttl } });
const control = (ttl: string) => ({ cache_control: { type: "ephemeral", ttl } });

/** Requests with a lifetime in one place each. */
const chatBodies = (ttl: string): Json[] => [
  { messages: [{ role: "user", content: "Hi" }], prompt_cache_options: { mode: "implicit", ttl } },
  { messages: [{ role: "user", content: [{ type: "text", text: "Hi", ...breakpoint(ttl) }] }] },
  {
    messages: [
      { role: "developer", content: "Hi", ...breakpoint(ttl) },
      { role: "user", content: "Hi" },
    ],
  },
  {
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } }, ...breakpoint(ttl) }],
  },
];
const responsesBodies = (ttl: string): Json[] => [
  { input: "Hi", prompt_cache_options: { ttl } },
  { input: [{ role: "user", content: [{ type: "input_text", text: "Hi", ...breakpoint(ttl) }] }] },
  {
    input: [
      {
        type: "function_call_output",
        call_id: "c",
        output: [{ type: "input_text", text: "1", ...breakpoint(ttl) }],
      },
    ],
  },
  { input: "Hi", tools: [{ type: "function", name: "look", parameters: {}, ...breakpoint(ttl) }] },
];
const messagesBodies = (ttl: string): Json[] => [
  { messages: [{ role: "user", content: "Hi" }], ...control(ttl) },
  { messages: [{ role: "user", content: [{ type: "text", text: "Hi", ...control(ttl) }] }] },
  { messages: [], system: [{ type: "text", text: "Hi", ...control(ttl) }] },
  { messages: [], tools: [{ name: "look", input_schema: {}, ...control(ttl) }] },
  {
    messages: [
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t", content: [{ type: "document", source: {}, ...control(ttl) }] },
        ],
      },
    ],
  },
];

interface Target {
  plugin: ProviderPlugin;
  id: string;
  handler: "chat" | "responses" | "messages";
  bodies: (ttl: string) => Json[];
  form: typeof chatForm;
  long: "cacheWrite1hToken" | "cacheWrite12hToken";
  ttl: string;
}

const targets: Target[] = [
  {
    plugin: openai,
    id: "gpt-5.6",
    handler: "chat",
    bodies: chatBodies,
    form: chatForm,
    long: "cacheWrite12hToken",
    ttl: "12h",
  },
  {
    plugin: openai,
    id: "gpt-5.6",
    handler: "responses",
    bodies: responsesBodies,
    form: responsesFormat.prompt,
    long: "cacheWrite12hToken",
    ttl: "12h",
  },
  {
    plugin: anthropic,
    id: "claude-sonnet-5",
    handler: "messages",
    bodies: messagesBodies,
    form: messagesFormat.prompt,
    long: "cacheWrite1hToken",
    ttl: "1h",
  },
];

async function send({ plugin, handler }: Target, model: Model, body: Json) {
  const isChat = handler === "chat";
  const request = { model: model.id, max_tokens: 10, ...body };
  const { call, asked, notes } = fakeCall<unknown>(
    isChat ? request : { body: request, headers: {} },
    { json: isChat ? completionOf("Hi") : {} },
    model,
  );
  await plugin.handlers[handler]?.(call as never);
  return { sent: JSON.stringify(asked[0]?.body), notes };
}

const without = (model: Model, meter: Target["long"]): Model => {
  const { [meter]: _, serviceTiers: __, tiers: ___, ...price } = model.price ?? {};
  return { ...model, price };
};
const note = "Shortened the cache lifetime: the price of this model does not cover a longer lifetime";

test("a lifetime of a cache reaches a provider where the row has its price, and nowhere else, wherever it stands", async () => {
  const wrong: unknown[] = [];
  for (const target of targets) {
    const model = target.plugin.models.find(({ id }) => id === target.id) as Model;
    for (const body of target.bodies(target.ttl)) {
      const priced = await send(target, model, body);
      const unpriced = await send(target, without(model, target.long), body);
      const unknown = await send(
        target,
        without(model, "cacheWrite12hToken"),
        JSON.parse(JSON.stringify(body).replaceAll(`"${target.ttl}"`, '"7d"')),
      );
      const seen = [
        priced.sent.includes(`"ttl":"${target.ttl}"`),
        priced.notes.includes(note),
        unpriced.sent.includes('"ttl"'),
        unpriced.notes.includes(note),
        unknown.sent.includes('"ttl"'),
      ];
      if (JSON.stringify(seen) !== "[true,false,false,true,false]") wrong.push({ handler: target.handler, body, seen });
    }
  }
  expect(wrong).toEqual([]);
});

test("a hold is by the dearest write where a lifetime stands anywhere, and by the ordinary one where it is the provider's least", () => {
  const wrong: unknown[] = [];
  for (const { plugin, id, bodies, form, ttl } of targets) {
    const model = plugin.models.find((row) => row.id === id) as Model;
    for (const [lifetime, expected] of [
      [ttl, true],
      ["7d", true],
      ["30m", false],
      ["5m", false],
    ] as const) {
      for (const body of bodies(lifetime)) {
        if (boundPrompt(body, form, model).keepsLonger !== expected) wrong.push({ lifetime, body });
      }
    }
  }
  expect(wrong).toEqual([]);
});

test("a value of the caller's own that looks like a mark stays as it is", async () => {
  const target = targets[2] as Target;
  const model = without(target.plugin.models.find(({ id }) => id === target.id) as Model, target.long);
  const input = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const use = { type: "tool_use", id: "t", name: "look", input };
  const { sent, notes } = await send(target, model, { messages: [{ role: "assistant", content: [use] }] });
  expect(JSON.parse(sent).messages[0].content).toEqual([use]);
  expect(notes).toEqual([]);
});
