import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

interface WireEmbeddings {
  object: string;
  data: { object: string; index: number; embedding: number[] | string }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

const shared = useSandboxGateway();
const ask = (fields: Record<string, unknown>) =>
  shared.gateway.post("/embeddings", { model: "text-embedding-3-small", input: "Hello", ...fields });

/** The specification's part 2.10: sizes of vectors, and the longest input in tokens. */
const models = [
  { model: "text-embedding-3-small", size: 1536, min: 1, max: 1536, tokens: 8191 },
  { model: "hostT/m2-bert-80M-32k-retrieval", size: 768, min: 768, max: 768, tokens: 32_768 },
  { model: "famB-embedding-001", size: 3072, min: 128, max: 3072, tokens: 2048 },
  { model: "famB-embedding-2-preview", size: 3072, min: 128, max: 3072, tokens: 8192 },
];

/** A text of exactly so many tokens: one a word in every vocabulary that splits at spaces. */
const words = (count: number) => `a${" a".repeat(count - 1)}`;

const sizes = async (response: Response) => {
  const answer = (await response.json()) as WireEmbeddings;
  return { status: response.status, sizes: answer.data?.map(({ embedding }) => embedding.length) };
};

describe("POST /embeddings", () => {
  test.each(models)("$model makes vectors of $size by default, and of $min to $max", async (row) => {
    const { model, size, min, max } = row;
    expect(await sizes(await ask({ model }))).toEqual({ status: 200, sizes: [size] });
    for (const dimensions of new Set([min, max])) {
      expect(await sizes(await ask({ model, dimensions }))).toEqual({ status: 200, sizes: [dimensions] });
    }
    for (const dimensions of [min - 1, max + 1]) {
      await expectError(await ask({ model, dimensions }), { status: 400, param: "dimensions" });
    }
  });

  // The vocabularies of other providers are not public, so that only what is a quarter longer is refused for sure.
  const bounds = models.map(({ model, tokens }) => ({
    model,
    tokens,
    max: model.startsWith("text-") ? tokens : tokens * 1.25,
  }));
  test.each(bounds)("$model takes an input of $max tokens and not one more", async ({ model, tokens, max }) => {
    expect((await sizes(await ask({ model, input: words(max) }))).status).toBe(200);
    const error = await expectError(await ask({ model, input: words(max + 1) }), { status: 400, param: "input" });
    expect(error.message).toContain(String(tokens));
  });

  test("several inputs are answered in their order", async () => {
    const answer = (await (await ask({ input: ["one", "two", "three"] })).json()) as WireEmbeddings;
    if (schemaMissing === undefined) expect(faultsOf("CreateEmbeddingResponse", answer)).toEqual([]);
    expect(answer).toMatchObject({ object: "list", model: "text-embedding-3-small" });
    expect(answer.data.map(({ index, object }) => [index, object])).toEqual([
      [0, "embedding"],
      [1, "embedding"],
      [2, "embedding"],
    ]);
    expect(answer.usage.prompt_tokens).toBe(answer.usage.total_tokens);
  });

  test("float is the default, and base64 says the same", async () => {
    const floats = (await (await ask({})).json()) as WireEmbeddings;
    const base64 = (await (await ask({ encoding_format: "base64", user: "u-1" })).json()) as WireEmbeddings;
    const bytes = Buffer.from(base64.data[0]?.embedding as string, "base64");
    const decoded = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    expect(decoded).toEqual([...Float32Array.from(floats.data[0]?.embedding as number[])]);
  });

  test.each(["famB-embedding-001", "famB-embedding-2-preview"])(
    "%s answers its whole vector normalised",
    async (model) => {
      const answer = (await (await ask({ model })).json()) as WireEmbeddings;
      const vector = answer.data[0]?.embedding as number[];
      expect(vector).toHaveLength(3072);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
    },
  );

  const refused: [string, Record<string, unknown>, string][] = [
    ["no input", { input: undefined }, "input"],
    ["an empty input", { input: "" }, "input"],
    ["no inputs at all", { input: [] }, "input"],
    ["an empty input among others", { input: ["a", ""] }, "input[1]"],
    ["an input that is a number", { input: 5 }, "input"],
    ["encoding_format hex", { encoding_format: "hex" }, "encoding_format"],
    ["dimensions 1.5", { dimensions: 1.5 }, "dimensions"],
    ["no model", { model: undefined }, "model"],
  ];

  test.each(refused)("refuses %s, naming the field", async (_, fields, param) => {
    const before = shared.ledger.counts();
    await expectError(await ask(fields), { status: 400, param });
    expect(shared.ledger.counts()).toEqual(before);
  });
});
