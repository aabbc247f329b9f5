import { expect, test } from "bun:test";
import { countInputTokens } from "../../../../src/protocols/messages/inbound.ts";
import type { MessagesCountRequest } from "../../../../src/protocols/messages/schema.ts";

/** Counts a request, and shows the text that it counted. */
async function countOf(fields: Partial<MessagesCountRequest>) {
  let counted = "";
  const answer = await countInputTokens({ model: "m", messages: [], ...fields }, async (text) => {
    counted = text;
    return text.length;
  });
  return { other: answer.input_tokens - counted.length, counted };
}

test("texts, calls, results and tools are counted, and what the model does not read is not", async () => {
  const cache_control = { type: "ephemeral" };
  const { counted, other } = await countOf({
    system: [{ type: "text", text: "Be brief", cache_control }],
    tools: [{ name: "look", input_schema: { type: "object" }, cache_control }],
    messages: [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "c2ln" },
          { type: "redacted_thinking", data: "c2ln" },
          { type: "tool_use", id: "1", name: "look", input: { at: "b" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "mild" }] }] },
    ],
    output_config: { format: { type: "json_schema", schema: { type: "string" } } },
  });
  expect(counted.split("\n")).toEqual([
    "Be brief",
    "Hi",
    "Hm",
    'look{"at":"b"}',
    "mild",
    '{"name":"look","input_schema":{"type":"object"}}',
    '{"type":"string"}',
  ]);
  expect(other).toBe(18);
});

test("pictures and documents are counted by their size, not by their base64", async () => {
  const source = { type: "base64", media_type: "image/png", data: "A".repeat(1000) };
  const pdf = { type: "base64", media_type: "application/pdf", data: "A".repeat(100_000) };
  const notes = { type: "text", media_type: "text/plain", data: "Notes" };
  const { counted, other } = await countOf({
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source },
          { type: "tool_result", tool_use_id: "1", content: [{ type: "image", source }] },
          { type: "document", source: pdf },
          { type: "document", source: notes },
          { type: "unheard_of", source: { deep: [{ text: "A" }] } },
        ],
      },
    ],
  });
  expect(counted).toBe("Notes\nA");
  expect(other).toBe(6 + 2 * 1600 + 2 * 2000);
});
