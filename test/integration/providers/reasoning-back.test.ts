import { afterAll, beforeAll, expect, test } from "bun:test";
import vllm from "../../../plugins/manifests/vllm.json" with { type: "json" };
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { parseEvents } from "../../support/sse.ts";

/**
 * Agents through each protocol of clients: the model reasons and calls a tool, and the agent sends its answer back with the result.
 * What the model reasoned has to arrive where its provider reads it. Reports: musistudio/claude-code-router#1057,
 * danny-avila/LibreChat#13366, QwenLM/qwen-code#4285, BerriAI/litellm#41380, NousResearch/hermes-agent#20577.
 */
// biome-ignore lint/suspicious/noExplicitAny: requests and answers of three protocols.
type Loose = Record<string, any>;

const called = { id: "tool_0_look", type: "function", function: { name: "look", arguments: '{"a":1}' } };
const streamedCall = { tool_calls: [{ index: 0, ...called }] };
const detail = (format: string, more: object) => ({ type: "reasoning.text", format, index: 0, ...more });
const signature = { type: "reasoning.encrypted", data: "SIG", id: called.id, format: "google-gemini-v1", index: 0 };

/** The pieces in which a provider streams, and what it adds to a whole message. */
interface Answer {
  pieces: Loose[];
  whole: Loose;
}

const claude = "anthropic-claude-v1";
const answers = {
  gemini: {
    pieces: [
      { reasoning: "Hm ", reasoning_details: [detail("google-gemini-v1", { text: "Hm " })] },
      { reasoning: "so", reasoning_details: [detail("google-gemini-v1", { text: "so" })] },
      { ...streamedCall, reasoning_details: [signature] },
    ],
    whole: { reasoning: "Hm so", reasoning_details: [detail("google-gemini-v1", { text: "Hm so" }), signature] },
  },
  claude: {
    pieces: [
      { reasoning: "Hm ", reasoning_details: [detail(claude, { text: "Hm " })] },
      { reasoning: "so", reasoning_details: [detail(claude, { text: "so", signature: "SIG" })] },
      { content: "Text" },
      streamedCall,
    ],
    whole: {
      content: "Text",
      reasoning: "Hm so",
      reasoning_details: [detail(claude, { text: "Hm so", signature: "SIG" })],
    },
  },
  plain: {
    pieces: [{ reasoning: "Hm " }, { reasoning: "so" }, { content: "Text" }, streamedCall],
    whole: { content: "Text", reasoning: "Hm so" },
  },
  tags: {
    pieces: [{ content: "<think>\nHm " }, { content: "so\n</think>\n\nText" }, streamedCall],
    whole: { content: "<think>\nHm so\n</think>\n\nText" },
  },
} satisfies Record<string, Answer>;

const head = { id: "gen-1", created: 1, model: "x" };
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function answerOf({ pieces, whole }: Answer, stream: boolean): Response {
  if (!stream) {
    const message = { role: "assistant", content: "", ...whole, tool_calls: [called] };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    return Response.json({ ...head, object: "chat.completion", choices, usage });
  }
  const chunk = (delta: object, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }];
    return { ...head, object: "chat.completion.chunk", choices };
  };
  const chunks = [...pieces.map((delta) => chunk(delta)), { ...chunk({}, "tool_calls"), usage }];
  const text = [...chunks.map((one) => JSON.stringify(one)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

let answer: Answer | undefined;
let received: Loose[] = [];
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (request.method === "GET") return Response.json({ object: "list", data: [{ id: "qwen", object: "model" }] });
    const body = (await request.json()) as Loose;
    received.push(body);
    return answer === undefined
      ? Response.json({ error: { message: "Seen" } }, { status: 400 })
      : answerOf(answer, body.stream === true);
  },
});

let gateway: InProcessGateway;
beforeAll(async () => {
  const origin = `http://127.0.0.1:${provider.port}`;
  const names = ["OPENROUTER", "MINIMAX", "ZAI", "FIREWORKS"];
  const env = names.flatMap((name) => [
    [`${name}_API_KEY`, "sk-test"],
    [`${name}_BASE_URL`, `${origin}/${name.toLowerCase()}`],
  ]);
  const files = { "plugins/vllm.json": vllm };
  gateway = await startInProcess({ env: { ...Object.fromEntries(env), VLLM_BASE_URL: `${origin}/vllm` }, files });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop(true);
});

const schema = { type: "object", properties: { a: { type: "integer" } } };

/** An agent of a protocol: its first request, and the second one with the answer and the result of the call in it. */
interface Agent {
  path: string;
  first: Loose;
  next(answered: Loose | Loose[]): Loose;
}

const question = { role: "user", content: "q" };
const agents: Record<string, Agent> = {
  chat: {
    path: "/chat/completions",
    first: {
      max_tokens: 9000,
      tools: [{ type: "function", function: { name: "look", parameters: schema } }],
      messages: [question],
    },
    next(answered) {
      const message = Array.isArray(answered) ? joinChunks(answered) : answered.choices[0].message;
      const results = message.tool_calls.map(({ id }: Loose) => ({ role: "tool", tool_call_id: id, content: "r" }));
      return { messages: [question, message, ...results] };
    },
  },
  messages: {
    path: "/messages",
    first: {
      max_tokens: 9000,
      thinking: { type: "enabled", budget_tokens: 4000 },
      tools: [{ name: "look", input_schema: schema }],
      messages: [question],
    },
    next(answered) {
      const content: Loose[] = Array.isArray(answered) ? joinBlocks(answered) : answered.content;
      const calls = content.filter(({ type }) => type === "tool_use");
      const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "r" }));
      return { messages: [question, { role: "assistant", content }, { role: "user", content: results }] };
    },
  },
  responses: {
    path: "/responses",
    first: {
      store: false,
      include: ["reasoning.encrypted_content"],
      tools: [{ type: "function", name: "look", parameters: schema }],
      input: [question],
    },
    next(answered) {
      const isDone = ({ type }: Loose) => type === "response.output_item.done";
      const output: Loose[] = Array.isArray(answered)
        ? answered.filter(isDone).map(({ item }) => item)
        : answered.output;
      const calls = output.filter(({ type }) => type === "function_call");
      const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "r" }));
      return { input: [question, ...output, ...results] };
    },
  },
};

/** A message as a client that knows OpenRouter keeps it: with the details as they came. */
function joinChunks(chunks: Loose[]): Loose {
  const message: Loose = { role: "assistant", content: "", tool_calls: [] };
  for (const { choices } of chunks) {
    for (const { delta } of choices) {
      message.content += delta.content ?? "";
      if (delta.reasoning_content)
        message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
      if (delta.reasoning_details)
        message.reasoning_details = [...(message.reasoning_details ?? []), ...delta.reasoning_details];
      for (const { index, ...piece } of delta.tool_calls ?? []) {
        const known = message.tool_calls[index];
        if (known === undefined) message.tool_calls[index] = structuredClone(piece);
        else known.function.arguments += piece.function.arguments;
      }
    }
  }
  return message;
}

function joinBlocks(events: Loose[]): Loose[] {
  const blocks: Loose[] = [];
  const jsons: string[] = [];
  for (const { type, index, content_block: block, delta } of events) {
    if (type === "content_block_start") blocks[index] = { ...block };
    if (type !== "content_block_delta") continue;
    const open = blocks[index] as Loose;
    if (delta.type === "thinking_delta") open.thinking += delta.thinking;
    if (delta.type === "signature_delta") open.signature = delta.signature;
    if (delta.type === "text_delta") open.text += delta.text;
    if (delta.type === "input_json_delta") jsons[index] = (jsons[index] ?? "") + delta.partial_json;
  }
  return blocks.map((block, at) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(jsons[at] || "{}") } : block,
  );
}

const targets: [model: string, answer: keyof typeof answers, expected: (sent: Loose) => void][] = [
  [
    "openrouter/google/gemini-3.5-flash",
    "gemini",
    ({ reasoning_details: details, tool_calls: [{ id }] }) => expect(details.at(-1)).toEqual({ ...signature, id }),
  ],
  [
    "openrouter/anthropic/claude-opus-4.5",
    "claude",
    ({ reasoning_details: details }) => expect(details).toEqual([detail(claude, { text: "Hm so", signature: "SIG" })]),
  ],
  ["openrouter/deepseek/deepseek-v3.1-terminus", "plain", (sent) => expect(sent).toMatchObject({ reasoning: "Hm so" })],
  ["vllm/qwen", "plain", (sent) => expect(sent).toMatchObject({ reasoning: "Hm so", reasoning_content: "Hm so" })],
  ["minimax/MiniMax-M2", "tags", (sent) => expect(sent.content).toBe("<think>\nHm so\n</think>\n\nText")],
  ["zai/glm-4.7", "plain", (sent) => expect(sent).toMatchObject({ reasoning_content: "Hm so" })],
];
const cases = targets.flatMap(([model, kind, expectSent]) =>
  Object.keys(agents).flatMap((agent) =>
    [false, true].map((stream) => [model, agent, stream, kind, expectSent] as const),
  ),
);

test.each(cases)(
  "%s gets back what it reasoned from an agent of %s (streamed: %p)",
  async (model, name, stream, kind, expectSent) => {
    const { path, first, next } = agents[name] as Agent;
    answer = answers[kind];
    const response = await gateway.post(path, { ...first, model, stream });
    expect(response.status).toBe(200);
    const answered = stream ? parseEvents(await response.text()).events : ((await response.json()) as Loose);
    answer = undefined;
    received = [];
    await (await gateway.post(path, { ...first, model, ...next(answered) })).text();
    const [message] = received[0]?.messages.filter(({ role }: Loose) => role === "assistant") ?? [];
    expect(message?.tool_calls).toHaveLength(1);
    expectSent(message);
  },
);
