import { describe, expect, test } from "bun:test";
import type { ChatCompletion } from "../../../../src/contract/index.ts";
import { createAnswerHead, normalizeCompletion } from "../../../../src/kernel/normalize/answer.ts";

const head = { id: "chatcmpl-1", created: 1_790_000_000, model: "chat-1" };
const tidied = (raw: Record<string, unknown>) => normalizeCompletion(raw as unknown as ChatCompletion, head);
const answer = (message: Record<string, unknown>, finish_reason: unknown = "stop") => ({
  choices: [{ message, finish_reason }],
});

describe("a tidied completion", () => {
  test("has our id, model and object, and every member that clients read", () => {
    const raw = { id: "x", object: "y", model: "z", system_fingerprint: null, ...answer({ content: "Hi" }) };
    expect(tidied(raw) as unknown).toEqual({
      ...head,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hi", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
    });
  });

  test.each([
    [1_780_000_000, 1_780_000_000],
    [0, head.created],
    [1.5, head.created],
    ["now", head.created],
    [undefined, head.created],
  ])("was created at %p: %d", (theirs, ours) => {
    expect(tidied({ created: theirs, ...answer({ content: "Hi" }) }).created).toBe(ours);
  });

  test("numbers its choices by their place", () => {
    const choices = [7, undefined, 7].map((index) => ({ index, message: { content: "Hi" } }));
    expect(tidied({ choices }).choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test("gives tool calls an id where they have none, and their type", () => {
    const calls = ["", undefined, "mine"].map((id) => ({ id, function: { name: "f", arguments: "{}" } }));
    const [choice] = tidied(answer({ tool_calls: calls })).choices;
    const ids = choice?.message.tool_calls?.map(({ id }) => id) ?? [];
    expect(ids[0]).toMatch(/^call_\w{24}$/);
    expect(new Set(ids).size).toBe(3);
    expect(ids[2]).toBe("mine");
    expect(choice?.message.tool_calls?.every(({ type }) => type === "function")).toBe(true);
    expect([choice?.message.content, choice?.finish_reason]).toEqual([null, "tool_calls"]);
  });

  test.each([[[]], [null]])("has no tool calls where the provider wrote %p", (calls) => {
    const [choice] = tidied(answer({ content: "Hi", tool_calls: calls })).choices;
    expect(choice?.message).not.toHaveProperty("tool_calls");
    expect(choice?.finish_reason).toBe("stop");
  });

  test("keeps what it does not know", () => {
    const raw = answer({ content: "Hi", reasoning_content: "Hm", annotations: [1] });
    expect(tidied(raw).choices[0]?.message).toMatchObject({ reasoning_content: "Hm", annotations: [1] });
  });
});

test.each([
  ["stop", false, "stop"],
  ["stop", true, "tool_calls"],
  [null, true, "tool_calls"],
  [undefined, false, "stop"],
  ["length", true, "length"],
  ["function_call", false, "function_call"],
  ["SAFETY", false, "content_filter"],
  ["a_word_of_tomorrow", false, "length"],
  ["a_word_of_tomorrow", true, "length"],
])("the finish reason %p of a whole answer (with tools: %p) is %p", (theirs, withTools, ours) => {
  const calls = [{ id: "call_1", function: { name: "f", arguments: "{}" } }];
  const message = withTools ? { tool_calls: calls } : { content: "Hi" };
  expect(tidied(answer(message, theirs)).choices[0]?.finish_reason).toBe(ours as "stop");
});

test.each([
  ["error", { content: "Half of an ans" }],
  ["a_word_of_tomorrow", { content: "" }],
  ["a_word_of_tomorrow", { content: null, reasoning_content: "Hm" }],
])("a whole answer that ends by %p with %p is a failure", (theirs, message) => {
  expect(() => tidied(answer(message, theirs))).toThrow(theirs);
});

test("a word that is not known is given to who asks for it", () => {
  const unknown: string[] = [];
  const raw = answer({ content: "Hi" }, "a_word_of_tomorrow") as unknown as ChatCompletion;
  normalizeCompletion(raw, head, (word) => unknown.push(word));
  expect(unknown).toEqual(["a_word_of_tomorrow"]);
});

test("the head is made of the call's id and whole seconds", () => {
  expect(createAnswerHead("req_abc", "m", 1_790_000_000_999)).toEqual({
    id: "chatcmpl-abc",
    created: 1_790_000_000,
    model: "m",
  });
});
