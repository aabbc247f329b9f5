import { expect, test } from "bun:test";
import type { Message } from "modelgate/plugin";
import { modelOf, translated } from "./support.ts";

/** The ids that calls are sent with, and those that their results name, where clients sent these. */
function sentIds(ids: readonly string[]): { calls: unknown[]; results: unknown[] } {
  const messages = ids.flatMap((id): Message[] => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name: "clock", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: id, content: "1" },
  ]);
  const { body } = translated(
    { messages: [{ role: "user", content: "Hi" }, ...messages] },
    modelOf("claude-sonnet-4-6"),
  );
  const blocks = (body.messages as { content: { id?: string; tool_use_id?: string }[] }[]).flatMap(
    ({ content }) => content,
  );
  return {
    calls: blocks.flatMap((block) => block.id ?? []),
    results: blocks.flatMap((block) => block.tool_use_id ?? []),
  };
}

test("calls that were sent with one id are numbered, and each result goes with its call", () => {
  const { calls, results } = sentIds(["a", "a", "a", "b"]);
  expect(calls).toEqual(["a", "a_1", "a_2", "b"]);
  expect(results).toEqual(calls);
});

test("no id that is made is one that was sent, whichever comes first", () => {
  expect(sentIds(["a", "a_1", "a", "a", "a_1"]).calls).toEqual(["a", "a_1", "a_2", "a_3", "a_1_1"]);
  expect(sentIds(["a", "a", "a_1", "a.1", "a"]).calls).toEqual(["a", "a_1", "a_1_1", "a_1_m65tf24tm", "a_2"]);
});
