import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ReasoningTagSplitter, splitReasoningTags } from "../../../../src/protocols/openai/chat.ts";

describe("splitThink", () => {
  test.each([
    ["<think>\nHm.\n</think>\n\nYes", { content: "Yes", reasoning: "Hm.\n" }],
    [" \n<think>Hm.</think>Yes", { content: "Yes", reasoning: "Hm." }],
    ["<think></think>Yes", { content: "Yes", reasoning: "" }],
    ["<think>never closed", { content: "", reasoning: "never closed" }],
    ["Use the <think> tag, </think>", { content: "Use the <think> tag, </think>", reasoning: "" }],
    ["\n Yes", { content: "\n Yes", reasoning: "" }],
    ["<thin", { content: "<thin", reasoning: "" }],
    ["<thinking>a</thinking>", { content: "<thinking>a</thinking>", reasoning: "" }],
    ["<think>a </thin b</think>c<think>d</think>", { content: "c<think>d</think>", reasoning: "a </thin b" }],
    ["", { content: "", reasoning: "" }],
  ])("splits %p", (text, split) => {
    expect(splitReasoningTags(text)).toEqual(split);
  });
});

describe("ThinkSplitter", () => {
  test("gives the same however the text is cut", () => {
    const part = fc.constantFrom("<think>", "</think>", "<th", "ink>", "</", "a", " ", "\n", "<", "é");
    fc.assert(
      fc.property(fc.array(fc.array(part).map((parts) => parts.join(""))), (pieces) => {
        const splitter = new ReasoningTagSplitter();
        const splits = [...pieces.map((piece) => splitter.push(piece)), splitter.flush()];
        const joined = {
          content: splits.map(({ content }) => content).join(""),
          reasoning: splits.map(({ reasoning }) => reasoning).join(""),
        };
        expect(joined).toEqual(splitReasoningTags(pieces.join("")));
      }),
    );
  });

  test("holds nothing back once the answer has begun", () => {
    const splitter = new ReasoningTagSplitter();
    expect(splitter.push("Yes")).toEqual({ content: "Yes", reasoning: "" });
    expect(splitter.push(" <")).toEqual({ content: " <", reasoning: "" });
    expect(splitter.flush()).toEqual({ content: "", reasoning: "" });
  });
});
