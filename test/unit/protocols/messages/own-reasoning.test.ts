import { describe, expect, test } from "bun:test";
import { withoutOwnThoughts } from "../../../../src/protocols/messages/inbound.ts";
import { createReasoningEnvelope } from "../../../../src/protocols/reasoning.ts";
import { changeCharacter } from "../../../support/change-character.ts";
import { refusalOf, requestOf, sign, translated } from "./support.ts";

const turns = (thinking: string, signature: string) =>
  requestOf({
    messages: [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking, signature },
          { type: "tool_use", id: "1", name: "look", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "mild" }] },
    ],
  });

describe("a thought that we signed", () => {
  test("goes to the model as its reasoning", () => {
    const { request } = translated(turns("Hm", sign("Hm", "shown")));
    expect(request.messages[1]).toMatchObject({ content: null, reasoning_content: "Hm", tool_calls: [{ id: "1" }] });
    expect(request.messages[1]).not.toHaveProperty("reasoning_details");
  });

  test.each([
    ["another text", "Hmm", sign("Hm", "shown")],
    ["no text", "", sign("Hm", "shown")],
    ["another signature of ours", "Hm", sign("Other", "shown")],
    ["a hidden text that was changed", "", changeCharacter(sign("Hm", "omitted"), -9)],
  ])("is refused in Anthropic's words with %s", (_, text, signature) => {
    const error = refusalOf(() => translated(turns(text, signature)));
    expect(error).toMatchObject({ code: "invalid_request", param: "messages.1.content.0" });
    expect(error.message).toBe("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  test.each([
    ["the key was replaced", createReasoningEnvelope(new Uint8Array(32), "acc_1")],
    ["it belongs to another account", createReasoningEnvelope(new Uint8Array(32).fill(7), "acc_2")],
  ])("is left out when %s", (_, foreign) => {
    const { request, warnings } = translated(turns("Hm", sign("Hm", "shown", foreign)));
    expect(request.messages[1]).not.toHaveProperty("reasoning_content");
    expect(warnings).toEqual(["Left out reasoning that another gateway signed"]);
  });
});

describe("a body for a native route", () => {
  test("loses our own thoughts alone", () => {
    const body = turns("Hm", sign("Hm", "shown"));
    const [, turn] = withoutOwnThoughts(body).messages;
    expect(turn?.content).toEqual([{ type: "tool_use", id: "1", name: "look", input: {} }]);
    expect(body.messages[1]?.content).toHaveLength(2);
  });

  test("stays the same object when it holds none", () => {
    const body = turns("Hm", "EqQB");
    expect(withoutOwnThoughts(body)).toBe(body);
  });

  test("loses a message that was nothing but our thought", () => {
    const content = [{ type: "thinking", thinking: "Hm", signature: sign("Hm", "shown") }];
    const body = requestOf({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content },
      ],
    });
    expect(withoutOwnThoughts(body).messages).toEqual([{ role: "user", content: "Hi" }]);
  });
});
