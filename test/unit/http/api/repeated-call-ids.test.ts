import { expect, test } from "bun:test";
import type { ChatChunk, ChatCompletion, ChatRequest } from "../../../../src/provider/index.ts";
import { parseEvents } from "../../../support/sse.ts";
import { completionOf, FakeStream } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

type Json = Record<string, unknown>;

/** A gateway whose provider calls the tool `look` in each answer, always by the same id. */
function gateway(id: string) {
  const asked: ChatRequest[] = [];
  const { post } = httpOf([
    createPlugin({
      async chat({ request }) {
        asked.push(request);
        const call = { id, type: "function" as const, function: { name: "look", arguments: `{"n":${asked.length}}` } };
        if (request.stream !== true) {
          const message = { role: "assistant" as const, content: null, tool_calls: [call] };
          return {
            ...completionOf(null),
            choices: [{ index: 0, message, finish_reason: "tool_calls" }],
          } as ChatCompletion;
        }
        return new FakeStream<ChatChunk>(
          { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] },
          { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
        );
      },
    }),
  ]);
  return { post, asked };
}

/** A client of each protocol: what it sends after some calls with their results, and the id of the call it is answered with. */
const clients: Record<
  string,
  { path: string; body(calls: readonly string[]): Json; read(answer: Json, events: Json[]): unknown }
> = {
  chat: {
    path: "chat/completions",
    body: (calls) => ({
      tools: [{ type: "function", function: { name: "look" } }],
      messages: [
        { role: "user", content: "Hi" },
        ...calls.flatMap((id, place) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id, type: "function", function: { name: "look", arguments: `{"n":${place + 1}}` } }],
          },
          { role: "tool", tool_call_id: id, content: `seen ${place + 1}` },
        ]),
      ],
    }),
    read: ({ choices }, events) => {
      const chunks = events.flatMap((event) => event.choices as { delta: { tool_calls?: { id?: string }[] } }[]);
      const pieces = chunks.flatMap(({ delta }) => delta.tool_calls ?? []);
      const whole = (choices as { message: { tool_calls: { id: string }[] } }[] | undefined)?.[0]?.message.tool_calls;
      return (whole ?? pieces)[0]?.id;
    },
  },
  messages: {
    path: "messages",
    body: (calls) => ({
      max_tokens: 50,
      tools: [{ name: "look", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "Hi" },
        ...calls.flatMap((id, place) => [
          { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: { n: place + 1 } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `seen ${place + 1}` }] },
        ]),
      ],
    }),
    read: ({ content }, events) => {
      const begun = events.flatMap(({ content_block: block }) => (block === undefined ? [] : [block]));
      return ((content ?? begun) as { id: string }[])[0]?.id;
    },
  },
  responses: {
    path: "responses",
    body: (calls) => ({
      tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
      input: [
        { role: "user", content: "Hi" },
        ...calls.flatMap((id, place) => [
          { type: "function_call", call_id: id, name: "look", arguments: `{"n":${place + 1}}` },
          { type: "function_call_output", call_id: id, output: `seen ${place + 1}` },
        ]),
      ],
    }),
    read: ({ output }, events) => {
      const items = events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [item] : []));
      return ((output ?? items) as { call_id: string }[])[0]?.call_id;
    },
  },
};

const ids = ["call_0", "", "look", "functions.look:0", "call_Qm4vT9xZ"];
const cases = Object.keys(clients).flatMap((client) =>
  ids.flatMap((id) => [false, true].map((stream) => [client, id, stream] as const)),
);

test.each(cases)(
  "a %s client gets another id in each turn where the provider has %j in all (stream: %p)",
  async (client, id, stream) => {
    const { path, body, read } = clients[client] as (typeof clients)[string];
    const { post, asked } = gateway(id);
    const calls: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const response = await post(path, { model: "chat-1", ...body(calls), ...(stream && { stream }) });
      expect(response.status).toBe(200);
      const text = await response.text();
      calls.push(String(stream ? read({}, parseEvents(text).events as Json[]) : read(JSON.parse(text), [])));
    }
    expect(calls).not.toContain("undefined");
    expect(new Set(calls).size).toBe(3);
    const sent = asked.at(-1)?.messages ?? [];
    const results = new Map(sent.flatMap(({ tool_call_id: of, content }) => (of ? [[of, content] as const] : [])));
    const pairs = sent.flatMap(({ tool_calls: made }) =>
      (made ?? []).map((one) => [one.function.arguments, results.get(one.id)]),
    );
    expect(pairs).toEqual([
      ['{"n":1}', "seen 1"],
      ['{"n":2}', "seen 2"],
    ]);
  },
);
