import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Dialect, dialects, envOf } from "../../support/dialect-answers.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { enter, type Node, open, start } from "./fixture.ts";

let upstream: ReplayUpstream;
let node: Node;
let key: string;

beforeAll(async () => {
  upstream = await startReplayUpstream();
});
afterAll(() => upstream.stop());
beforeEach(async () => {
  const store = await (await open("sqlite"))();
  node = await start(store, envOf(upstream.baseUrlOf));
  key = (await enter(store)).key;
});

const schema = { type: "object", properties: { city: { type: "string" } } };
/** The three protocols of clients, each with its path, its form of a tool and where its answer has the call. */
const clients = {
  chat: {
    path: "chat/completions",
    body: {
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: 50,
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
    },
    whole: ({ choices }: { choices: { message: { tool_calls: { function: { arguments: unknown } }[] } }[] }) =>
      choices[0]?.message.tool_calls[0]?.function.arguments,
    piece: /"arguments":"((?:[^"\\]|\\.)*)"/g,
  },
  messages: {
    path: "messages",
    body: {
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: 50,
      tools: [{ name: "f", input_schema: schema }],
    },
    whole: ({ content }: { content: { type: string; input?: unknown }[] }) =>
      JSON.stringify(content.find(({ type }) => type === "tool_use")?.input),
    piece: /"partial_json":"((?:[^"\\]|\\.)*)"/g,
  },
  responses: {
    path: "responses",
    body: { input: "Hi", tools: [{ type: "function", name: "f", parameters: schema }] },
    whole: ({ output }: { output: { type: string; arguments?: unknown }[] }) =>
      output.find(({ type }) => type === "function_call")?.arguments,
    piece: /"type":"response\.function_call_arguments\.delta"[^\n]*"delta":"((?:[^"\\]|\\.)*)"/g,
  },
};
type Client = keyof typeof clients;

async function ask(model: string, client: Client, stream: boolean): Promise<string> {
  const { path, body } = clients[client];
  const response = await fetch(`${node.origin}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, ...body, stream }),
  });
  return `${response.status} ${await response.text()}`;
}

/** The text of the arguments that a client gets, whole and streamed. */
async function argumentsOf(name: string, { model, whole, stream }: Dialect, client: Client, called: object) {
  const provider = name.split("-")[0] as string;
  const end = { text: "", word: undefined, called };
  upstream.answer(provider, whole(end));
  const answer = await ask(model, client, false);
  const { whole: read, piece } = clients[client];
  const body = JSON.parse(answer.slice(4)) as never;
  upstream.answer(provider, stream({ ...end, word: words[name] }));
  const events = await ask(model, client, true);
  const pieces = [...events.matchAll(piece)].map(([, text]) => JSON.parse(`"${text}"`) as string);
  return [read(body), pieces.join("")];
}

const words: Record<string, string> = {
  openai: "tool_calls",
  "openai-responses": "completed",
  anthropic: "tool_use",
  gemini: "STOP",
  bedrock: "tool_use",
};

/** The forms in which providers send the arguments of a call, and the value that a client must read. */
const forms: [form: string, called: object, value: object][] = [
  ["text", { arguments: '{"city":"Paris"}' }, { city: "Paris" }],
  ["an object", { arguments: { city: "Paris" } }, { city: "Paris" }],
  ["null", { arguments: null }, {}],
  ["absent", {}, {}],
];

const isNative = (name: string, client: Client) =>
  (name === "anthropic" && client === "messages") || (name.startsWith("openai") && client === "responses");

test.each(Object.entries(dialects))(
  "arguments of a call come as their text, whatever form they have in the dialect of %s",
  async (name, dialect) => {
    const bad: unknown[] = [];
    for (const client of Object.keys(clients) as Client[]) {
      // Served natively, an answer is the provider's own.
      if (isNative(name, client)) continue;
      for (const [form, called, value] of forms) {
        const texts = await argumentsOf(name, dialect, client, called);
        const isRight = texts.every(
          (text) => typeof text === "string" && Bun.deepEquals(JSON.parse(text || "{}"), value),
        );
        if (!isRight) bad.push({ client, form, texts });
      }
    }
    expect(bad).toEqual([]);
  },
);
