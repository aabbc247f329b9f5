import { describe, expect, test } from "bun:test";
import type { Capability } from "../../../src/contract/index.ts";
import { charactersMax, readAnswer, readRequestContent } from "../../../src/modules/content-log/read-content.ts";

const callOf = (capability: Capability, body: object, passthrough?: object) =>
  ({ capability, body, passthrough }) as unknown as Parameters<typeof readRequestContent>[0];

const base64 = "iVBORw0KGgo".repeat(400);

describe("the text of a request", () => {
  test.each([
    [
      "chat",
      {
        messages: [
          { role: "system", content: "Be brief" },
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${base64}`, detail: "low" } },
              { type: "image_url", image_url: { url: "https://images.example/a.png?signature=secret" } },
              { type: "input_audio", input_audio: { data: base64, format: "wav" } },
              { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${base64}` } },
            ],
          },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"it"}' } }],
          },
          { role: "tool", tool_call_id: "call_1", content: "A cat" },
        ],
      },
      [
        ["system", "Be brief"],
        ["user", "What is this?\n[image 3 kB]\n[file at images.example]\n[audio 3 kB]\nfilename: a.pdf\n[pdf 3 kB]"],
        ["assistant", 'tool_calls:\nname: look\n{"at":"it"}'],
        ["tool", "A cat"],
      ],
    ],
    [
      "responses",
      {
        instructions: "Be brief",
        input: [
          { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
          { type: "reasoning", encrypted_content: base64, summary: [{ type: "summary_text", text: "Thought" }] },
          { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "call_1", output: "A cat" },
          { type: "image_generation_call", id: "ig_1", result: base64 },
        ],
      },
      [
        ["system", "Be brief"],
        ["user", "Hi"],
        ["reasoning", "Thought"],
        ["function call", "name: look\n{}"],
        ["function call output", "A cat"],
        ["image generation call", "[result 3 kB]"],
      ],
    ],
    [
      "messages",
      {
        system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
        messages: [
          {
            role: "user",
            content: [
              { type: "image", source: { type: "base64", media_type: "image/jpeg", data: base64 } },
              { type: "document", source: { type: "text", media_type: "text/plain", data: "A letter" } },
              { type: "text", text: "Hi" },
            ],
          },
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: { at: "it" } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "A cat" }] },
        ],
      },
      [
        ["system", "Be brief"],
        ["user", "[image 3 kB]\nA letter\nHi"],
        ["assistant", "name: look\nat: it"],
        ["user", "A cat"],
      ],
    ],
  ])("of %s is what its messages say, without the bytes of media", (_, body, turns) => {
    const expected = turns.map(([role, text]) => ({ role: role as string, text: text as string }));
    expect(readRequestContent(callOf("chat", body))).toEqual(expected);
    expect(readRequestContent(callOf("chat", { messages: [] }, { body }))).toEqual(expected);
    expect(JSON.stringify(expected)).not.toContain("iVBOR");
  });

  test.each([
    ["embeddings", { input: ["one", "two"] }, ["text: one", "text: two"]],
    ["embeddings", { input: "one" }, ["text: one"]],
    ["embeddings", { input: [1, 2, 3] }, ["text: [3 tokens]"]],
    ["embeddings", { input: [[1, 2], [3]] }, ["text: [2 tokens]", "text: [1 tokens]"]],
    ["images", { prompt: "A cat" }, ["prompt: A cat"]],
    ["speech", { input: "Read this", instructions: "Slowly" }, ["instructions: Slowly", "text: Read this"]],
    ["transcription", { file: new File(["x".repeat(5000)], "a.wav") }, ["file: [audio a.wav 5 kB]"]],
  ] as const)("of %s %j", (capability, body, lines) => {
    const turns = readRequestContent(callOf(capability, body));
    expect(turns.map(({ role, text }) => `${role}: ${text}`)).toEqual([...lines]);
  });

  test("is the end of a conversation that is too long, and what is nothing but large costs little", () => {
    const messages = Array.from({ length: 3000 }, (_, at) => ({ role: "user", content: `${at} ${"x".repeat(100)}` }));
    const turns = readRequestContent(callOf("chat", { messages }));
    expect(turns[0]).toEqual({ role: "left out", text: expect.stringMatching(/^\[\d+ more\]$/) });
    expect(turns.at(-1)?.text).toStartWith("2999 ");
    expect(JSON.stringify(turns).length).toBeLessThan(2 * charactersMax);

    const [one] = readRequestContent(
      callOf("chat", { messages: [{ role: "user", content: "x".repeat(10 * charactersMax) }] }),
    );
    expect(one?.text).toEndWith("xxx […]");
    expect(Math.abs((one?.text.length ?? 0) - charactersMax)).toBeLessThan(20);
    let deep: unknown = "end";
    for (let level = 0; level < 200; level++) deep = [{ deep }];
    const wide = Object.fromEntries(Array.from({ length: 500_000 }, (_, at) => [`a${at}`, at]));
    for (const content of [deep, [wide], Array.from({ length: 500_000 }, () => "")]) {
      const [turn] = readRequestContent(callOf("chat", { messages: [{ role: "user", content }] }));
      expect(turn?.text.length ?? 0).toBeLessThan(charactersMax + 10);
    }
  });
});

describe("the text of an answer", () => {
  const choice = (content: string, more = {}) => ({ message: { role: "assistant", content, ...more } });
  test.each([
    ["chat", { choices: [choice("Hello", { refusal: null })] }, ["assistant: Hello"]],
    ["chat", { choices: [choice("One"), choice("Two")] }, ["assistant 1: One", "assistant 2: Two"]],
    ["chat", { content: [{ type: "text", text: "Hello" }] }, ["assistant: Hello"]],
    [
      "chat",
      {
        output: [
          { type: "reasoning", summary: [] },
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello", annotations: [] }] },
        ],
      },
      ["assistant: Hello"],
    ],
    ["embeddings", { data: [{ embedding: [1, 2] }] }, []],
    [
      "images",
      { images: [{ mediaType: "image/png", data: new Uint8Array(3000), revisedPrompt: "A small cat" }] },
      ["image: revised_prompt: A small cat\n[image 3 kB]"],
    ],
    ["transcription", { text: "Said" }, ["text: Said"]],
    ["speech", undefined, []],
  ] as const)("of %s %j", (capability, answer, lines) => {
    const turns = readAnswer(answer, callOf(capability, {}));
    expect(turns.map(({ role, text }) => `${role}: ${text}`)).toEqual([...lines]);
  });
});
