import { describe, expect, test } from "bun:test";
import { ChoiceText, OutputText } from "../../../../src/kernel/normalize/output-text.ts";
import { messagesFormat } from "../../../../src/protocols/messages/passthrough.ts";
import { responsesFormat } from "../../../../src/protocols/responses/passthrough.ts";

const formats = { messages: messagesFormat, responses: responsesFormat };

/** The text that each event adds. */
function read(protocol: keyof typeof formats, ...events: Record<string, unknown>[]): string[] {
  const output = new OutputText();
  return events.map((event) => {
    formats[protocol].readOutput(event, output);
    return output.take();
  });
}

describe("the text of a Messages event", () => {
  test.each([
    ["a piece", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } }, "Hi"],
    ["a whole text", { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } }, "Hi"],
    [
      "a whole call, with its numbers as digits",
      { type: "content_block_start", content_block: { type: "tool_use", id: "toolu_1", name: "f", input: { a: 12 } } },
      'f{"a":12}',
    ],
    [
      "a call that begins",
      { type: "content_block_start", content_block: { type: "tool_use", id: "t", name: "f", input: {} } },
      "f",
    ],
    [
      "the beginning of an answer",
      { type: "message_start", message: { id: "m", model: "u", content: [], usage: {} } },
      "",
    ],
    [
      "a beginning with content",
      { type: "message_start", message: { id: "m", content: [{ type: "text", text: "Hi" }] } },
      "Hi",
    ],
    ["a signature", { type: "content_block_delta", delta: { type: "signature_delta", signature: "c2ln" } }, ""],
    [
      "the end",
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 3 } },
      "",
    ],
    ["an event of another kind", { type: "content_block_more", index: 0, words: ["Hi", { text: " you" }] }, "Hi you"],
    ["a whole answer", { id: "m", type: "message", model: "u", content: [{ type: "text", text: "Hi" }] }, "Hi"],
  ])("is that of %s", (_, event, text) => expect(read("messages", event)).toEqual([text]));
});

describe("the text of a Responses event", () => {
  const item = (text: string) => ({
    type: "message",
    id: "m",
    role: "assistant",
    content: [{ type: "output_text", text }],
  });
  const done = (text: string) => ({ type: "response.output_item.done", output_index: 0, item: item(text) });
  const delta = (text: string) => ({
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta: text,
  });

  test("is what an item has beyond its pieces", () => {
    expect(read("responses", delta("Hel"), delta("lo"), done("Hello you"))).toEqual(["Hel", "lo", " you"]);
  });

  test("is that of each item, also under one index", () => {
    expect(read("responses", done("Hello"), done("Hello"))).toEqual(["Hello", "Hello"]);
  });

  test("is what the whole answer has beyond its items, unless its usage is reported", () => {
    const completed = (usage?: object) => ({
      type: "response.completed",
      response: { id: "r", instructions: "No", output: [item("Hello you")], usage },
    });
    expect(read("responses", delta("Hello"), completed())).toEqual(["Hello", " you"]);
    expect(read("responses", delta("Hello"), completed({ output_tokens: 0 }))).toEqual(["Hello", " you"]);
    expect(read("responses", delta("Hello"), completed({ output_tokens: 3 }))).toEqual(["Hello", ""]);
  });

  test("is not what pads, repeats or seals it", () => {
    const padded = { ...delta("Hi"), obfuscation: "xxxxxxxx", logprobs: [{ token: "Hi", logprob: -1 }] };
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
    expect(read("responses", padded, { type: "response.output_item.done", output_index: 1, item: reasoning })).toEqual([
      "Hi",
      "",
    ]);
  });
});

describe("the text of a choice of chat", () => {
  function visit(...deltas: object[]): string {
    const choice = new ChoiceText();
    let text = "";
    for (const one of deltas)
      choice.visit(one, (more) => {
        text += more;
      });
    return text;
  }

  test("is that of all members", () => {
    expect(
      visit({
        role: "assistant",
        content: "a",
        refusal: "b",
        annotations: [{ type: "url_citation", url_citation: { title: "c" } }],
      }),
    ).toBe("abc");
    expect(
      visit({ function_call: { name: "f", arguments: "{}" }, thinking_blocks: [{ type: "thinking", thinking: "d" }] }),
    ).toBe("f{}d");
  });

  test("has what was reasoned once, as a text or in parts", () => {
    const details = { reasoning_details: [{ type: "reasoning.text", text: "Hmm", signature: "c2ln", format: "x" }] };
    expect(visit({ reasoning_content: "Hm" }, { reasoning_content: "m" }, details)).toBe("Hmm");
    expect(visit(details, { reasoning_content: "Hmm, yes" })).toBe("Hmm, yes");
    expect(visit({ reasoning: "Hm", reasoning_content: "Hm" })).toBe("Hm");
  });
});
