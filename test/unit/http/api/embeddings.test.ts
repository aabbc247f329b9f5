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
])("POST /embeddings refuses a wrong %s: %p", async (param, change, status) => {
  const { post, ledger } = gateway();
  await expectError(await post("embeddings", { model: "embed-1", input: "Hello", ...change }), { status, param });
  expect(ledger.claims).toEqual([]);
});
