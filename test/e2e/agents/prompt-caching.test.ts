import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { PromptCache } from "../../support/prompt-cache.ts";

const model = "claude-sonnet-4-6";
/** Nanodollars a token of the model, as its row has them. */
const rates = { input: 3_000, cacheRead: 300, cacheWrite: 3_750, output: 15_000 };
const outputTokens = 20;
const toolTurns = 10;

const shared = useAgentsGateway((origin) => ({ LLAMA_CPP_BASE_URL: `${origin}/local/v1` }));
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);
let cache: PromptCache;
beforeEach(() => {
  cache = new PromptCache();
  Object.assign(shared.providers, { promptCache: cache, plan: undefined });
  shared.providers.seen.length = 0;
  shared.recorder.calls.length = 0;
});

/** In an agent's session no turn but the first is said to have missed the cache. */
function expectNoMiss() {
  const posts = shared.recorder.calls.filter(({ method }) => method === "POST");
  const misses = posts.map(({ requestId = "" }) => shared.ledger.call(requestId)?.cache_miss);
  expect(misses).toEqual(misses.map((_, turn) => (turn === 0 ? "first_seen" : null)));
}

/** Each call costs what the provider reported of it. */
function expectCharged() {
  const posts = shared.recorder.calls.filter(({ method }) => method === "POST");
  const costs = posts.map(({ requestId = "" }) => shared.ledger.call(requestId)?.cost_nanodollars);
  const reported = cache.reports.map(
    ({ input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written }) =>
      input * rates.input + read * rates.cacheRead + written * rates.cacheWrite + outputTokens * rates.output,
  );
  expect(costs).toEqual(reported);
}

describe("a client that marks nothing reads from its second turn on what a Claude model was sent before", () => {
  test("as Codex, over ten calls of a tool", async () => {
    if (agents.missing !== undefined) return;
    const { providers, gateway, recorder } = shared;
    providers.plan = { name: "exec_command", input: { cmd: "seq 1 300; date +%N" }, turns: toolTurns };
    const run = await agents.run("codex", "Do what there is to do", {
      origin: recorder.origin,
      key: gateway.key,
      model,
    });
    expect([run.code, run.stdout]).toEqual([0, expect.stringContaining("The tool said: ")]);
    expect(cache.shares().length).toBe(toolTurns);
    expect(Math.min(...cache.shares())).toBe(1);
    expectCharged();
    expectNoMiss();
  });

  test("as a client of chat completions, also after a later system message", async () => {
    const { providers, gateway, recorder } = shared;
    providers.plan = { name: "look", input: { at: "the list" }, turns: toolTurns };
    const openai = new OpenAI({ baseURL: `${recorder.origin}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "system", content: "You are a careful agent. ".repeat(300) },
      { role: "user", content: "Look at the list" },
    ];
    const look = { name: "look", description: "Looks at a thing", parameters: { type: "object", properties: {} } };
    for (let turn = 0; turn <= toolTurns; turn++) {
      const { choices } = await openai.chat.completions.create({
        model,
        messages,
        tools: [{ type: "function", function: look }],
      });
      const message = choices[0]?.message;
      if (message === undefined) throw new Error("No choice came");
      messages.push(message);
      for (const { id } of message.tool_calls ?? []) {
        messages.push({ role: "tool", tool_call_id: id, content: `Line ${turn} of it. `.repeat(40) });
      }
      if (turn === 4) messages.push({ role: "developer", content: "From now on be quick" });
    }
    expect(messages.at(-1)).toMatchObject({ role: "assistant", content: expect.stringContaining("The tool said: ") });
    expect(cache.shares().length).toBe(toolTurns);
    expect(Math.min(...cache.shares())).toBe(1);
    expectCharged();
  });

  test("as a client of the Responses protocol, whose two subagents share the tools and instructions", async () => {
    const { providers, gateway, recorder } = shared;
    providers.plan = { name: "look", input: { at: "the list" }, turns: 2 * toolTurns };
    const openai = new OpenAI({ baseURL: `${recorder.origin}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const parameters = { type: "object", properties: {}, additionalProperties: false };
    const tools = [{ type: "function" as const, name: "look", description: "Looks", parameters, strict: false }];
    const instructions = "You are a careful agent. ".repeat(300);
    const agents = ["Look at the list", "Look at the docs"].map((content) => ({
      input: [{ role: "user", content }] as OpenAI.Responses.ResponseInput,
      cache: new PromptCache(),
    }));
    for (let turn = 0; turn < toolTurns; turn++) {
      for (const { input, cache: own } of agents) {
        const { output } = await openai.responses.create({ model, instructions, input, tools, store: false });
        const report = cache.reports.at(-1);
        if (report !== undefined) own.reports.push(report);
        for (const item of output) {
          if (item.type === "function_call") {
            const { call_id, name, arguments: text } = item;
            input.push({ type: "function_call", call_id, name, arguments: text });
            input.push({ type: "function_call_output", call_id, output: `Line ${turn} of it. `.repeat(40) });
          }
        }
      }
    }
    for (const { cache: own } of agents) {
      expect(own.shares().length).toBe(toolTurns - 1);
      expect(Math.min(...own.shares())).toBe(1);
    }
    // The first request of the second subagent reads what the first one wrote.
    expect(agents[1]?.cache.reports[0]?.cache_read_input_tokens).toBeGreaterThan(instructions.length / 4);
    expectCharged();
  });
});

/** A model of each kind of provider, and the parts of a prompt in the order in which that reads them. */
type Kind = [string, string, (body: Record<string, unknown>) => unknown[]];
const kinds: Kind[] = [
  ["OpenAI", "gpt-5.4", ({ tools, instructions, input }) => [tools, instructions, ...(input as unknown[])]],
  ["Anthropic", model, ({ tools, system, messages }) => [tools, system, ...(messages as unknown[])]],
  ["Google", "gemini-3-flash-preview", (body) => [body.tools, body.systemInstruction, ...(body.contents as unknown[])]],
  ["a server of one's own", "llama-cpp/qwen", ({ tools, messages }) => [tools, ...(messages as unknown[])]],
];

/** A mark is no part of the prompt, and a text is the same as one part in text. */
const textOf = (part: unknown) =>
  JSON.stringify(part, (name, value: unknown) => {
    if (name === "cache_control") return undefined;
    if (name === "type" && value === "input_text") return "text";
    return name === "content" && typeof value === "string" ? [{ type: "text", text: value }] : value;
  }) ?? "";

/** The share of the prompt before that a prefix cache would read of each prompt, simulated as the longest common prefix. */
function simulatedShares(prompts: readonly (readonly unknown[])[]): number[] {
  const lengthOf = (parts: readonly unknown[]) => parts.reduce<number>((sum, part) => sum + textOf(part).length, 0);
  return prompts.slice(1).map((prompt, index) => {
    const before = prompts[index] as unknown[];
    const differs = before.findIndex((part, at) => textOf(part) !== textOf(prompt[at]));
    return lengthOf(differs === -1 ? before : before.slice(0, differs)) / lengthOf(before);
  });
}

describe.each([
  ["codex", "exec_command", { cmd: "seq 1 300; date +%N" }],
  ["claude", "Bash", { command: "seq 1 300; date +%N", description: "Count" }],
] as const)("ten turns of %s with a tool", (agent, name, input) => {
  test.each(kinds)(
    "let %s read from a prefix cache, simulated, what the agent itself repeats",
    async (_, asked, partsOf) => {
      if (agents.missing !== undefined) return;
      const { providers, gateway, recorder } = shared;
      providers.plan = { name, input, turns: toolTurns };
      const run = await agents.run(agent, "Do what there is to do", {
        origin: recorder.origin,
        key: gateway.key,
        model: asked,
      });
      expect([run.code, run.stdout]).toEqual([0, expect.stringContaining("The tool said: ")]);
      const bodies = recorder.calls.filter(({ method }) => method === "POST").map(({ text }) => JSON.parse(text));
      const [openai, anthropic] = kinds as [Kind, Kind];
      const own = simulatedShares(bodies.map(agent === "codex" ? openai[2] : anthropic[2]));
      const shares = simulatedShares(providers.seen.map(({ body }) => partsOf(body)));
      expect(shares.length).toBe(toolTurns);
      // The second prompt of Claude Code has another system prompt than its first.
      const lacking = shares.filter((share, turn) => share < Math.min(0.9, 0.95 * (own[turn] as number)));
      expect(lacking).toEqual([]);
      expect(shares.filter((share) => share >= 0.9).length).toBeGreaterThanOrEqual(toolTurns - 1);
    },
  );
});

test("Claude Code's own request is sent to a Claude model as it came", async () => {
  if (agents.missing !== undefined) return;
  const { providers, gateway, recorder } = shared;
  providers.plan = { name: "Bash", input: { command: "seq 1 300", description: "Count" }, turns: 3 };
  const run = await agents.run("claude", "Do what there is to do", {
    origin: recorder.origin,
    key: gateway.key,
    model,
  });
  expect(run.code).toBe(0);
  const posts = recorder.calls.filter(({ method }) => method === "POST");
  expect(providers.seen.map(({ body }) => body)).toEqual(posts.map(({ text }) => JSON.parse(text)));
  expectCharged();
  expectNoMiss();
});

test("a question that is asked once is sent without marks, and nothing is written to a cache", async () => {
  const { gateway, recorder } = shared;
  const openai = new OpenAI({ baseURL: `${recorder.origin}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const question = "Which of these words is the longest? ".repeat(300);
  await openai.chat.completions.create({ model, messages: [{ role: "user", content: question }] });
  await openai.responses.create({ model, instructions: "Be brief", input: question, store: false });
  expect(cache.reports).toEqual(
    cache.reports.map(({ input_tokens }) => ({
      input_tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    })),
  );
  expect(cache.reports.length).toBe(2);
  expectCharged();
});
