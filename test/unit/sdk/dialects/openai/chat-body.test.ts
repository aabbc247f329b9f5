import { describe, expect, test } from "bun:test";
import type { ChatRequest, Model } from "../../../../../src/contract/index.ts";
import { toChatBody } from "../../../../../src/sdk/dialects/openai/chat.ts";
import { type ChatOptions, resolveOptions } from "../../../../../src/sdk/dialects/openai/options.ts";
import { nearestEffort } from "../../../../../src/sdk/dialects/openai/reasoning.ts";
import golden from "../../../../fixtures/sdk/chat-bodies.json" with { type: "json" };
import { fakeCall, plainModel } from "../../fake-call.ts";

const messages: ChatRequest["messages"] = [{ role: "user", content: "Hi" }];

/** A request, what the dialect and the model row say of it, and what is sent beside the model and the messages. */
interface Case {
  name: string;
  request: Partial<ChatRequest>;
  options?: ChatOptions;
  row?: Partial<Model>;
  body: object;
}

function bodyOf(request: Partial<ChatRequest>, options: ChatOptions = {}, row: Partial<Model> = {}) {
  const model = { ...plainModel, ...row };
  const { call, notes } = fakeCall({ model: "acme-1", messages, ...request }, {}, model);
  return { body: toChatBody(call, resolveOptions(options, model)), notes };
}

const plain = { model: "acme-one", messages };

describe("a chat body", () => {
  test.each((golden as Case[]).map((row) => [row.name, row] as const))("%s", (_, { request, options, row, body }) => {
    expect(bodyOf(request, options, row).body).toEqual({ ...plain, ...body });
  });

  test("notes what it had to leave out, and why", () => {
    const { notes } = bodyOf(
      { seed: 1, ...{ service_tier: "priority" }, reasoning_effort: "max", temperature: 1 },
      { omit: ["seed"], reasoningOmit: ["temperature"] },
      { options: { reasoningEfforts: ["low"] } },
    );
    expect(notes).toEqual([
      "Left out seed: the provider does not take it",
      "Left out service_tier: the price of this model does not cover it",
      "Sent reasoning_effort low for max: the model takes low",
      "Left out temperature: the model does not take it while it reasons",
    ]);
  });

  test.each<[string, ChatOptions, ChatRequest["messages"][number], object]>([
    ["passes roles", {}, { role: "developer", content: "a" }, { role: "developer", content: "a" }],
    [
      "makes system developer",
      { systemRole: "developer" },
      { role: "system", content: "a" },
      { role: "developer", content: "a" },
    ],
    [
      "makes developer system",
      { systemRole: "system" },
      { role: "developer", content: "a" },
      { role: "system", content: "a" },
    ],
    [
      "takes out reasoning",
      {},
      { role: "assistant", content: "a", reasoning_content: "b" },
      { role: "assistant", content: "a" },
    ],
    [
      "takes out null, but not as content",
      {},
      { role: "assistant", content: null, name: null },
      { role: "assistant", content: null },
    ],
    [
      "takes out what the provider rejects",
      { messageOmit: ["name"] },
      { role: "user", content: "a", name: "b" },
      { role: "user", content: "a" },
    ],
  ])("%s of a message", (_, options, message, expected) => {
    expect(bodyOf({ messages: [message] }, options).body.messages).toEqual([expected]);
  });

  test("leaves the request as it was", () => {
    const request = Object.freeze({ messages: Object.freeze([Object.freeze({ role: "system", content: "a" })]) });
    expect(() => bodyOf(request as never, { systemRole: "developer" })).not.toThrow();
  });
});

test.each<[string, string[], string | undefined]>([
  ["none", ["none", "low"], "none"],
  ["none", ["low", "high"], "low"],
  ["xhigh", ["low", "high"], "high"],
  ["medium", ["low", "high"], "low"],
  ["max", [], undefined],
])("the effort nearest to %s of %p is %p", (asked, efforts, didYouMean) => {
  expect(nearestEffort(asked, efforts)).toBe(didYouMean as string);
});
