import { expect, test } from "bun:test";
import { type CallIdTarget, fitCallId } from "../../../src/lib/call-ids.ts";
import { toMessages } from "../../../src/protocols/openai/request.ts";

const takes: Record<CallIdTarget, RegExp> = {
  messages: /^[a-zA-Z0-9_-]{1,64}$/,
  converse: /^[a-zA-Z0-9_.:-]{1,64}$/,
  responses: /^[\s\S]{1,64}$/,
  openai: /^[\s\S]{1,40}$/,
  mistral: /^[a-zA-Z0-9]{9}$/,
};
const ids = [
  "call_1",
  "functions.Bash:0",
  "functions_Bash_0",
  "Bash:0",
  "Bash.0",
  "x".repeat(94),
  `${"x".repeat(93)}y`,
];
ids.push("𝒜bc", "9", "abcdefghi", "toolu_01A09q90qw90lq917835lq9", "mcp:a long server/tool#1");

test("an id has the form of its target, stays the same where it has it, and no two become one", () => {
  const bad: string[] = [];
  for (const target of Object.keys(takes) as CallIdTarget[]) {
    const fitted = ids.map((id) => fitCallId(id, target));
    for (const [at, id] of ids.entries()) {
      const made = fitted[at] as string;
      if (!takes[target].test(made)) bad.push(`${target}: ${id} became ${made}`);
      if (takes[target].test(id) && made !== id) bad.push(`${target}: ${id} was changed to ${made}`);
      if (fitCallId(made, target) !== made) bad.push(`${target}: ${made} is changed again`);
    }
    if (new Set(fitted).size !== ids.length) bad.push(`${target}: two ids became one`);
  }
  expect(bad).toEqual([]);
});

test("calls and results of a conversation get the same id, for the servers of OpenAI's dialect that want a form", () => {
  const id = "functions.read_the_file_of_the_user_and_more:12";
  const call = { id, type: "function" as const, function: { name: "f", arguments: "{}" } };
  const messages = [
    { role: "assistant" as const, content: null, tool_calls: [call] },
    { role: "tool" as const, tool_call_id: id, content: "Yes" },
  ];
  for (const target of ["openai", "mistral"] as const) {
    const [called, result] = toMessages(messages, { callIds: target });
    expect(called?.tool_calls?.[0]?.id).toBe(fitCallId(id, target));
    expect(result?.tool_call_id).toBe(fitCallId(id, target));
  }
  expect(toMessages(messages, {})).toBe(messages);
});
