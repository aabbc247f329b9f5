import { describe, expect, test } from "bun:test";
import anthropic from "../../../plugins/anthropic/index.ts";
import azure from "../../../plugins/azure/index.ts";
import { readError as readBedrockError } from "../../../plugins/bedrock/errors.ts";
import bedrock from "../../../plugins/bedrock/index.ts";
import gemini from "../../../plugins/gemini/index.ts";
import openai from "../../../plugins/openai/index.ts";
import openrouter from "../../../plugins/openrouter/index.ts";
import vertex from "../../../plugins/vertex/index.ts";
import { UpstreamError } from "../../../src/contract/index.ts";
import type { ChatRequest, Message, Model, ProviderPlugin, Tool } from "../../../src/provider/index.ts";
import {
  type PromptBlock,
  PromptCache,
  readChatPrompt,
  readConversePrompt,
  readMessagesPrompt,
} from "../../support/prompt-cache.ts";
import { randomBelow } from "../../support/random.ts";
import { completionOf } from "../kernel/streams.ts";
import { fakeCall } from "../sdk/fake-call.ts";

type Json = Record<string, unknown>;

const messagesAnswer = () => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
});
const converseAnswer = () => ({
  output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
});
const chatAnswer = () => completionOf("Hi");
const geminiAnswer = () => ({
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
});

interface Target {
  name: string;
  plugin: ProviderPlugin;
  model: Model;
  answer(): object;
  read(body: Json): PromptBlock[];
}

function target(
  plugin: ProviderPlugin,
  id: string,
  form: Pick<Target, "answer" | "read">,
  changes: Partial<Model> = {},
) {
  const row = plugin.models.find((one) => one.id === id || one.aliases?.includes(id) === true);
  if (row === undefined) throw new Error(`${plugin.name} has no ${id}`);
  return { name: plugin.name, plugin, model: { ...row, ...changes }, ...form };
}
const byMessages = { answer: messagesAnswer, read: readMessagesPrompt };
const byConverse = { answer: converseAnswer, read: readConversePrompt };
const byChat = { answer: chatAnswer, read: readChatPrompt };
const claude = (changes?: Partial<Model>) => target(anthropic, "claude-sonnet-5", byMessages, changes);
const onBedrock = (changes?: Partial<Model>) =>
  target(bedrock, "bedrock/us.anthropic.claude-opus-5", byConverse, changes);
const onOpenrouter = (changes?: Partial<Model>) =>
  target(openrouter, "openrouter/anthropic/claude-sonnet-5", byChat, changes);
const onVertex = (changes?: Partial<Model>) => target(vertex, "vertex/claude-sonnet-5", byMessages, changes);
const onFoundry = (changes?: Partial<Model>) => target(azure, "azure/claude-sonnet-5", byMessages, changes);
const targets: Target[] = [claude(), onVertex(), onFoundry(), onBedrock(), onOpenrouter()];

type Refusal = (body: Json) => Error | undefined;

/** Sends a request as an attempt does, and gives the bodies that the provider was sent. */
async function send(to: Target, request: Partial<ChatRequest> & Json, leavesCaching = true, refuse?: Refusal) {
  const bodies: Json[] = [];
  const { plugin, model } = to;
  const { call, asked, notes } = fakeCall({ model: model.id, ...request } as ChatRequest, {}, model);
  const json = async (_: string, body: Json) => {
    bodies.push(body);
    const refusal = refuse?.(body);
    if (refusal !== undefined) throw refusal;
    return to.answer();
  };
  const handlers = { ...plugin.handlers, ...plugin.forModel?.(model)?.handlers };
  const upstream = { ...call.upstream, baseUrl: plugin.baseUrl, json };
  const answer = handlers.chat?.({
    ...call,
    upstream: upstream as never,
    markRule: leavesCaching ? "auto" : undefined,
  });
  const error = await Promise.resolve(answer).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(asked).toEqual([]);
  return { bodies, body: JSON.parse(JSON.stringify(bodies.at(-1))) as Json, error, notes };
}

const tool = (name: string, description = "Looks"): Tool => ({ type: "function", function: { name, description } });
const user = (content: string): Message => ({ role: "user", content });
const calls = (turn: number, count: number): Message[] => [
  {
    role: "assistant",
    content: null,
    tool_calls: Array.from({ length: count }, (_, at) => ({
      id: `call_${turn}_${at}`,
      type: "function",
      function: { name: "look", arguments: JSON.stringify({ turn, at }) },
    })),
  },
  ...Array.from(
    { length: count },
    (_, at): Message => ({ role: "tool", tool_call_id: `call_${turn}_${at}`, content: `${turn} ${at} `.repeat(60) }),
  ),
];
const session: Message[] = [
  { role: "system", content: "You are an agent. ".repeat(400) },
  { role: "developer", content: "Be brief." },
  user("Do it"),
];
const tooled = { tools: [tool("look"), tool("other", "Does things. ".repeat(50))] };
const turn = { messages: [...session, ...calls(1, 1)], tools: [tool("look"), tool("other")] };

/** How often each place has a mark: the ends of tools and system, the end of the request before, the end. */
const markedTexts = ({ read }: Target, body: Json) =>
  read(body)
    .filter(({ isMarked }) => isMarked)
    .map(({ text }) => /other|Be brief|Do it|1 0 1 0/.exec(text)?.[0]);

describe("a request of a client that knows of no marks, with tools and turns, is marked", () => {
  test.each(targets.map((to) => [to.name, to] as const))(
    "on %s at the ends of its tools, system prompt, request before, and at its own",
    async (_, to) => {
      const { body, error, notes } = await send(to, turn);
      expect([error, notes]).toEqual([undefined, []]);
      expect(markedTexts(to, body)).toEqual(["other", "Be brief", "Do it", "1 0 1 0"]);
    },
  );

  test("on Anthropic's own API by the mark of the request, which others refuse", async () => {
    expect((await send(claude(), turn)).body.cache_control).toEqual({ type: "ephemeral" });
    for (const to of targets.slice(1))
      expect([to.name, (await send(to, turn)).body.cache_control]).toEqual([to.name, undefined]);
  });

  test("with tools alone, and with turns alone", async () => {
    const first = await send(claude(), { messages: session, tools: turn.tools });
    expect(markedTexts(claude(), first.body)).toEqual(["other", "Be brief", "Do it"]);
    const second = await send(claude(), {
      messages: [...session, { role: "assistant", content: "Done" }, user("1 0 1 0")],
    });
    expect(markedTexts(claude(), second.body)).toEqual(["Be brief", "Do it", "1 0 1 0"]);
  });

  test("where a row in OpenAI's dialect lets marks pass, whatever its model is called", async () => {
    const price = {
      inputToken: { usd: "1", per: 1 },
      cacheWriteToken: { usd: "2", per: 1 },
      cacheReadToken: { usd: "1", per: 2 },
    };
    const row = { upstreamId: "sonnet", price, options: { pass: ["cache_control"] } } as Partial<Model>;
    const to = target(openai, "gpt-5.4", byChat, row);
    expect(markedTexts(to, (await send(to, turn)).body)).toEqual(["other", "Be brief", "Do it", "1 0 1 0"]);
  });

  test.each(targets.map((to) => [to.name, to] as const))(
    "on %s so that each turn reads the prompt before it, also after many calls at once and a later system message",
    async (_, to) => {
      const [marked, unmarked] = [new PromptCache(), new PromptCache()];
      const messages = [...session];
      const tools = Array.from({ length: 8 }, (_, at) => tool(`tool_${at}`, "Does things. ".repeat(20)));
      const ask = async () => {
        const request = { messages: [...messages], tools: [tool("look"), ...tools] };
        marked.take(to.read((await send(to, request)).body));
        unmarked.take(to.read((await send(to, request, false)).body));
      };
      for (let at = 0; at < 30; at++) {
        await ask();
        messages.push(...calls(at, at % 5 === 4 ? 14 : 1));
        if (at % 7 === 6) messages.push({ role: "developer", content: `From now on think of ${at}` });
        if (at % 3 !== 2) continue;
        await ask();
        messages.push({ role: "assistant", content: "Done" }, user(`And ${at}?`));
      }
      expect(Math.min(...marked.shares())).toBe(1);
      expect(Math.max(...unmarked.shares())).toBe(0);
    },
  );
});

/** What is added in a turn: up to 40 calls at once with their results, or an answer, which may be many messages in a row. */
function randomTurn(turn: number, below: (bound: number) => number): Message[] {
  const count = 1 + below(below(2) === 0 ? 3 : 40);
  const pieces = below(below(3) === 0 ? 30 : 2);
  const texts = Array.from(
    { length: pieces },
    (_, at): Message => ({ role: "assistant", content: `Let me see ${at}` }),
  );
  const later: Message[] = below(4) === 0 ? [{ role: "developer", content: `From now on think of ${turn}` }] : [];
  if (below(5) === 0) return [...texts, { role: "assistant", content: "Done" }, ...later, user(`And ${turn}?`)];
  return [...texts, ...calls(turn, count), ...later];
}

describe("against a simulated cache that looks 20 blocks back", () => {
  test.each(targets.map((to) => [to.name, to] as const))(
    "each turn on %s reads the prompt before it, whatever the turns add",
    async (_, to) => {
      let most = 0;
      for (let seed = 1; seed <= 12; seed++) {
        const below = randomBelow(seed);
        const cache = new PromptCache();
        const messages = [...session];
        for (let turn = 0; turn < 10; turn++) {
          cache.take(to.read((await send(to, { ...tooled, messages: [...messages] })).body));
          const added = randomTurn(turn, below);
          most = Math.max(most, added.length);
          messages.push(...added);
        }
        expect([seed, Math.min(...cache.shares())]).toEqual([seed, 1]);
      }
      expect(most).toBeGreaterThan(30);
    },
  );

  test.each(targets.map((to) => [to.name, to] as const))(
    "two subagents on %s, at once with a prompt of their own each, read the tools and the system prompt that they share",
    async (_, to) => {
      const cache = new PromptCache();
      const [first, second] = ["Find the tests", "Find the docs"].map((task) => [...session.slice(0, 2), user(task)]);
      const ask = async (messages: Message[] = []) =>
        cache.take(to.read((await send(to, { ...tooled, messages: [...messages] })).body));
      const { cache_creation_input_tokens: shared } = await ask(first);
      for (let turn = 0; turn < 5; turn++) {
        const { cache_read_input_tokens: read } = await ask(second);
        expect(read).toBeGreaterThanOrEqual(shared * 0.95);
        second?.push(...calls(turn, 2));
        first?.push(...calls(turn + 100, 2));
        expect((await ask(first)).cache_read_input_tokens).toBeGreaterThanOrEqual(shared);
      }
    },
  );
});

const mark = { cache_control: { type: "ephemeral" } };
const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };
const isMarked = (body: Json) => /cache_control|cachePoint/.test(JSON.stringify(body));

describe("the gateway marks nothing", () => {
  test.each<[string, Json]>([
    ["a question without tools", { messages: session }],
    ["several choices", { ...turn, n: 2 }],
  ])("of %s", async (_, request) => {
    for (const to of targets) expect([to.name, isMarked((await send(to, request)).body)]).toEqual([to.name, false]);
  });

  test.each<[string, Partial<Model>]>([
    ["cache writes", { price: { inputToken: { usd: "1", per: 1 }, cacheReadToken: { usd: "1", per: 2 } } }],
    ["cache reads", { price: { inputToken: { usd: "1", per: 1 }, cacheWriteToken: { usd: "2", per: 1 } } }],
    ["caches", { price: { inputToken: { usd: "1", per: 1 } } }],
  ])("where the row has no price for %s", async (_, changes) => {
    for (const to of [
      claude(changes),
      onVertex(changes),
      onFoundry(changes),
      onBedrock(changes),
      onOpenrouter(changes),
    ])
      expect([to.name, isMarked((await send(to, turn)).body)]).toEqual([to.name, false]);
  });

  test("where the client does not leave it to the gateway", async () => {
    for (const to of targets) expect([to.name, isMarked((await send(to, turn, false)).body)]).toEqual([to.name, false]);
  });

  test("for models that cache by themselves, or take no marks", async () => {
    const others = [
      target(openai, "gpt-5.6", byChat),
      target(openrouter, "openrouter/google/gemini-2.5-pro", byChat),
      target(gemini, "gemini-2.5-pro", { ...byChat, answer: geminiAnswer }),
      onBedrock({ options: { thinking: "adaptive" } }),
    ];
    for (const to of others) {
      const { body, error } = await send(to, turn);
      expect([to.name, error, isMarked(body)]).toEqual([to.name, undefined, false]);
    }
  });

  test.each<[string, Json, string[]]>([
    [
      "a part",
      { messages: [{ role: "user", content: [{ type: "text", text: "Do it", ...mark }] }, ...calls(1, 1)] },
      ["Do it"],
    ],
    [
      "a part, as OpenAI has it",
      { messages: [{ role: "user", content: [{ type: "text", text: "Do it", ...breakpoint }] }, ...calls(1, 1)] },
      ["Do it"],
    ],
    ["a message of one text", { messages: [{ ...user("Do it"), ...mark }, ...calls(1, 1)] }, ["Do it"]],
    [
      "a message of several parts",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Hm" },
              { type: "text", text: "Do it" },
            ],
            ...mark,
          },
          ...calls(1, 1),
        ],
      },
      ["Do it"],
    ],
    ["the system message", { messages: [{ ...session[1], ...mark }, user("Hm"), ...calls(1, 1)] }, ["Be brief"]],
    ["an answer", { messages: [user("Hm"), { role: "assistant", content: "Do it", ...mark }, user("Hm")] }, ["Do it"]],
    [
      "a result",
      {
        messages: [
          user("Hm"),
          ...calls(1, 1).map((message) => (message.role === "tool" ? { ...message, ...mark } : message)),
        ],
      },
      ["1 0 1 0"],
    ],
    ["a tool", { messages: session, tools: [{ ...tool("other"), ...mark }] }, ["other"]],
    [
      "the function of a tool",
      { messages: session, tools: [{ type: "function", function: { name: "other", ...mark } }] },
      ["other"],
    ],
  ])("where the client marked %s, and the client's mark arrives", async (_, request, texts) => {
    for (const to of targets) {
      const { body } = await send(to, { tools: [tool("look")], ...request });
      expect([to.name, markedTexts(to, body)]).toEqual([to.name, texts]);
      expect(JSON.stringify(body)).not.toContain("prompt_cache_breakpoint");
    }
  });

  test("where the client marked the whole request, and its mark stands at the end", async () => {
    for (const to of targets.slice(0, -1)) {
      const { body } = await send(to, { ...turn, ...mark });
      expect([to.name, markedTexts(to, body)]).toEqual([to.name, ["1 0 1 0"]]);
    }
    expect((await send(onOpenrouter(), { ...turn, ...mark })).body.cache_control).toEqual({ type: "ephemeral" });
  });
});

test("of more marks than a provider takes the first are left out", async () => {
  const messages = ["Hm", "Hm", "Be brief", "Do it", "other", "1 0 1 0"].map((text) => ({ ...user(text), ...mark }));
  for (const to of targets) {
    expect([to.name, markedTexts(to, (await send(to, { messages })).body)]).toEqual([
      to.name,
      ["Be brief", "Do it", "other", "1 0 1 0"],
    ]);
  }
});

test("a provider that takes no marks is not sent those of clients, wherever they stand", async () => {
  const marked = {
    messages: [{ ...user("Do it"), ...mark }, ...calls(1, 1)],
    tools: [{ ...tool("look"), function: { name: "look", ...mark }, ...mark }],
    ...mark,
  };
  const { body, notes } = await send(target(openai, "gpt-5.4", byChat), marked);
  expect([isMarked(body), notes]).toEqual([false, ["Left out cache_control: the provider does not take it"]]);
});

describe("a refusal of the gateway's marks", () => {
  const refused = (message: string) => new UpstreamError("bad_request", message, { status: 400 });
  const wrong: Refusal = (body) =>
    isMarked(body) ? refused("tools.1.cache_control: Extra inputs are not permitted") : undefined;

  test("leads to one call without, and to no more marks for the row", async () => {
    const to = onVertex();
    const first = await send(to, turn, true, wrong);
    expect([first.error, first.bodies.map(isMarked)]).toEqual([undefined, [true, false]]);
    const second = await send(to, turn, true, wrong);
    expect([second.error, second.bodies.map(isMarked)]).toEqual([undefined, [false]]);
    expect((await send(onVertex(), turn)).bodies.map(isMarked)).toEqual([true]);
  });

  test("is seen where Bedrock calls it a matter of access", async () => {
    const denied = readBedrockError({
      status: 403,
      headers: new Headers({ "x-amzn-errortype": "AccessDeniedException" }),
      body: JSON.stringify({
        message:
          "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.",
      }),
    });
    const { error, bodies } = await send(onBedrock(), turn, true, (body) => (isMarked(body) ? denied : undefined));
    expect([error, bodies.map(isMarked)]).toEqual([undefined, [true, false]]);
  });

  test("of one in its place does not end them for the row", async () => {
    const to = claude();
    const misplaced: Refusal = (body) =>
      isMarked(body)
        ? refused("messages.2.content.0.text.cache_control: cache_control cannot be set for empty text blocks")
        : undefined;
    expect((await send(to, turn, true, misplaced)).bodies.map(isMarked)).toEqual([true, false]);
    expect((await send(to, turn)).bodies.map(isMarked)).toEqual([true]);
  });

  test.each([
    ["the same is wrong without", refused("tools.1.cache_control: Extra inputs are not permitted"), 2],
    ["it is about something else", refused("max_tokens: too large"), 1],
    ["the provider is full", new UpstreamError("rate_limited", "cache_control tokens", { status: 429 }), 1],
  ])("is the answer where %s", async (_, refusal, count) => {
    const to = claude();
    const { error, bodies } = await send(to, turn, true, () => refusal);
    expect([error, bodies.length]).toEqual([refusal, count]);
    expect((await send(to, turn)).bodies.map(isMarked)).toEqual([true]);
  });
});
