import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Message, UpstreamError } from "modelgate/plugin";
import { LruMap } from "../../../../src/lib/lru-map.ts";
import { fromCandidates, GenerateContentStream } from "../../../../src/protocols/generate-content/answers.ts";
import { toContents } from "../../../../src/protocols/generate-content/outbound.ts";
import type { GenerateAnswer, GeneratePart } from "../../../../src/protocols/generate-content/schema.ts";
import { drain } from "../../sdk/fake-call.ts";
import { assemble, counting, modelAt } from "./support.ts";

const text = fc.string({ maxLength: 5 });
const said = (role: Message["role"]) => text.map((content): Message[] => [{ role, content }]);
/** An assistant's calls and their results, these in any order. */
const toolTurn = fc
  .tuple(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }), fc.nat(), fc.json())
  .map(([ids, turn, result]): Message[] => {
    const calls = ids.map((id) => ({ id, type: "function" as const, function: { name: `f_${id}`, arguments: "{}" } }));
    const results = ids.map((id): Message => ({ role: "tool", tool_call_id: id, content: result }));
    const at = turn % ids.length;
    return [{ role: "assistant", content: null, tool_calls: calls }, ...results.slice(at), ...results.slice(0, at)];
  });
const conversation = fc
  .array(fc.oneof(said("system"), said("user"), said("assistant"), toolTurn), { maxLength: 8 })
  .map((turns): Message[] => [...turns.flat(), { role: "user", content: "End" }]);

test("any conversation becomes turns that alternate, none empty, each call with its response", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const surroundings = { model: modelAt("gemini-3-flash-preview"), signatures: new LruMap<string>(10) };
      const { contents } = toContents(
        { model: "m", messages },
        { ...surroundings, fetched: new Map(), warn: () => {} },
      );
      for (const [index, { role, parts }] of contents.entries()) {
        expect(parts.length).toBeGreaterThan(0);
        expect(role).not.toBe(contents[index - 1]?.role as never);
        const names = parts.flatMap(({ functionCall }) => functionCall?.name ?? []);
        const answered =
          contents[index + 1]?.parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []) ?? [];
        expect(answered).toEqual(names);
      }
      const systemMessages = messages.findIndex(({ role }) => role !== "system");
      const texts = messages
        .filter(({ role }, at) => role === "user" || (role === "system" && at >= systemMessages))
        .map(({ content }) => content);
      const sent = contents
        .filter(({ role }) => role === "user")
        .flatMap(({ parts }) => parts.map((part) => part.text ?? ""));
      expect(sent.join("")).toBe(texts.join(""));
    }),
    { numRuns: 200 },
  );
});

const part: fc.Arbitrary<GeneratePart> = fc.oneof(
  fc.record({ text }),
  fc.record({ text, thought: fc.constant(true) }),
  fc
    .dictionary(text, fc.jsonValue())
    .map((args) => ({ functionCall: { name: "f", args: args as Record<string, unknown> } })),
);

test("a stream amounts to the whole answer, wherever its events are divided", async () => {
  const reasons = fc.constantFrom("STOP", "MAX_TOKENS", "SAFETY");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(part, { maxLength: 3 }), { minLength: 1 }),
      reasons,
      async (events, finishReason) => {
        const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 7 };
        const answers = events.map((parts): GenerateAnswer => ({ candidates: [{ content: { parts } }] }));
        answers.push({ candidates: [{ finishReason }], usageMetadata });
        const { items, error } = await drain(new GenerateContentStream(eventsOf(answers), counting()));
        expect(error).toBeUndefined();
        const whole = { candidates: [{ content: { parts: events.flat() }, finishReason }], usageMetadata };
        const completion = fromCandidates(whole, counting());
        const { message, index, finish_reason: finish } = completion.choices[0] as (typeof completion.choices)[number];
        const streamed = assemble(items);
        expect(streamed.choices).toEqual([
          {
            index,
            message: { ...message, content: message.content === "" ? null : message.content },
            finish_reason: finish,
          },
        ]);
        expect(streamed.usage).toEqual(completion.usage as never);
        for (const call of message.tool_calls ?? []) JSON.parse(call.function.arguments);
      },
    ),
    { numRuns: 200 },
  );
});

test("any JSON at all is an answer or a fault", async () => {
  const names = [
    "candidates",
    "content",
    "parts",
    "text",
    "functionCall",
    "finishReason",
    "usageMetadata",
    "promptFeedback",
  ];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(null, "STOP", 1, true),
      fc.array(tie("tree"), { maxLength: 2 }),
      tie("map"),
    ),
    map: fc.dictionary(fc.constantFrom(...names), tie("tree"), { maxKeys: 3 }),
  }));
  await fc.assert(
    fc.asyncProperty(tree, async (answer) => {
      try {
        fromCandidates(answer as GenerateAnswer, counting());
      } catch (error) {
        expect(error).toBeInstanceOf(UpstreamError);
      }
      const { error } = await drain(new GenerateContentStream(eventsOf([answer]), counting()));
      if (error !== undefined) expect(error).toBeInstanceOf(UpstreamError);
    }),
    { numRuns: 1000 },
  );
});

async function* eventsOf(answers: unknown[]) {
  for (const answer of answers) yield { event: "message", data: JSON.stringify(answer) };
}
