import { expect, test } from "bun:test";
import { withoutBeginning } from "../../../../src/protocols/openai/begun-answer.ts";
import type { ChatChunk, ChatCompletion, ChatStream } from "../../../../src/provider/index.ts";
import { randomBelow } from "../../../support/random.ts";

const completion = (content: string | null): ChatCompletion =>
  ({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }) as ChatCompletion;

/** A stream whose events are its chunks. */
const streamOf = (chunks: readonly object[]): ChatStream<ChatChunk> => ({
  events: (async function* () {
    for (const chunk of chunks) yield chunk as ChatChunk;
  })(),
  isComplete: false,
  push: (chunk) => [chunk],
  end: () => [],
});

/** The text of each choice, as a client puts the pieces together. */
async function textsOf(chunks: readonly object[], beginning: string): Promise<string[]> {
  const texts: string[] = [];
  const stream = withoutBeginning(streamOf(structuredClone(chunks) as object[]), beginning) as ChatStream<ChatChunk>;
  for await (const event of stream.events) {
    for (const { choices } of stream.push(event)) {
      for (const { index, delta } of choices) texts[index] = (texts[index] ?? "") + (delta?.content ?? "");
    }
  }
  return texts;
}

test.each([
  ['{"a":1}', '"a":1}'],
  ["{", ""],
  ["Sure", "Sure"],
  [" {", " {"],
  [null, null],
])("a whole answer %j to what begins with { is %j", (content, rest) => {
  const [choice] = (withoutBeginning(completion(content), "{") as ChatCompletion).choices;
  expect(choice?.message.content as string | null).toBe(rest);
});

test("a stream in any pieces of several choices says what the whole answers say", async () => {
  const random = randomBelow(20261201);
  for (let round = 0; round < 2000; round++) {
    const word = () => ["a", "ab", "", "abc", "é"][random(5)] as string;
    const beginning = `a${word()}${word()}`;
    const wholes = Array.from({ length: 1 + random(2) }, () => (random(3) === 0 ? "" : beginning) + word() + word());
    const pieces = wholes.flatMap((whole, index) => {
      const chunks: object[] = [{ choices: [{ index, delta: { role: "assistant", content: "" } }] }];
      for (let at = 0; at < whole.length; ) {
        const size = 1 + random(3);
        chunks.push({ choices: [{ index, delta: { content: whole.slice(at, at + size) } }] });
        at += size;
      }
      return [...chunks, { choices: [{ index, delta: {}, finish_reason: "stop" }] }];
    });
    const expected = wholes.map((whole) => (whole.startsWith(beginning) ? whole.slice(beginning.length) : whole));
    expect([beginning, wholes, await textsOf(pieces, beginning)]).toEqual([beginning, wholes, expected]);
  }
});

test("a call of a tool gives out the text that was held back before it", async () => {
  const calls = [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  const chunks = [
    { choices: [{ index: 0, delta: { content: "a" } }] },
    { choices: [{ index: 0, delta: { tool_calls: calls } }] },
  ];
  expect(await textsOf(chunks, "abc")).toEqual(["a"]);
});
