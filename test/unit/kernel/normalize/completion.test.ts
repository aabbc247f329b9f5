import { describe, expect, test } from "bun:test";
import { collectText, createAnswerHead, normalizeCompletion } from "../../../../src/kernel/normalize/answer.ts";
import type { ChatCompletion } from "../../../../src/provider/index.ts";

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

  test("has log probabilities where an object of them came, and none in place of anything else", () => {
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
    const long = rawJSON("12345678901234567890");
    const shown = [{ content: [] }, long, [1], "a", true, 5].map((logprobs) => {
      const [choice] = tidied({ choices: [{ message: { content: "Hi" }, logprobs }] }).choices;
      return (choice as { logprobs?: unknown }).logprobs;
    });
    expect(shown).toEqual([{ content: [], refusal: null }, null, null, null, null, null]);
  });

  test("has the bytes and the alternatives of each token, whatever its provider leaves out", () => {
    const [bare, whole] = [
      { token: "a", logprob: -1 },
      { token: "b", logprob: -2, bytes: [98], top_logprobs: [] },
    ];
    const content = [{ ...bare, top_logprobs: null }, { ...whole, top_logprobs: [bare] }, whole];
    const logprobs = { content, refusal: [bare] };
    const [choice] = tidied({ choices: [{ message: { content: "ab" }, logprobs }] }).choices as {
      logprobs?: unknown;
    }[];
    const filled = { ...bare, bytes: null };
    expect(choice?.logprobs).toEqual({
      content: [{ ...filled, top_logprobs: [] }, { ...whole, top_logprobs: [filled] }, whole],
      refusal: [{ ...filled, top_logprobs: [] }],
    });
  });

  test("was cut where the arguments of a call break off", () => {
    const finishOf = (text: unknown) => {
      const tool_calls = [{ id: "a", type: "function", function: { name: "f", arguments: text } }];
      return tidied(answer({ content: null, tool_calls }, "tool_calls")).choices[0]?.finish_reason;
    };
    expect(['{"city":"Pa', '{"city":"Paris"}', "", { city: "Paris" }].map(finishOf)).toEqual([
      "length",
      ...Array(3).fill("tool_calls"),
    ]);
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

  test("has the arguments of its calls as text, whatever the provider sent in its place", () => {
    const values = ['{"a":1}', { a: 1 }, [1], 5, false, null, undefined, "", "null", "[]", '""'];
    const inputs = ['{"a":1}', '{"a":1}', "[1]", "5", "false", "", "", "", "null", "[]", '""'];
    const texts = [...inputs.slice(0, 5), ...inputs.slice(5).map(() => "{}")];
    const calls = values.map((value) => ({ id: "x", function: { name: "f", arguments: value } }));
    const custom = values.map((value) => ({ id: "x", type: "custom", custom: { name: "f", input: value } }));
    const [choice] = tidied(answer({ tool_calls: [...calls, ...custom] })).choices;
    const given = choice?.message.tool_calls as unknown as {
      function?: { arguments: string };
      custom?: { input: string };
    }[];
    expect(given.map((call) => call.function?.arguments ?? call.custom?.input)).toEqual([...texts, ...inputs]);
    const legacy = tidied(answer({ content: null, function_call: { name: "f", arguments: { a: 1 } } })).choices[0];
    expect(legacy?.message).toMatchObject({ function_call: { name: "f", arguments: '{"a":1}' } });
  });

  test("has the arguments of its calls as they were meant where a server encoded them twice", () => {
    const argumentsOf = (text: string) => {
      const calls = [{ id: "a", type: "function", function: { name: "f", arguments: text } }];
      return tidied(answer({ content: null, tool_calls: calls }, "tool_calls")).choices[0]?.message.tool_calls?.[0];
    };
    const texts = [JSON.stringify('{"a":"\\"b\\""}'), '"Oslo"', '"{"', '{"a":"{}"}'];
    expect(texts.map((text) => argumentsOf(text)?.function?.arguments)).toEqual(['{"a":"\\"b\\""}', ...texts.slice(1)]);
  });

  test("has its own texts as text", () => {
    const message = { content: { a: 1 }, reasoning_content: 5, refusal: ["no"] };
    expect(tidied(answer(message)).choices[0]?.message).toMatchObject({
      content: '{"a":1}',
      reasoning_content: "5",
      refusal: "no",
    });
    const parts = { content: [{ type: "text", text: "Hi" }, { type: "image_url" }, " you"], refusal: { text: "no" } };
    expect(tidied(answer(parts)).choices[0]?.message).toMatchObject({ content: "Hi you", refusal: "no" });
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
  normalizeCompletion(raw, head, { onUnknown: (word) => unknown.push(word) });
  expect(unknown).toEqual(["a_word_of_tomorrow"]);
});

test("the head is made of the call's id and whole seconds", () => {
  expect(createAnswerHead("req_abc", "m", 1_790_000_000_999)).toEqual({
    id: "chatcmpl-abc",
    created: 1_790_000_000,
    model: "m",
  });
});

test("all text of an answer has what its calls are called with, also those of the deprecated form", () => {
  const message = {
    content: "a",
    tool_calls: [{ id: "x", type: "function", function: { name: "f", arguments: { b: 1 } } }],
    function_call: { name: "g", arguments: "{}" },
  };
  expect(collectText(answer(message) as unknown as ChatCompletion)).toBe('ag{}f{"b":1}');
  const completion = answer(message) as unknown as ChatCompletion;
  Object.assign(completion.choices[0] as object, { text: "beside", stop_reason: "end" });
  expect(collectText(completion)).toContain("beside");
});
