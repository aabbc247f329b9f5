import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toConverse } from "../../../plugins/bedrock/request.ts";
import { toContents } from "../../../src/protocols/generate-content/outbound.ts";
import { toMessagesBody } from "../../../src/protocols/messages/outbound.ts";
import { messagesHandlers } from "../../../src/protocols/messages/passthrough.ts";
import type { MessagesRequest } from "../../../src/protocols/messages/schema.ts";
import { toMessages } from "../../../src/protocols/openai/request.ts";
import { withResponsesEndpoint } from "../../../src/protocols/responses/outbound.ts";
import { responsesHandlers } from "../../../src/protocols/responses/passthrough.ts";
import { withCallIds } from "../../../src/protocols/tools.ts";
import type { ChatRequest, Message, Model, NativeRequest } from "../../../src/provider/index.ts";
import { rounds } from "../../support/long.ts";
import { modelOf } from "../plugins/anthropic/support.ts";
import { fakeCall, plainModel } from "../sdk/fake-call.ts";
import { requestOf, translated } from "./messages/support.ts";
import { translate } from "./responses/support.ts";

/** A call, by its number in the conversation. Its arguments and its result have the number, too. */
interface Called {
  readonly id: string;
  readonly number: number;
}

/** An answer of the model with calls, and the order in which the client gives their results. */
interface Turn {
  readonly calls: readonly Called[];
  readonly results: readonly Called[];
}

const ids = [
  "call_0",
  "call_1",
  "call_0_1",
  "look",
  "functions.look:0",
  "0",
  `x${"y".repeat(70)}`,
  "toolu_01A09q90qw90lq91",
];

/** Results of calls with the same id come in the order of the calls: nothing else tells them apart. */
function inTurn(calls: readonly Called[], order: readonly number[]): Called[] {
  const waiting = Map.groupBy(calls, ({ id }) => id);
  const shuffled = calls.map((call, place) => ({ call, rank: order[place] ?? 0 })).sort((a, b) => a.rank - b.rank);
  return shuffled.map(({ call }) => waiting.get(call.id)?.shift() as Called);
}

const turn = fc.record({
  ids: fc.array(fc.constantFrom(...ids), { minLength: 1, maxLength: 4 }),
  order: fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }),
});
const history = fc.array(turn, { minLength: 1, maxLength: 5 }).map((turns): Turn[] => {
  let number = 0;
  return turns.map(({ ids: given, order }) => {
    const calls = given.map((id) => ({ id, number: number++ }));
    return { calls, results: inTurn(calls, order) };
  });
});

const argumentsOf = ({ number }: Called) => JSON.stringify({ n: number });

/** The history as a client of each protocol sends it. */
const clients: Record<string, (turns: readonly Turn[]) => ChatRequest> = {
  chat: (turns) => ({ model: "m", messages: [{ role: "user", content: "Hi" }, ...turns.flatMap(toChatTurn)] }),
  messages: (turns) => translated(requestOf(toMessagesHistory(turns))).request,
  responses: (turns) => translate({ model: "model-1", input: toInput(turns) }).chat,
};

function toChatTurn({ calls, results }: Turn): Message[] {
  const toCall = (call: Called) => ({
    id: call.id,
    type: "function" as const,
    function: { name: "look", arguments: argumentsOf(call) },
  });
  return [
    { role: "assistant", content: null, tool_calls: calls.map(toCall) },
    ...results.map(({ id, number }): Message => ({ role: "tool", tool_call_id: id, content: `${number}` })),
  ];
}

function toMessagesHistory(turns: readonly Turn[]): Pick<MessagesRequest, "messages"> {
  const messages = turns.flatMap(({ calls, results }) => [
    {
      role: "assistant",
      content: calls.map(({ id, number }) => ({ type: "tool_use", id, name: "look", input: { n: number } })),
    },
    {
      role: "user",
      content: results.map(({ id, number }) => ({ type: "tool_result", tool_use_id: id, content: `${number}` })),
    },
  ]);
  return { messages: [{ role: "user", content: "Hi" }, ...messages] } as Pick<MessagesRequest, "messages">;
}

function toInput(turns: readonly Turn[]): object[] {
  const items = turns.flatMap(({ calls, results }) => [
    ...calls.map((call) => ({ type: "function_call", call_id: call.id, name: "look", arguments: argumentsOf(call) })),
    ...results.map(({ id, number }) => ({ type: "function_call_output", call_id: id, output: `${number}` })),
  ]);
  return [{ role: "user", content: "Hi" }, ...items];
}

/** What a call or its result has in one of the protocols. */
interface Wire {
  type?: string;
  id?: string;
  tool_use_id?: string;
  call_id?: string;
  input?: { n: number };
  arguments?: string;
  output?: string;
  content?: string | Wire[];
  text?: string;
  toolUse?: { toolUseId: string; input: { n: number } };
  toolResult?: { toolUseId: string; content: { text: string }[] };
  functionCall?: { args: { n: number } };
  functionResponse?: { response: { output: string } };
}

/** What a provider is sent: calls by number and results by their text, each with its id, in their order. */
type Sent = { id: string; number: number; isResult: boolean }[];

const called = (id: unknown, number: unknown) => ({ id: String(id), number: Number(number), isResult: false });
const answered = (id: unknown, text: unknown) => ({ id: String(id), number: Number(text), isResult: true });

const warn = () => undefined;
const row: Model = { ...plainModel, contextTokens: 200_000, outputTokensMax: 1000 };

function readBlocks(messages: readonly Wire[]): Sent {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return blocks.flatMap((block): Sent => {
    if (block.type === "tool_use") return [called(block.id, block.input?.n)];
    if (block.type !== "tool_result") return [];
    return [answered(block.tool_use_id, Array.isArray(block.content) ? block.content[0]?.text : block.content)];
  });
}

function readItems(items: readonly Wire[]): Sent {
  return items.flatMap(({ type, call_id: id, arguments: text, output }): Sent => {
    if (type === "function_call") return [called(id, JSON.parse(String(text)).n)];
    return type === "function_call_output" ? [answered(id, output)] : [];
  });
}

function readChat(messages: readonly Message[]): Sent {
  return messages.flatMap(({ tool_calls: calls, tool_call_id: id, content }) => [
    ...(calls ?? []).map((call) => called(call.id, JSON.parse(call.function.arguments).n)),
    ...(typeof id === "string" ? [answered(id, content)] : []),
  ]);
}

/** What a provider of each protocol is sent of a request. */
const targets: Record<string, (request: ChatRequest) => Sent | Promise<Sent>> = {
  messages: (request) => readBlocks(toMessagesBody(request, modelOf("famC-haiku-4-5"), warn).body.messages as never),
  converse: (request) => {
    const { body } = toConverse(request, { model: row, fetched: new Map(), warn });
    const blocks = body.messages.flatMap(({ content }) => content as Wire[]);
    return blocks.flatMap(({ toolUse, toolResult }) => [
      ...(toolUse ? [called(toolUse.toolUseId, toolUse.input.n)] : []),
      ...(toolResult ? [answered(toolResult.toolUseId, toolResult.content[0]?.text)] : []),
    ]);
  },
  async responses(request) {
    const output = [{ type: "message", content: [{ type: "output_text", text: "Yes" }] }];
    const { call, asked } = fakeCall(
      request,
      { json: { status: "completed", output } },
      { ...row, endpoint: "responses" },
    );
    await withResponsesEndpoint(() => Promise.reject(new Error("Not asked for")), {}, false)(call);
    return readItems(asked[0]?.body.input as Wire[]);
  },
  openai: ({ messages }) => readChat(toMessages(messages, { callIds: "openai" })),
  mistral: ({ messages }) => readChat(toMessages(messages, { callIds: "mistral" })),
};

/** Each result is that of the one call before it that has its id. */
function expectPaired(sent: Sent, count: number): void {
  const calls = sent.filter(({ isResult }) => !isResult);
  expect(calls.map(({ number }) => number)).toEqual(Array.from({ length: count }, (_, number) => number));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(count);
  const results = sent.filter(({ isResult }) => isResult);
  expect(results).toHaveLength(count);
  const numbers = new Map(calls.map(({ id, number }) => [id, number]));
  expect(results.map(({ id }) => numbers.get(id))).toEqual(results.map(({ number }) => number));
}

const countOf = (turns: readonly Turn[]) => turns.reduce((sum, { calls }) => sum + calls.length, 0);

describe.each(Object.keys(clients))("a history of %s that has ids of calls again", (client) => {
  const toRequest = clients[client] as (turns: readonly Turn[]) => ChatRequest;

  test.each(Object.keys(targets))("has an id for each call at %s, and its result goes to it", async (target) => {
    const property = fc.asyncProperty(history, async (turns) => {
      const sent = await targets[target]?.(toRequest(turns));
      expectPaired(sent as Sent, countOf(turns));
    });
    await fc.assert(property, { numRuns: rounds(60, 3000) });
  });

  test("keeps the results in the order of the calls at Gemini, which has no ids", () => {
    const property = fc.property(history, (turns) => {
      const around = { model: row, signatures: new Map<string, string>(), fetched: new Map(), warn };
      const { contents } = toContents(toRequest(turns), around);
      const parts = contents.flatMap((one) => one.parts as unknown as Wire[]);
      const made = parts.flatMap(({ functionCall: one }) => (one ? [one.args.n] : []));
      const results = parts.flatMap(({ functionResponse: one }) => (one ? [Number(one.response.output)] : []));
      expect(results).toEqual(made);
      expect(made).toHaveLength(countOf(turns));
    });
    fc.assert(property, { numRuns: rounds(60, 3000) });
  });

  test("has an id for each call of a message at any other server of OpenAI's dialect", () => {
    const property = fc.property(history, (turns) => {
      const { messages } = toRequest(turns);
      const sentMessages = toMessages(messages, {});
      for (const [index, { tool_calls: calls }] of sentMessages.entries()) {
        if (!calls?.length) continue;
        const sent = readChat(sentMessages.slice(index, index + 1 + calls.length));
        const first = sent[0]?.number as number;
        expectPaired(
          sent.map((one) => ({ ...one, number: one.number - first })),
          calls.length,
        );
      }
    });
    fc.assert(property, { numRuns: rounds(60, 3000) });
  });
});

describe("a history that is passed through", () => {
  const property = (send: (turns: readonly Turn[]) => Promise<Sent>) =>
    fc.asyncProperty(history, async (turns) => expectPaired(await send(turns), countOf(turns)));

  test("has an id for each call at a provider of Messages", async () => {
    const { messages } = messagesHandlers({ headers: {}, toUsage: () => undefined });
    const send = async (turns: readonly Turn[]) => {
      const request: NativeRequest = { body: { max_tokens: 9, ...toMessagesHistory(turns) }, headers: {} };
      const { call, asked } = fakeCall(request, { json: { content: [] } }, row);
      await messages?.(call);
      return readBlocks(asked[0]?.body.messages as Wire[]);
    };
    await fc.assert(property(send), { numRuns: rounds(60, 3000) });
  });

  test("has an id for each call at a provider of Responses", async () => {
    const { responses } = responsesHandlers({});
    const send = async (turns: readonly Turn[]) => {
      const { call, asked } = fakeCall({ body: { input: toInput(turns) }, headers: {} }, { json: { output: [] } }, row);
      await responses?.(call);
      return readItems(asked[0]?.body.input as Wire[]);
    };
    await fc.assert(property(send), { numRuns: rounds(60, 3000) });
  });
});

test("a longer history begins with the ids of a shorter one, so that caches of prompts are hit", () => {
  const property = fc.property(history, fc.nat(5), (turns, kept) => {
    for (const target of ["messages", "converse", "responses", "openai", "mistral", undefined] as const) {
      const sentOf = (some: readonly Turn[]) => withCallIds(some.flatMap(toChatTurn), target);
      const begun = sentOf(turns.slice(0, kept));
      expect(sentOf(turns).slice(0, begun.length)).toEqual([...begun]);
    }
  });
  fc.assert(property, { numRuns: rounds(100, 5000) });
});

test("a history with an id for each call is passed on as it is", () => {
  const turns = [0, 1].map((number) => ({
    calls: [{ id: `call_a${number}`, number }],
    results: [{ id: `call_a${number}`, number }],
  }));
  const messages = turns.flatMap(toChatTurn);
  for (const target of ["messages", "converse", "responses", "openai", undefined] as const) {
    expect(withCallIds(messages, target)).toBe(messages);
  }
});

test("a result without a call, and one more than there are calls, are left to their provider to refuse", () => {
  const [answer, result] = toChatTurn({ calls: [{ id: "call_0", number: 0 }], results: [{ id: "call_0", number: 0 }] });
  const stray: Message = { role: "tool", tool_call_id: "call_9", content: "9" };
  const messages = [answer, result, result, stray] as Message[];
  expect(withCallIds(messages, "responses")).toBe(messages);
});
