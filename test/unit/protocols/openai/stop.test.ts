import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatCompletion, ChatRequest, ChatStream } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { drain, eventsOf, fakeCall, plainModel } from "../../sdk/fake-call.ts";

const row = { ...plainModel, omit: ["stop"] };
const { chat } = openai({ chat: {} });
type Stop = NonNullable<ChatRequest["stop"]> | null;
const request = (stop: Stop, stream = false): ChatRequest => {
  return { model: "acme-1", messages: [{ role: "user", content: "Hi" }], stream, stop };
};
const usage = { prompt_tokens: 1, completion_tokens: 9 };

async function whole(content: string, stop: Stop, model = row) {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "length" }];
  const { call, asked, notes } = fakeCall(request(stop), { json: { choices, usage } }, model);
  const answer = (await chat?.(call)) as ChatCompletion | undefined;
  const [choice] = answer?.choices ?? [];
  return { text: choice?.message.content, finish: choice?.finish_reason, sent: asked[0]?.body.stop, notes };
}

async function streamed(pieces: string[], stop: Stop) {
  const said = pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
  const chunks = [...said, { choices: [{ index: 0, delta: {}, finish_reason: "length" }] }, { choices: [], usage }];
  const events = eventsOf(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
  const { call } = fakeCall(request(stop, true), { events }, row);
  const { items } = await drain((await chat?.(call)) as ChatStream);
  const choices = items.flatMap((item) => item.choices);
  return {
    texts: choices.map(({ delta }) => delta.content ?? ""),
    finish: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    usage: items.at(-1)?.usage,
  };
}

describe("stop, for a model that does not take it", () => {
  test.each<[string, Stop, string, string]>([
    ["one two three", "two", "one ", "stop"],
    ["one two three", ["three", "two"], "one ", "stop"],
    ["one two three", "four", "one two three", "length"],
    ["one two three", ["ne two", "e"], "on", "stop"],
    ["one two three", ["", "one"], "", "stop"],
    ["one two three", "x".repeat(1001), "one two three", "length"],
    ["one two three", null, "one two three", "length"],
  ])("ends %p before %p", async (content, stop, text, finish) => {
    expect(await whole(content, stop)).toMatchObject({ text, finish: finish as "stop", sent: undefined });
    expect(await streamed([...content], stop)).toMatchObject({ finish: [finish as "stop"], usage });
    expect((await streamed([...content], stop)).texts.join("")).toBe(text);
  });

  test("is not a loss that is told of, unless it is too long", async () => {
    expect((await whole("one", "two")).notes).toEqual([]);
    expect((await whole("one", "x".repeat(1001))).notes).toEqual(["Left out stop: the provider does not take it"]);
  });

  test("is sent to a model that takes it", async () => {
    expect(await whole("one two", "two", { ...plainModel, omit: ["seed"] })).toMatchObject({
      text: "one two",
      sent: "two",
    });
  });

  test("holds back only what can begin a stop sequence", async () => {
    expect((await streamed(["abc", "d"], "xyz")).texts).toEqual(["abc", "d", ""]);
    expect((await streamed(["abx", "xy", "d"], "xyz")).texts).toEqual(["ab", "x", "xyd", ""]);
  });

  test("ends a stream where it ends a whole answer, however it is cut", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "😀"), maxLength: 12 });
    const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 }), {
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 6 }), stops, async (pieces, stop) => {
        const { texts, finish } = await streamed(pieces, stop);
        const expected = await whole(pieces.join(""), stop);
        expect([texts.join(""), finish.at(-1)]).toEqual([expected.text ?? "", expected.finish ?? undefined]);
      }),
      { numRuns: 300 },
    );
  });
});
