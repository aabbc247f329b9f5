import { expect, test } from "bun:test";
import { expectError } from "../../../support/expect-error.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row = { ...plain, id: "embed-1", capability: "embeddings" as const, dimensions: { default: 2, min: 2, max: 2 } };
const embeddings = async () => ({ vectors: [[0.5, 1]], usage: { prompt_tokens: 3 } });
const gateway = () =>
  httpOf([createPlugin({ embeddings }, { models: [{ ...row, price: { inputToken: { usd: "1", per: 1 } } }] })]);

test("POST /embeddings answers a list, with what it cost", async () => {
  const response = await gateway().post("embeddings", { model: "embed-1", input: "Hello" });
  expect(await response.json()).toEqual({
    object: "list",
    model: "embed-1",
    data: [{ object: "embedding", index: 0, embedding: [0.5, 1] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  expect([response.headers.get("x-modelgate-cost-usd"), response.headers.get("x-modelgate-route")]).toEqual([
    "3",
    "acme",
  ]);
});

test.each([
  ["model", { model: "" }, 400],
  ["model", { model: "nobody" }, 400],
  ["input", { input: [] }, 400],
  ["input", { input: 5 }, 400],
  ["input[0]", { input: [1.5] }, 400],
  ["input[1]", { input: [1, "two"] }, 400],
  ["input[0]", { input: [[]] }, 400],
  ["input[0][0]", { input: [[-1]] }, 400],
  ["input", { input: Array(2049).fill("a") }, 400],
  ["dimensions", { dimensions: 3 }, 400],
  ["dimensions", { dimensions: 0 }, 400],
  ["encoding_format", { encoding_format: "hex" }, 400],
  ["dimensions", { output_dimension: 3 }, 400],
  ["output_dimensionality", { output_dimensionality: "2" }, 400],
  ["output_dtype", { output_dtype: "int8" }, 400],
  ["embedding_type", { embedding_type: "binary" }, 400],
  ["embedding_types", { embedding_types: ["float", "ubinary"] }, 400],
])("POST /embeddings refuses a wrong %s: %p", async (param, change, status) => {
  const { post, ledger } = gateway();
  await expectError(await post("embeddings", { model: "embed-1", input: "Hello", ...change }), { status, param });
  expect(ledger.claims).toEqual([]);
});

test("POST /embeddings knows the size and the type of vectors by the names of other APIs", async () => {
  const asked: unknown[] = [];
  const plugin = createPlugin(
    {
      embeddings: async ({ request: { input: _, model: __, ...fields } }) => {
        asked.push(fields);
        return await embeddings();
      },
    },
    { models: [{ ...row, dimensions: { default: 4, min: 2, max: 4 }, price: { inputToken: { usd: "1", per: 1 } } }] },
  );
  const { post } = httpOf([plugin]);
  const bodies = [
    { output_dimension: 2, output_dtype: "float" },
    { output_dimensionality: 2 },
    { dimensions: 2, output_dimension: 4, embedding_types: ["float"] },
    { embedding_type: "float", output_dimension: null, truncation: true },
  ];
  for (const body of bodies) {
    expect((await post("embeddings", { model: "embed-1", input: "Hello", ...body })).status).toBe(200);
  }
  expect(asked).toEqual([{ dimensions: 2 }, { dimensions: 2 }, { dimensions: 2 }, { truncation: true }]);
});
