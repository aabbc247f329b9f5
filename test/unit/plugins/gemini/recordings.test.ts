import { describe, expect, test } from "bun:test";
import { parseJson } from "modelgate/plugin";
import { fromEmbedAnswer, toEmbedOrders } from "../../../../plugins/gemini/embeddings.ts";
import { fromCandidates, GenerateContentStream } from "../../../../src/protocols/generate-content/answers.ts";
import { fromImageAnswer, toImageBody } from "../../../../src/protocols/generate-content/images.ts";
import type { GenerateAnswer, GeneratedPart } from "../../../../src/protocols/generate-content/schema.ts";
import { faultsOf, schemaMissing } from "../../../support/openai-schema.ts";
import { type Recording, recordingsMissing, recordingsOf } from "../../../support/recordings.ts";
import { drain, eventsOf } from "../../sdk/fake-call.ts";
import { assemble, counting, modelAt } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);
if (schemaMissing !== undefined) console.warn(schemaMissing);

const all = recordingsOf("gemini");
const named = (recordings: Recording[]) => recordings.map((recording) => [recording.path, recording] as const);
const chats = all.filter(({ capability }) => !["errors", "images", "embeddings", "count-tokens"].includes(capability));
const json = ({ body }: Recording) => JSON.parse(new TextDecoder().decode(body));
const bodyOf = ({ request }: Recording) => request?.body;
const upstreamIdOf = ({ request }: Recording) => /models\/([^:]+):/.exec(request?.url ?? "")?.[1] ?? "";

describe.if(recordingsMissing === undefined)("over every recorded chat", () => {
  test.each(named(chats.filter(({ path }) => path.endsWith(".json"))))("the answer of %s is read", (_, recording) => {
    const answer: GenerateAnswer = json(recording);
    const completion = fromCandidates(answer, counting());
    assertSameAmount(
      completion,
      (answer.candidates ?? []).flatMap(({ content }) => content?.parts ?? []),
    );
    expectUsage(completion.usage, answer.usageMetadata as never);
    if (schemaMissing !== undefined) return;
    const head = { id: "chatcmpl-1", created: 1, model: "m" };
    const choices = completion.choices.map((choice) => ({ ...choice, message: { refusal: null, ...choice.message } }));
    expect(faultsOf("CreateChatCompletionResponse", { ...completion, ...head, choices })).toEqual([]);
  });

  test.each(named(chats.filter(({ path }) => path.endsWith(".sse"))))(
    "the stream of %s is read",
    async (_, recording) => {
      const answers: GenerateAnswer[] = [];
      for await (const { data } of eventsOf(recording.body)) answers.push(parseJson(data) as GenerateAnswer);
      const { items: chunks, error } = await drain(new GenerateContentStream(eventsOf(recording.body), counting()));
      expect(error).toBeUndefined();
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
      const parts = answers.flatMap(({ candidates = [] }) => candidates.flatMap(({ content }) => content?.parts ?? []));
      const completion = assemble(chunks);
      assertSameAmount(completion, parts);
      expectUsage(completion.usage, answers.at(-1)?.usageMetadata as never);
      const last = answers.at(-1) as GenerateAnswer;
      const [candidate] = last.candidates ?? [];
      expect(completion).toEqual({
        ...fromCandidates({ ...last, candidates: [{ ...candidate, content: { parts } }] }, counting()),
        choices: completion.choices,
      });
      if (schemaMissing !== undefined) return;
      const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
      for (const chunk of chunks) {
        const choices = chunk.choices.map((choice) => ({ finish_reason: null, ...choice }));
        expect(faultsOf("CreateChatCompletionStreamResponse", { ...head, ...chunk, choices })).toEqual([]);
      }
    },
  );
});

describe.if(recordingsMissing === undefined)("over every other recording", () => {
  test.each(named(all.filter(({ capability }) => capability === "images")))(
    "the picture of %s is found",
    (_, recording) => {
      const { images } = fromImageAnswer(json(recording));
      expect(images).toHaveLength(1);
      expect(JSON.stringify(json(recording))).toContain(String(images[0]?.data));
      expect(images[0]?.mediaType).toMatch(/^image\/(png|jpeg)$/);
    },
  );

  test("a picture is asked for as recorded, and shaped besides", () => {
    const recording = all.find(({ path }) => path.includes("3-pro-image-preview-text-and-image")) as Recording;
    const { contents, generationConfig } = bodyOf(recording) as never as {
      contents: unknown;
      generationConfig: object;
    };
    const prompt = "Generate an illustrated two-sentence story about an axolotl.";
    expect(toImageBody({ model: "m", prompt }, modelAt("gemini-3-pro-image-preview"), () => undefined)).toEqual({
      contents: contents as never,
      generationConfig: { ...generationConfig, imageConfig: { aspectRatio: "1:1", imageSize: "1K" } },
    });
  });

  test.each(named(all.filter(({ capability }) => capability === "embeddings")))(
    "the vectors of %s are read",
    (_, recording) => {
      const { requests } = bodyOf(recording) as never as {
        requests: { content: { parts: GeneratedPart[] }; outputDimensionality?: number }[];
      };
      const input = requests.map(({ content }) => String(content.parts[0]?.text));
      const dimensions = requests[0]?.outputDimensionality;
      const orders = toEmbedOrders({ model: "m", input, dimensions: dimensions ?? null }, upstreamIdOf(recording));
      const bodies = orders.flatMap(({ body }) => ("requests" in body ? body.requests : [body]));
      expect(JSON.parse(JSON.stringify(bodies))).toEqual(requests as unknown[]);
      const vectors = fromEmbedAnswer(json(recording), input.length);
      expect(vectors.map((vector) => vector.length)).toEqual(input.map(() => dimensions ?? 3072));
    },
  );
});

/** The text, thoughts and calls are those of the parts, and every call has an id of its own. */
function assertSameAmount(completion: ReturnType<typeof assemble>, parts: GeneratedPart[]): void {
  const [choice] = completion.choices;
  const textOf = (thought: boolean) =>
    parts
      .filter((part) => part.text !== undefined && (part.thought === true) === thought)
      .map((part) => part.text)
      .join("");
  expect(choice?.message.content ?? "").toBe(textOf(false));
  expect(choice?.message.reasoning_content ?? "").toBe(textOf(true));
  const calls = choice?.message.tool_calls ?? [];
  const given = calls.map(({ function: called }) => ({ name: called.name, args: JSON.parse(called.arguments) }));
  const expected = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
  expect(given).toEqual(expected.map(({ name = "", args = {} }) => ({ name, args })));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  if (calls.length > 0) expect(choice?.finish_reason).toBe("tool_calls");
}

function expectUsage(usage: unknown, provider: Record<string, number> | undefined): void {
  if (provider === undefined) {
    expect(usage).toBeUndefined();
    return;
  }
  const { promptTokenCount, totalTokenCount, cachedContentTokenCount: cached, thoughtsTokenCount: thoughts } = provider;
  expect(usage).toMatchObject({ prompt_tokens: promptTokenCount, total_tokens: totalTokenCount });
  if (cached !== undefined) expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: cached } });
  if (thoughts !== undefined)
    expect(usage).toMatchObject({ completion_tokens_details: { reasoning_tokens: thoughts } });
}
