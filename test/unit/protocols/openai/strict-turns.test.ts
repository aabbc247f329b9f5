import { describe, expect, test } from "bun:test";
import { takesStrictTurns, toStrictTurns } from "../../../../src/protocols/openai/strict-turns.ts";
import type { Message } from "../../../../src/provider/index.ts";
import { randomBelow } from "../../../support/random.ts";

const user = (content: NonNullable<Message["content"]>): Message => ({ role: "user", content });
const said = (content: string | null): Message => ({ role: "assistant", content });
const system = (content: string): Message => ({ role: "system", content });
const call = { id: "abcdefghi", type: "function" as const, function: { name: "look", arguments: "{}" } };
const called: Message = { role: "assistant", content: null, tool_calls: [call] };
const result: Message = { role: "tool", tool_call_id: call.id, content: "mild" };

test.each([
  ["mistral-large-2512", true],
  ["ministral-3b-2512", true],
  ["mistralai/Devstral-Small-2-24B-Instruct-2512", true],
  ["mistralai/mixtral-8x22b-instruct", true],
  ["codestral-latest", true],
  ["gpt-5.1", false],
  ["qwen3-coder", false],
  ["deepseek-v4", false],
])("%s takes the turns of a conversation in one order only: %p", (name, isStrict) => {
  expect(takesStrictTurns(name)).toBe(isStrict);
});

describe("Mistral's models", () => {
  test("get an answer between the results of tools and what the user says next", () => {
    expect(toStrictTurns([user("a"), called, result, user("and?")], true)).toEqual([
      user("a"),
      called,
      result,
      said("Understood."),
      user("and?"),
    ]);
  });

  test("get later system messages as the user's words, in their place", () => {
    const turns = [system("s"), system("t"), user("a"), said("b"), system("Be brief"), user("c")];
    expect(toStrictTurns(turns, true)).toEqual([system("s"), system("t"), user("a"), said("b"), user("Be brief\n\nc")]);
  });

  test("get the words of a user in one message, with pictures in their places", () => {
    const picture = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    expect(toStrictTurns([user("a"), user([picture]), user("b"), user("")], true)).toEqual([
      user([{ type: "text", text: "a" }, picture, { type: "text", text: "b" }]),
    ]);
  });

  test("get no empty answers, and the user first", () => {
    expect(toStrictTurns([said("Hello"), user("a"), said(""), said(null)], true)).toEqual([
      user("Begin."),
      said("Hello"),
      user("a"),
    ]);
  });

  test("go on with a last answer where their provider takes a mark for it", () => {
    const turns = [user("a"), said("Once ")];
    expect(toStrictTurns(turns, true) as unknown).toEqual([user("a"), { ...said("Once "), prefix: true }]);
    expect(toStrictTurns(turns, false)).toBe(turns);
  });

  test("get a conversation in their order as it is", () => {
    const turns = [system("s"), user("a"), called, result, said("b"), user("c")];
    expect(toStrictTurns(turns, true)).toBe(turns);
  });

  test("take each generated conversation, and nothing that was said is lost", () => {
    for (let seed = 0; seed < 3000; seed++) {
      const below = randomBelow(seed);
      const messages: Message[] = [];
      const texts: string[] = [];
      const text = () => {
        if (below(5) === 0) return "";
        texts.push(`t${texts.length}.`);
        return texts.at(-1) as string;
      };
      for (let turn = 0, turns = 1 + below(8); turn < turns; turn++) {
        const kind = below(5);
        if (kind === 0) messages.push(system(text()));
        else if (kind === 1) messages.push(user(below(2) === 0 ? text() : [{ type: "text", text: text() }]));
        else if (kind === 2) messages.push(said(text()));
        else if (kind === 3) messages.push({ role: "developer", content: text() });
        else messages.push(called, result);
      }
      messages.push(user(text()));
      const sent = toStrictTurns(messages, true);
      expect([seed, orderFaultOf(sent)]).toEqual([seed, undefined]);
      const whole = JSON.stringify(sent);
      for (const said of texts) expect([seed, whole.includes(said)]).toEqual([seed, true]);
    }
  });
});

/** What Mistral's own validator refuses. */
function orderFaultOf(messages: readonly Message[]): string | undefined {
  const follows: Record<string, readonly string[]> = {
    system: ["system", "developer", "user"],
    developer: ["system", "developer", "user"],
    user: ["assistant"],
    assistant: ["user", "tool", "assistant"],
    tool: ["tool", "assistant"],
  };
  for (const [index, { role, content, tool_calls: calls }] of messages.entries()) {
    const before = messages[index - 1]?.role;
    if (before === undefined ? role === "assistant" || role === "tool" : !follows[before]?.includes(role))
      return `${role} after ${before}`;
    if (role === "assistant" && !content?.length && !calls?.length) return "an empty answer";
  }
  return ["user", "tool"].includes(messages.at(-1)?.role ?? "") ? undefined : "ends with an answer";
}
