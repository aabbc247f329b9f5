import { describe, expect, test } from "bun:test";
import { builtIns, sandbox } from "../../../../plugins/index.ts";
import { capabilities } from "../../../../src/contract/index.ts";
import type { ChatCompletion, ChatRequest } from "../../../../src/provider/index.ts";
import { ask, askStream, box, boxCall } from "./sandbox-call.ts";

const tools: NonNullable<ChatRequest["tools"]> = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: {
    name,
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
  },
}));
const callsOf = async (wish: object) => (await ask({ tools, ...wish })).choices[0]?.message.tool_calls;
const getText = async (wish: object) => (await ask(wish)).choices[0]?.message.content;

describe("the sandbox", () => {
  test("needs no key and serves every model of the catalogue, each once", () => {
    const rows = builtIns.flatMap(({ models }) => models);
    const all = sandbox([...rows, ...rows]);
    expect(all.credential).toBe("none");
    expect(all.models).toEqual(rows.map(({ endpoint: _, audioFormats: __, ...row }) => row));
  });

  test("echoes the prompt, plainly simulated, always the same", async () => {
    const answer = await ask({});
    expect(answer.choices[0]?.message.content).toBe("[sandbox] acme-chat echoes: Hello big world");
    expect(answer.choices[0]?.finish_reason).toBe("stop");
    expect(answer.choices).toEqual((await ask({})).choices);
    expect(answer.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 });
  });

  test("calls a model by the name that clients write", async () => {
    const row = { id: "famX-1", upstreamId: "acme-1", aliases: ["acme-1", "acme"] };
    const messages = [{ role: "user" as const, content: "Hi" }];
    const answer = (await box.handlers.chat?.(boxCall("chat", { messages }, row))) as ChatCompletion;
    expect(answer.choices[0]?.message.content).toBe("[sandbox] acme-1 echoes: Hi");
  });

  test("tells choices and seeds apart", async () => {
    const { choices } = await ask({ n: 2, seed: 7 });
    expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, "[sandbox] acme-chat echoes (seed 7): Hello big world"],
      [1, "[sandbox] acme-chat echoes (choice 1, seed 7): Hello big world"],
    ]);
  });

  test("reads parts, and says what else there was", async () => {
    const content = [
      { type: "text" as const, text: "Look" },
      { type: "image_url" as const, image_url: { url: "https://x.example/a.png" } },
    ];
    expect(await getText({ messages: [{ role: "user", content }] })).toEndWith("echoes: Look (and 1 attachment)");
  });

  test.each([
    ["big", "[sandbox] acme-chat echoes: Hello "],
    [["world", "Hello"], "[sandbox] acme-chat echoes: "],
    [["none", ""], "[sandbox] acme-chat echoes: Hello big world"],
  ])("stops at %p", async (stop, text) => {
    expect(await getText({ stop })).toBe(text);
  });

  test("ends at the length asked for", async () => {
    const { choices, usage } = await ask({ max_tokens: 4 });
    expect(choices[0]).toMatchObject({
      message: { content: "[sandbox] acme-chat echoes: Hello" },
      finish_reason: "length",
    });
    expect(usage?.completion_tokens).toBe(4);
  });

  test("thinks when asked to, and counts it", async () => {
    const { choices, usage } = await ask({ reasoning_effort: "low" });
    expect(choices[0]?.message.reasoning_content).toBe("[sandbox] acme-chat thinks about 3 words.");
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(6);
    const short = await ask({ reasoning_effort: "low", max_tokens: 2 });
    expect(short.choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "length" });
  });

  test.each<[string, object, string[] | undefined]>([
    ["none unless the prompt names it", {}, undefined],
    ["the one that the prompt names", { prompt: "please get_time" }, ["get_time"]],
    ["all that the prompt names", { prompt: "get_time and get_weather" }, ["get_weather", "get_time"]],
    ["one at a time", { prompt: "get_time, get_weather", parallel_tool_calls: false }, ["get_weather"]],
    ["the first when it must", { tool_choice: "required" }, ["get_weather"]],
    ["the one it must", { tool_choice: { type: "function", function: { name: "get_time" } } }, ["get_time"]],
    ["none when it must not", { prompt: "get_time", tool_choice: "none" }, undefined],
    [
      "only what is allowed",
      { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [tools[1]] } } },
      ["get_time"],
    ],
  ])("calls %s", async (_, wish, names) => {
    expect((await callsOf(wish))?.map((call) => call.function.name)).toEqual(names as string[]);
  });

  test("calls with arguments that fit, and ids of their own", async () => {
    const calls = await callsOf({ prompt: "get_time get_weather", n: 1 });
    expect(new Set(calls?.map(({ id }) => id)).size).toBe(2);
    expect(JSON.parse(calls?.[0]?.function.arguments as string)).toEqual({ city: "get_time get_weather", days: 1 });
  });

  test("answers after a tool did", async () => {
    const [call] = (await callsOf({ tool_choice: "required" })) ?? [];
    const messages: ChatRequest["messages"] = [
      { role: "user", content: "get_weather" },
      { role: "assistant", content: null, tool_calls: call ? [call] : [] },
      { role: "tool", tool_call_id: call?.id ?? "", content: "Sunny" },
    ];
    expect(await getText({ messages, tools })).toBe("[sandbox] acme-chat echoes: the tool's answer Sunny");
  });

  test("calls another tool each time when it must, until all were called", async () => {
    const messages: ChatRequest["messages"] = [{ role: "user", content: "Go on" }];
    const names: (string | undefined)[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const { choices } = await ask({ messages, tools, tool_choice: "required" });
      const call = choices[0]?.message.tool_calls?.[0];
      names.push(call?.function.name);
      messages.push({ role: "assistant", content: null, tool_calls: call ? [call] : [] });
      messages.push({ role: "tool", tool_call_id: call?.id ?? "", content: "Done" });
    }
    expect(names).toEqual(["get_weather", "get_time", "get_weather"]);
  });

  test("answers legacy functions in kind", async () => {
    const { choices } = await ask({ functions: [{ name: "f" }], function_call: { name: "f" } });
    expect(choices[0] as object).toMatchObject({
      message: { function_call: { name: "f", arguments: "{}" } },
      finish_reason: "function_call",
    });
  });

  test("streams the same answer, piece by piece, with the usage at the end", async () => {
    for (const wish of [{}, { tools, prompt: "get_time in Rome" }, { n: 3 }, { reasoning_effort: "high" as const }]) {
      const whole = await ask(wish);
      const { items, error } = await askStream(wish);
      expect(error).toBeUndefined();
      expect(items.at(-1)).toEqual({ choices: [], usage: whole.usage } as never);
      for (const { index, message, finish_reason } of whole.choices) {
        const pieces = items.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
        const joined = (read: (delta: (typeof pieces)[number]["delta"]) => string | null | undefined) =>
          pieces.map(({ delta }) => read(delta) ?? "").join("");
        expect(joined(({ content }) => content)).toBe(message.content ?? "");
        expect(joined(({ reasoning_content: text }) => text)).toBe(message.reasoning_content ?? "");
        expect(joined(({ tool_calls: calls }) => calls?.[0]?.function?.arguments)).toBe(
          message.tool_calls?.[0]?.function.arguments ?? "",
        );
        expect(pieces.at(-1)?.finish_reason).toBe(finish_reason);
        expect(pieces.length).toBeGreaterThan(4);
      }
    }
  });

  test("has a handler for every capability", () => {
    expect(Object.keys(box.handlers)).toEqual(expect.arrayContaining([...capabilities]));
  });
});
