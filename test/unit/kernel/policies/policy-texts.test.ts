import { describe, expect, test } from "bun:test";
import { readTexts, withTexts } from "../../../../src/kernel/policies/policy-texts.ts";

const request = {
  model: "m",
  messages: [
    { role: "system", content: "Be brief" },
    {
      role: "user",
      name: "ada",
      content: [
        { type: "text", text: "Hello" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      reasoning_content: "I think",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"sky"}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "Blue" },
  ],
  tools: [
    {
      type: "function",
      function: { name: "look", description: "Looks up", parameters: { properties: { at: { description: "Where" } } } },
    },
  ],
  metadata: { team: "search" },
  user: "user_1",
  temperature: 0.5,
};

describe("the texts of a request", () => {
  test("are all that people, models and tools wrote, with place, role and kind", () => {
    expect(readTexts(request, { role: "user" }).map(({ path, role, kind, text }) => [path, role, kind, text])).toEqual([
      ["messages[0].content", "system", "text", "Be brief"],
      ["messages[1].content[0].text", "user", "text", "Hello"],
      ["messages[1].content[2].image_url.url", "user", "text", "https://example.com/a.png"],
      ["messages[2].reasoning_content", "assistant", "reasoning", "I think"],
      ["messages[2].tool_calls[0].function.arguments", "assistant", "arguments", '{"at":"sky"}'],
      ["messages[3].content", "tool", "text", "Blue"],
      ["tools[0].function.description", "tool", "tool", "Looks up"],
      ["tools[0].function.parameters.properties.at.description", "tool", "tool", "Where"],
      ["metadata.team", "user", "other", "search"],
    ]);
  });

  test("are replaced in a copy, which shares everything else", () => {
    const changed = withTexts(request, { role: "user" }, ({ path, text }) =>
      path.endsWith("[0].text") ? "Bye" : text,
    );
    expect(changed.messages[1]).toMatchObject({ content: [{ type: "text", text: "Bye" }, {}, {}, {}] });
    expect(changed.messages[0]).toBe(request.messages[0] as never);
    expect(changed.tools).toBe(request.tools);
    expect(request.messages[1]).toMatchObject({ content: [{ text: "Hello" }, {}, {}, {}] });
    expect(withTexts(request, { role: "user" }, ({ text }) => text)).toBe(request);
  });

  test("are the inputs of other endpoints too, without files", () => {
    const file = new File(["abc"], "a.wav");
    const inputs = {
      model: "m",
      input: ["one", "two"],
      file,
      query: "which",
      documents: ["a", { text: "b" }],
      voice: "alloy",
    };
    expect(readTexts(inputs, { role: "user" }).map(({ path }) => path)).toEqual([
      "input[0]",
      "input[1]",
      "query",
      "documents[0]",
      "documents[1].text",
    ]);
    expect(withTexts(inputs, { role: "user" }, () => "x").file).toBe(file);
  });
});
