import { describe, expect, test } from "bun:test";
import type { ChatCompletion, ChatRequest, ChatStream } from "modelgate/plugin";
import { chat } from "../../../../plugins/sarvam/chat.ts";
import { chunksOf } from "../../../support/chat-streams.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { playCall } from "./call.ts";

const answer = {
  id: "20260418_1",
  object: "chat.completion",
  created: 1,
  model: "sarvam-m",
  system_fingerprint: null,
  service_tier: null,
  choices: [
    {
      index: 0,
      finish_reason: "stop",
      logprobs: null,
      message: { role: "assistant", content: "<think>\nHm.\n</think>\n\nHi", reasoning_content: null, tool_calls: [] },
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
};
const hello: ChatRequest = { model: "famF-m", messages: [{ role: "user", content: "hi" }] };

async function ask(request: Partial<ChatRequest>) {
  const played = playCall("famF-m", { ...hello, ...request }, { json: answer });
  const completion = (await chat(played.call)) as ChatCompletion;
  return { ...played, completion, body: played.asked[0]?.body ?? {} };
}

describe("sarvam's chat", () => {
  test("stands below /v1 and names the model as Sarvam does", async () => {
    const { asked } = await ask({});
    expect(asked.map(({ path }) => path)).toEqual(["/v1/chat/completions"]);
    expect(asked[0]?.body).toEqual({ model: "sarvam-m", messages: hello.messages });
  });

  test("keeps thinking out of the content", async () => {
    const { completion } = await ask({});
    const [choice] = completion.choices;
    expect(choice?.message.content).toBe("Hi");
    expect(choice?.message.reasoning_content?.trim()).toBe("Hm.");
    expect(completion.usage).toEqual(answer.usage);
  });

  test.each<[string, Partial<ChatRequest>, Record<string, unknown>]>([
    ["the new limit by its old name", { max_completion_tokens: 7 }, { max_tokens: 7 }],
    ["the old limit", { max_tokens: 7 }, { max_tokens: 7 }],
    ["none as null, which alone turns thinking off", { reasoning_effort: "none" }, { reasoning_effort: null }],
    ["minimal as low", { reasoning_effort: "minimal" }, { reasoning_effort: "low" }],
    ["xhigh as high", { reasoning_effort: "xhigh" }, { reasoning_effort: "high" }],
    ["medium", { reasoning_effort: "medium" }, { reasoning_effort: "medium" }],
    ["stop and seed", { stop: ["a", "b"], seed: 3 }, { stop: ["a", "b"], seed: 3 }],
  ])("sends %s", async (_, request, sent) => {
    const { body } = await ask(request);
    expect(body).toEqual({ model: "sarvam-m", messages: hello.messages, ...sent });
  });

  test("leaves out what Sarvam does not know, and says so", async () => {
    const { body, notes } = await ask({ logprobs: true, top_logprobs: 2 });
    expect(Object.keys(body).sort()).toEqual(["messages", "model"]);
    expect(notes.map((warn) => warn.split(":")[0])).toEqual(["Left out logprobs", "Left out top_logprobs"]);
  });

  test("calls a developer's message a system's", async () => {
    const { body } = await ask({ messages: [{ role: "developer", content: "Be brief" }] });
    expect(body.messages).toEqual([{ role: "system", content: "Be brief" }]);
  });
});

describe("sarvam's chat as a stream", () => {
  const events = (...pieces: string[]) => [
    ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: answer.usage },
  ];
  const stream = async (...pieces: string[]) => {
    const data = [...events(...pieces).map((chunk) => JSON.stringify(chunk)), "[DONE]"];
    const { call, asked } = playCall(
      "famF-m",
      { ...hello, stream: true },
      { events: data.map((text) => ({ event: "message", data: text })) },
    );
    const chunks = (await Array.fromAsync(chunksOf((await chat(call)) as ChatStream))).flat();
    const all = (field: "content" | "reasoning_content") =>
      chunks.map(({ choices }) => choices[0]?.delta[field] ?? "").join("");
    return { asked, chunks, content: all("content"), reasoning: all("reasoning_content").trim() };
  };

  test.each([
    ["whole", ["<think>Hm.</think>", "Hi"]],
    ["cut inside the tags", ["<th", "ink>H", "m.</thi", "nk>\n", "\nHi"]],
    ["in one piece", ["<think>Hm.</think>Hi"]],
  ])("keeps thinking out of the content, its tags %s", async (_, pieces) => {
    const { content, reasoning } = await stream(...pieces);
    expect({ content, reasoning }).toEqual({ content: "Hi", reasoning: "Hm." });
  });

  test("asks for usage, and hands it on", async () => {
    const { asked, chunks } = await stream("Hi");
    expect(asked[0]?.path).toBe("/v1/chat/completions");
    expect(asked[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(chunks.at(-1)?.usage).toEqual(answer.usage);
  });
});

describe.skipIf(recordingsMissing !== undefined)(`sarvam's recorded chat ${recordingsMissing ?? ""}`, () => {
  test.each([
    "sarvam/chat/sarvam-m-think-in-content.json",
    "sarvam/chat/sarvam-m-think-in-content-2.json",
    "sarvam/chat/sarvam-105b-minimal.json",
  ])("%s comes out with all it said, thinking apart", async (path) => {
    const json = JSON.parse(new TextDecoder().decode(recordingAt(path).body));
    const { call } = playCall("famF-m", hello, { json });
    const completion = (await chat(call)) as ChatCompletion;
    const { content, reasoning_content: reasoning } = completion.choices[0]?.message ?? {};
    const raw: string = json.choices[0].message.content;
    expect(content).not.toContain("<think>");
    expect(raw).toEndWith(content ?? "");
    expect(raw.startsWith("<think>")).toBe(typeof reasoning === "string");
    if (typeof reasoning === "string") expect(raw).toContain(reasoning);
    expect(completion.usage).toEqual(json.usage);
  });
});
