import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Dialect, dialects, envOf } from "../../support/dialect-answers.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply } from "../../support/reply.ts";
import { until } from "../../support/until.ts";
import { enter, type Node, open, start } from "./fixture.ts";

let upstream: ReplayUpstream;
let node: Node;
let key: string;

beforeAll(async () => {
  upstream = await startReplayUpstream();
});
afterAll(() => upstream.stop());

// Each test has a gateway of its own: many failures of one provider open its circuit.
beforeEach(async () => {
  const store = await (await open("sqlite"))();
  node = await start(store, {
    ...envOf(upstream.baseUrlOf),
    OPENROUTER_API_KEY: "k",
    OPENROUTER_BASE_URL: upstream.baseUrlOf("openrouter", "/v1"),
  });
  key = (await enter(store)).key;
});

async function ask(model: string, more: object = {}, path = "chat/completions") {
  const response = await fetch(`${node.origin}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], max_tokens: 50, ...more }),
  });
  return { status: response.status, text: await response.text() };
}

/** What a client of chat is told of the end: a finish reason, `error`, or that nothing ended. */
function endOf({ status, text }: { status: number; text: string }): string {
  if (status !== 200) return `error ${status}`;
  if (!text.startsWith("data:"))
    return (JSON.parse(text) as { choices: { finish_reason: string }[] }).choices[0]?.finish_reason ?? "none";
  const events = text
    .split("\n\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice(6));
  const isDone = events.includes("[DONE]");
  if (events.some((data) => data.startsWith('{"error"'))) return isDone ? "error and [DONE]" : "error";
  const reasons = events.flatMap((data) => /"finish_reason":"(\w+)"/.exec(data)?.[1] ?? []);
  return isDone ? reasons.join(" ") : "none";
}

const named = Object.entries(dialects).map(([name, dialect]) => [name, dialect] as const);
const providerOf = (name: string) => name.split("-")[0] as string;

async function endsOf(name: string, dialect: Dialect, text: string, word: string) {
  upstream.answer(providerOf(name), dialect.whole({ text, word }));
  const whole = endOf(await ask(dialect.model));
  upstream.answer(providerOf(name), dialect.stream({ text, word }));
  return [whole, endOf(await ask(dialect.model, { stream: true }))];
}

test.each(named)(
  "a word that nobody knows is no success in the dialect of %s: after text the answer was cut",
  async (name, dialect) => {
    for (const word of ["A_WORD_OF_TOMORROW", "malformed_tool_use", "network_error"]) {
      expect([word, ...(await endsOf(name, dialect, "Half of an ans", word))]).toEqual([word, "length", "length"]);
    }
    await until(() => node.lines.join("").includes("finish_reason_unknown"), 20_000);
  },
);

test.each(named)(
  "a word that nobody knows is a failure in the dialect of %s where there is no answer",
  async (name, dialect) => {
    const ends = await endsOf(name, dialect, "", "A_WORD_OF_TOMORROW");
    // The head of Google's stream, and of Bedrock's, is sent before its end comes.
    expect([ends[0], ends[1]?.replace(/ 500$/, "")]).toEqual(["error 500", "error"]);
  },
);

test.each(named)(
  "an end by error is a failure in the dialect of %s, whatever was written before",
  async (name, dialect) => {
    expect(await endsOf(name, dialect, "Half of an ans", "error")).toEqual(["error 500", "error"]);
  },
);

test.each(named)(
  "an end by error is told as one to clients of messages and responses in the dialect of %s",
  async (name, dialect) => {
    for (const [path, more, last] of [
      ["messages", {}, "message_stop"],
      ["responses", { messages: undefined, max_tokens: undefined, input: "Hi" }, "response.completed"],
    ] as const) {
      // Served natively, the end is the provider's own.
      if (path === "messages" && name === "anthropic") continue;
      if (path === "responses" && name.startsWith("openai")) continue;
      upstream.answer(providerOf(name), dialect.whole({ text: "Half of an ans", word: "error" }));
      expect([path, (await ask(dialect.model, more, path)).status >= 500]).toEqual([path, true]);
      upstream.answer(providerOf(name), dialect.stream({ text: "Half of an ans", word: "error" }));
      const { text } = await ask(dialect.model, { ...more, stream: true }, path);
      expect([path, text.includes(last), /"type":"(error|response.failed)"/.test(text)]).toEqual([path, false, true]);
    }
  },
);

/** A router that loses its provider within an answer. https://openrouter.ai/docs/api-reference/errors */
const lost = { code: 502, message: "Upstream lost" };
const chunk = (delta: object, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const failed = { finish_reason: "error", native_finish_reason: "error", error: lost };
const router = "openrouter/amazon/nova-lite-v1";

test("the error of a choice ends a stream as an error, with its message", async () => {
  upstream.answer(
    "openrouter",
    eventsReply(chunk({ role: "assistant", content: "Half of an ans" }), chunk({ content: "" }, failed), "[DONE]"),
  );
  const answer = await ask(router, { stream: true });
  expect(endOf(answer)).toBe("error");
  expect(answer.text).toContain("Upstream lost");
  expect(answer.text).not.toContain('"stop"');
});

test("the error of a choice of a whole answer is one of the provider, and nothing is paid for it where it reports no use", async () => {
  const message = { role: "assistant", content: "" };
  const whole = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, ...failed }],
  };
  upstream.answer("openrouter", jsonReply(whole));
  const answer = await ask(router);
  expect([endOf(answer), answer.text.includes("Upstream lost")]).toEqual(["error 500", true]);
  const record = () => node.lines.find((line) => line.includes('"event":"call"'));
  await until(() => record() !== undefined, 20_000);
  expect(JSON.parse(record() ?? "")).toMatchObject({ state: "released", cost_nanodollars: 0 });
});

test("a choice that failed before its first word is asked for again, for the provider served nothing", async () => {
  const good = eventsReply(
    chunk({ role: "assistant", content: "Hello" }),
    chunk({}, { finish_reason: "stop" }),
    "[DONE]",
  );
  upstream.answer("openrouter", eventsReply(chunk({ role: "assistant", content: "" }, failed)), good);
  const answer = await ask(router, { stream: true });
  expect([endOf(answer), answer.text.includes("Hello")]).toEqual(["stop", true]);
});
