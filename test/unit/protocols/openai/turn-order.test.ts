import { describe, expect, test } from "bun:test";
import { toTurnOrder, turnOrderOf } from "../../../../src/protocols/openai/turn-order.ts";
import type { Message } from "../../../../src/provider/index.ts";
import { randomBelow } from "../../../support/random.ts";

const user = (content: NonNullable<Message["content"]>): Message => ({ role: "user", content });
const said = (content: string | null): Message => ({ role: "assistant", content });
const system = (content: string): Message => ({ role: "system", content });
const call = { id: "abcdefghi", type: "function" as const, function: { name: "look", arguments: "{}" } };
const called: Message = { role: "assistant", content: null, tool_calls: [call] };
const result: Message = { role: "tool", tool_call_id: call.id, content: "mild" };

test.each([
  ["mistral-large-2512", "any", "strict"],
  ["ministral-3b-2512", "any", "strict"],
  ["mistralai/Devstral-Small-2-24B-Instruct-2512", "any", "strict"],
  ["mistralai/mixtral-8x22b-instruct", "any", "strict"],
  ["google/gemma-3-27b-it", "any", "strict"],
  ["qwen/qwen3.6-27b", "any", "oneSystem"],
  ["gpt-5.1", "any", "any"],
  ["claude-sonnet-4-6", "any", "any"],
  ["deepseek-v4", "system", "oneSystem"],
  ["my-model", "system", "oneSystem"],
] as const)(
  "the turns of %s, where the role of its instructions is %s, may be in this order: %s",
  (upstreamId, role, order) => {
    expect(turnOrderOf({ upstreamId }, role === "any" ? {} : { systemRole: role })).toBe(order);
  },
);

describe("a model that takes one system message", () => {
  test("gets those at the beginning as one, and later ones as the user's words in their place", () => {
    const turns = [system("s"), system("t"), user("a"), called, result, system("Be brief"), said("b"), said("")];
    expect(toTurnOrder(turns, "oneSystem")).toEqual([
      system("s\n\nt"),
      user("a"),
      called,
      result,
      user("Be brief"),
      said("b"),
      said(""),
    ]);
  });

  test("gets instructions in parts as parts, with what marks them", () => {
    const marked = { type: "text" as const, text: "s", cache_control: { type: "ephemeral" } };
    const turns: Message[] = [{ role: "system", content: [marked] }, system("t"), user("a")];
    expect(toTurnOrder(turns, "oneSystem")).toEqual([
      { role: "system", content: [marked, { type: "text", text: "t" }] },
      user("a"),
    ]);
  });

  test("gets any other conversation as it is", () => {
    const turns = [system("s"), said("Hello"), user("a"), user("b"), called, result, user("c")];
    expect(toTurnOrder(turns, "oneSystem")).toBe(turns);
    const mixed = [user("a"), system("s")];
    expect(toTurnOrder(mixed, "any")).toBe(mixed);
  });
});

describe("a model whose turns alternate", () => {
  test("gets an answer between the results of tools and what the user says next", () => {
    expect(toTurnOrder([user("a"), called, result, user("and?")], "strict", true)).toEqual([
      user("a"),
      called,
      result,
      said("Understood."),
      user("and?"),
    ]);
  });

  test("gets later system messages as the user's words, in their place", () => {
    const turns = [system("s"), system("t"), user("a"), said("b"), system("Be brief"), user("c")];
    expect(toTurnOrder(turns, "strict", true)).toEqual([system("s\n\nt"), user("a"), said("b"), user("Be brief\n\nc")]);
  });

  test("gets the words of a user in one message, with pictures in their places", () => {
    const picture = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    expect(toTurnOrder([user("a"), user([picture]), user("b"), user("")], "strict", true)).toEqual([
      user([{ type: "text", text: "a" }, picture, { type: "text", text: "b" }]),
    ]);
  });

  test("gets answers that follow one another as one, with the calls and the reasoning of both", () => {
    const [where, there] = [
      { type: "reasoning.text", text: "Where?" },
      { type: "reasoning.text", text: "There." },
    ];
    const thinking = {
      ...said("I look."),
      reasoning_content: "Where?",
      reasoning: "Where?",
      reasoning_details: [where],
    };
    const calling = { ...called, reasoning_content: "There.", reasoning: "There.", reasoning_details: [there] };
    expect(toTurnOrder([user("a"), thinking, said("Now."), calling, result, said("b")], "strict", true)).toEqual([
      user("a"),
      {
        ...called,
        content: "I look.\n\nNow.",
        reasoning_content: "Where?\n\nThere.",
        reasoning: "Where?\n\nThere.",
        reasoning_details: [where, there],
      } as Message,
      result,
      { ...said("b"), prefix: true } as Message,
    ]);
  });

  test("gets no empty answers, and the user first", () => {
    expect(toTurnOrder([said("Hello"), user("a"), said(""), said(null)], "strict", true)).toEqual([
      user("Begin."),
      said("Hello"),
      user("a"),
    ]);
  });

  test("goes on with a last answer where its provider takes a mark for it", () => {
    const turns = [user("a"), said("Once ")];
    expect(toTurnOrder(turns, "strict", true) as unknown).toEqual([user("a"), { ...said("Once "), prefix: true }]);
    expect(toTurnOrder(turns, "strict", false)).toBe(turns);
  });

  test("gets a conversation in its order as it is", () => {
    const turns = [system("s"), user("a"), called, result, said("b"), user("c")];
    expect(toTurnOrder(turns, "strict", true)).toBe(turns);
  });

  test("takes each generated conversation, and nothing that was said is lost", () => {
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
      const sent = toTurnOrder(messages, "strict", true);
      expect([seed, orderFaultOf(sent)]).toEqual([seed, undefined]);
      const whole = JSON.stringify(sent);
      for (const said of texts) expect([seed, whole.includes(said)]).toEqual([seed, true]);
    }
  });
});

/** What Mistral's own validator or the template of Gemma refuses. */
function orderFaultOf(messages: readonly Message[]): string | undefined {
  const follows: Record<string, readonly string[]> = {
    system: ["user"],
    developer: ["user"],
    user: ["assistant"],
    assistant: ["user", "tool"],
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
