import { afterAll, beforeAll, expect, test } from "bun:test";
import vllm from "../../../plugins/manifests/vllm.json" with { type: "json" };
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/**
 * A model was cut within the arguments of a call, or wrote no JSON. The agent tells it so, and sends both back in each further turn.
 * Many servers read the arguments of a history, and refuse the conversation for good. Reports: vllm-project/vllm#43995 and #55495,
 * ggml-org/llama.cpp#22072 and #22948, OpenHands/software-agent-sdk#2887, openai/openai-agents-python#2061.
 */
// biome-ignore lint/suspicious/noExplicitAny: bodies of two protocols.
type Loose = Record<string, any>;

const bodies: Loose[] = [];
/** A server that reads the arguments as vLLM does. */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (request.method === "GET") return Response.json({ object: "list", data: [{ id: "qwen", object: "model" }] });
    const body = (await request.json()) as Loose;
    bodies.push(body);
    return Response.json({ error: { message: "Seen", type: "invalid_request_error" } }, { status: 400 });
  },
});

let gateway: InProcessGateway;
beforeAll(async () => {
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const models = [{ id: "native/m", premium: false, contextTokens: 100_000, outputTokensMax: 20_000 }];
  const native = { name: "native", baseUrl, dialect: "openai", options: { chat: {}, responses: {} }, models };
  gateway = await startInProcess({
    env: {
      VLLM_BASE_URL: baseUrl,
      NATIVE_API_KEY: "k",
      DEEPSEEK_API_KEY: "k",
      DEEPSEEK_BASE_URL: baseUrl,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: baseUrl,
    },
    files: { "plugins/vllm.json": vllm, "plugins/native.json": native },
  });
});
afterAll(async () => {
  await gateway.stop();
  await server.stop(true);
});

/** Arguments as a model left them, and as they are sent. */
const whole = '{"city": "Oslo", "number": 12345678901234567890}';
const carried = (text: string) => JSON.stringify({ INVALID_JSON: text });
const cuts = Array.from({ length: whole.length - 1 }, (_, at) => whole.slice(0, at + 1));
const left: [text: string, sent: string][] = [
  ...cuts.map((cut): [string, string] => [cut, carried(cut)]),
  [whole, whole],
  ["{}", "{}"],
  ["", "{}"],
  ["  ", "{}"],
  ["null", "{}"],
  ["[1]", carried("[1]")],
  ["42", carried("42")],
  ["</parameter>", carried("</parameter>")],
  [JSON.stringify(whole), whole],
];

const question = { role: "user", content: "q" };
const clients: Record<string, { path: string; bodyOf: (texts: string[]) => object }> = {
  chat: {
    path: "/chat/completions",
    bodyOf: (texts) => ({
      messages: [
        question,
        {
          role: "assistant",
          content: null,
          tool_calls: texts.map((text, at) => ({
            id: `call_x${at}`,
            type: "function",
            function: { name: "f", arguments: text },
          })),
        },
        ...texts.map((_, at) => ({ role: "tool", tool_call_id: `call_x${at}`, content: "r" })),
      ],
    }),
  },
  responses: {
    path: "/responses",
    bodyOf: (texts) => ({
      input: [
        question,
        ...texts.map((text, at) => ({ type: "function_call", call_id: `call_x${at}`, name: "f", arguments: text })),
        ...texts.map((_, at) => ({ type: "function_call_output", call_id: `call_x${at}`, output: "r" })),
      ],
    }),
  },
};

const models = ["vllm/qwen", "native/m", "deepseek/deepseek-v4-flash", "gpt-4.1-mini", "gpt-5.3-codex"];
const cases = models.flatMap((model) => Object.keys(clients).map((client) => [client, model] as const));

test.each(cases)(
  "a conversation of %s with calls that broke off goes to %s with arguments that it can read",
  async (client, model) => {
    const { path, bodyOf } = clients[client] as (typeof clients)[string];
    bodies.length = 0;
    await (await gateway.post(path, { model, ...bodyOf(left.map(([text]) => text)) })).text();
    const [body] = bodies;
    const inChat = body?.messages?.flatMap(({ tool_calls: calls = [] }: Loose) =>
      calls.map((call: Loose) => call.function.arguments),
    );
    const inItems = body?.input
      ?.filter(({ type }: Loose) => type === "function_call")
      .map((item: Loose) => item.arguments);
    expect(inChat ?? inItems).toEqual(left.map(([, sent]) => sent));
  },
);
