import { expect, test } from "bun:test";
import { completionOf } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const chat = { model: "chat-1", messages: [{ role: "user", content: "Hi" }] };
const responses = { model: "chat-1", input: "Hi", store: false };
const messages = { model: "chat-1", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] };
const cached = (mode: string) => ({ prompt_cache_options: { mode } });

test.each<[string, object, boolean]>([
  ["chat/completions", chat, true],
  ["responses", responses, true],
  ["chat/completions", { ...chat, ...cached("implicit") }, true],
  ["responses", { ...responses, ...cached("implicit") }, true],
  ["chat/completions", { ...chat, ...cached("explicit") }, false],
  ["responses", { ...responses, ...cached("explicit") }, false],
  ["responses", { ...responses, ...cached("none") }, false],
  ["messages", messages, false],
])("whether POST /%s of %j leaves prompt caching to the gateway: %p", async (path, body, leavesIt) => {
  const left: unknown[] = [];
  const plugin = createPlugin({
    chat: async ({ markRule }) => {
      left.push(markRule);
      return completionOf("Hello");
    },
  });
  const response = await httpOf([plugin]).post(path, body);
  expect([response.status, left]).toEqual([200, [leavesIt ? "auto" : undefined]]);
});
