import { expect, test } from "bun:test";
import { chatChecks } from "../../../../src/cli/plugin-check/chat-checks.ts";
import type { Fixture } from "../../../../src/cli/plugin-check/fixture.ts";
import type { Call, ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { definePlugin, fromIterable, UpstreamError } from "../../../../src/sdk/index.ts";

type Line = { text?: string; done?: true; input_tokens?: number; output_tokens?: number };

/** A provider whose stream is JSON lines, read from bytes as they come. */
function pluginOf(isCareful: boolean) {
  async function* read(call: Call<ChatRequest>): AsyncGenerator<ChatChunk> {
    const { chunks } = await call.upstream.bytes("/stream", { messages: call.request.messages });
    const decoder = new TextDecoder();
    let rest = "";
    let isDone = false;
    for await (const piece of chunks) {
      const lines = ((isCareful ? rest : "") + decoder.decode(piece, { stream: true })).split("\n");
      rest = isCareful ? (lines.pop() ?? "") : "";
      for (const text of lines.filter((one) => one.trim() !== "")) {
        let line: Line;
        try {
          line = JSON.parse(text) as Line;
        } catch {
          continue;
        }
        if (line.text !== undefined) yield { choices: [{ index: 0, delta: { content: line.text } }] } as ChatChunk;
        if (line.done !== true) continue;
        isDone = true;
        yield { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } as unknown as ChatChunk;
        const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = line;
        if (prompt_tokens !== undefined)
          yield { choices: [], usage: { prompt_tokens, completion_tokens } } as ChatChunk;
      }
    }
    if (!isDone) throw new UpstreamError("bad_response", "The stream ended early");
  }
  return definePlugin({
    name: "lines",
    baseUrl: "https://api.example.com/v1",
    models: [{ id: "lines-1", upstreamId: "1", capability: "chat", premium: false, ownedBy: "lines", created: 0 }],
    handlers: { chat: async (call) => fromIterable(read(call)) },
  });
}

const lines: Line[] = [{ text: "Hel" }, { text: "lo" }, { done: true, input_tokens: 11, output_tokens: 22 }];
const fixture: Fixture = {
  about: "a stream of lines",
  request: { messages: [{ role: "user", content: "Hi" }], stream: true },
  reply: { text: lines.map((line) => `${JSON.stringify(line)}\n`).join("") },
  expect: { content: "Hello", finishReason: "stop", promptTokens: 11, completionTokens: 22 },
};

async function findingsOf(isCareful: boolean): Promise<[name: string, wrong: string | undefined][]> {
  const checks = chatChecks(pluginOf(isCareful), [fixture]).filter(({ name }) => name.startsWith("chat: a stream"));
  return await Promise.all(checks.map(async ({ name, run }) => [name, (await run())?.wrong] as [string, string]));
}

test("plugin check passes a plugin whose stream is JSON lines and is read as it should be", async () => {
  expect(await findingsOf(true)).toEqual([
    ["chat: a stream has the same content however its bytes arrive", undefined],
    ["chat: a stream that breaks off is an error", undefined],
    ["chat: a stream without usage is counted, not free", undefined],
  ]);
});

test("plugin check tells of a plugin that takes a piece of such a stream for whole lines", async () => {
  expect((await findingsOf(false))[0]?.[1]).toBeString();
});
