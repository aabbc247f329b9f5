import { afterAll, beforeAll, expect, test } from "bun:test";
import { builtIns, manifests } from "../../../plugins/index.ts";
import { SsrfGuard } from "../../../src/kernel/upstream/ssrf-guard.ts";
import { readManifest } from "../../../src/providers/manifest.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { jsonReply } from "../../support/reply.ts";

let gateway: InProcessGateway;
let upstream: ReplayUpstream;

const answer = {
  id: "a",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
};
const manifestOf = (name: string, baseUrl: string) => ({
  baseUrl,
  dialect: "openai",
  credential: "none",
  // A message may have what it carries from another provider; whether it is sent is what is asked here.
  options: { chat: { messageOmit: [] } },
  models: [{ id: `${name}/m`, premium: false }],
});

beforeAll(async () => {
  upstream = await startReplayUpstream();
  gateway = await startInProcess({
    env: {
      SANDBOX: "off",
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
      VENDOR_BASE_URL: upstream.baseUrlOf("vendor", "/v1"),
      NAMED_BASE_URL: upstream.baseUrlOf("named", "/v1"),
    },
    files: {
      "plugins/vendor.json": manifestOf("vendor", "https://api.vendor.example/v1"),
      "plugins/named.json": manifestOf("named", "http://inference:8000/v1"),
      "plugins/local.json": manifestOf("local", upstream.baseUrlOf("local", "/v1")),
    },
  });
  for (const name of ["openai", "vendor", "named", "local"]) upstream.answer(name, jsonReply(answer));
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const called = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
const history = [
  { role: "user", content: "Look" },
  {
    role: "assistant",
    content: null,
    reasoning_content: "I look.",
    thinking_blocks: [{ type: "thinking", thinking: "I look.", signature: "c2ln" }],
    tool_calls: [{ ...called, index: 0 }],
  },
  { role: "tool", tool_call_id: "call_1", content: "mild" },
];

/** The fields of the model's message, and of the call in it, that a provider is sent. */
async function sentTo(provider: string, model: string) {
  const response = await gateway.post("/chat/completions", { model, messages: history });
  expect(response.status).toBe(200);
  const body = upstream.seen.findLast((request) => request.provider === provider)?.json as {
    messages: Record<string, unknown>[];
  };
  const { tool_calls: calls, ...message } = body.messages[1] as { tool_calls: object[] };
  return [...Object.keys(message), ...Object.keys(calls[0] as object)].sort();
}

const documented = ["content", "function", "id", "role", "type"];

test.each([
  ["openai", "gpt-4o-mini"],
  ["vendor", "vendor/m"],
])("a public provider behind a private proxy is sent the fields that it documents: %s", async (provider, model) => {
  expect(await sentTo(provider, model)).toEqual(documented);
});

test.each([
  ["local", "local/m"],
  ["named", "named/m"],
])("a plugin for a server of one's own sends the rest of a message too: %s", async (provider, model) => {
  const sent = await sentTo(provider, model);
  expect(sent).toEqual([...documented, "index", "reasoning", "reasoning_content", "thinking_blocks"].sort());
});

test("the plugins of public providers are told from those of servers that people run themselves", () => {
  const guard = new SsrfGuard(
    () => Promise.reject(new Error("No name is looked up")),
    () => 0,
  );
  const own = Object.entries(manifests).map(([name, manifest]) => readManifest(manifest, name));
  expect(builtIns.filter((plugin) => guard.isForOwnServers(plugin)).map(({ name }) => name)).toEqual([]);
  expect(own.filter((plugin) => !guard.isForOwnServers(plugin)).map(({ name }) => name)).toEqual([]);
});
