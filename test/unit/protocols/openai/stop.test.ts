import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import openaiPlugin from "../../../../plugins/openai/index.ts";
import type { ChatCompletion, ChatRequest, ChatStream, Model } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { drain, eventsOf, fakeCall, plainModel } from "../../sdk/fake-call.ts";

const row: Model = { ...plainModel, omit: ["stop"] };
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

async function streamed(pieces: string[], stop: Stop, model = row) {
  const said = pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
  const chunks = [...said, { choices: [{ index: 0, delta: {}, finish_reason: "length" }] }, { choices: [], usage }];
  const events = eventsOf(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
  const { call, asked } = fakeCall(request(stop, true), { events }, model);
  const { items } = await drain((await chat?.(call)) as ChatStream);
  const choices = items.flatMap((item) => item.choices);
  return {
    texts: choices.map(({ delta }) => delta.content ?? ""),
    finish: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    usage: items.at(-1)?.usage,
    sent: asked[0]?.body.stop,
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
    expect((await whole("one", "x".repeat(1001))).notes).toEqual([
      "Left out of stop what has more than 1000 characters: the provider does not take it",
    ]);
  });

  test("is sent to a model that takes it", async () => {
    expect(await whole("one two", "two", { ...plainModel, omit: ["seed"] })).toMatchObject({
      text: "one two",
      sent: "two",
    });
  });

  test("is sent as far as the model takes it, and the rest applied here, what is too long for that first", async () => {
    const few = { ...plainModel, options: { stopsMax: 2 } };
    const long = "x".repeat(1001);
    for (const [stop, sent, text] of [
      [["a", "b"], ["a", "b"], "one two"],
      [["a", "a", "b"], ["a", "b"], "one two"],
      [["a", "b", "two"], ["a", "b"], "one "],
      [["a", "two", long], [long, "a"], "one "],
    ] as const) {
      expect(await whole("one two", [...stop], few)).toMatchObject({ text, notes: [] });
      const { texts, ...stream } = await streamed(["one t", "wo"], [...stop], few);
      expect([texts.join(""), stream.usage]).toEqual([text, usage]);
      expect((await whole("one two", [...stop], few)).sent).toEqual([...sent]);
      expect(stream.sent).toEqual([...sent]);
    }
    const lost = await whole("one two", [long, `${long}y`, `${long}z`], few);
    expect(lost.notes).toEqual(["Left out of stop what has more than 1000 characters: the provider does not take it"]);
    expect(lost.sent).toEqual([long, `${long}y`]);
  });

  test("is sent to OpenAI in four", async () => {
    const { call, asked } = fakeCall(request(["a", "b", "c", "d", "e"]), {
      json: { choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }], usage },
    });
    expect(await openaiPlugin.handlers.chat?.(call)).toMatchObject({ choices: [{ message: { content: "y" } }] });
    expect(asked[0]?.body.stop).toEqual(["a", "b", "c", "d"]);
  });

  test("leaves a stream waiting for a report that comes behind its end", async () => {
    const waits = async (stop: Stop) => {
      const said = { choices: [{ index: 0, delta: { content: "yes" }, finish_reason: "stop" }] };
      const { call } = fakeCall(request(stop, true), { events: eventsOf("") }, row);
      const stream = (await chat?.(call)) as ChatStream;
      stream.push({ data: JSON.stringify(said) } as never);
      return stream.awaitsReport === true;
    };
    expect([await waits(null), await waits("x")]).toEqual([true, true]);
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
