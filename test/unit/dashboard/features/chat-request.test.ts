import { describe, expect, test } from "bun:test";
import {
  type ChatFields,
  listPendingCalls,
  mergeToolCalls,
  type Turn,
  toRequestBody,
} from "../../../../src/dashboard/features/playground/chat-request.ts";

const fields: ChatFields = {
  model: "m",
  system: "",
  temperature: "",
  top_p: "",
  max_tokens: "",
  tools: "",
  format: "text",
  schema: "",
};
const call = { id: "call_1", type: "function", function: { name: "get_time", arguments: "{}" } } as const;

describe("a request of the playground", () => {
  test("has only what was set", () => {
    expect(toRequestBody(fields, [{ role: "user", text: "Hi" }])).toEqual({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
    });
    const tools = [{ type: "function", function: { name: "get_time" } }];
    const body = toRequestBody(
      {
        ...fields,
        system: "Be brief",
        top_p: "0.5",
        tools: JSON.stringify(tools),
        format: "json_schema",
        schema: "{}",
      },
      [{ role: "user", text: "Hi" }],
    );
    expect(body).toMatchObject({ top_p: 0.5, tools, response_format: { json_schema: { name: "answer", schema: {} } } });
    expect(body.messages[0]).toEqual({ role: "system", content: "Be brief" });
  });

  test("carries a picture, a PDF and sound as parts before the text", () => {
    const attachments = [
      { name: "a.png", url: "data:image/png;base64,AAAA" },
      { name: "b.pdf", url: "data:application/pdf;base64,BBBB" },
      { name: "c.mp3", url: "data:audio/mpeg;base64,CCCC" },
    ];
    const { messages } = toRequestBody(fields, [{ role: "user", text: "What is this?", attachments }]);
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "file", file: { filename: "b.pdf", file_data: "data:application/pdf;base64,BBBB" } },
          { type: "input_audio", input_audio: { data: "CCCC", format: "mp3" } },
          { type: "text", text: "What is this?" },
        ],
      },
    ]);
  });

  test("brings the result of each tool call, one after the other", () => {
    const other = { ...call, id: "call_2" };
    const asked: Turn[] = [
      { role: "user", text: "What time is it?" },
      { role: "assistant", text: "", toolCalls: [call, other] },
    ];
    expect(listPendingCalls(asked)).toEqual([call, other]);
    const turns: Turn[] = [...asked, { role: "tool", text: "12:00", toolCallId: "call_1" }];
    expect(listPendingCalls(turns)).toEqual([other]);
    expect(toRequestBody(fields, turns).messages.slice(1)).toEqual([
      { role: "assistant", content: null, tool_calls: [call, other] },
      { role: "tool", tool_call_id: "call_1", content: "12:00" },
    ]);
  });

  test("puts a streamed tool call together", () => {
    const first = mergeToolCalls([], [{ index: 0, id: "call_1", function: { name: "get_time", arguments: "{" } }]);
    expect(mergeToolCalls(first, [{ index: 0, function: { arguments: "}" } }])).toEqual([call]);
  });
});
