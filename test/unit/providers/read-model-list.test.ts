import { expect, test } from "bun:test";
import { readModelList } from "../../../src/providers/discover-models.ts";

test("the limits of a model are read by the names that servers of one's own give them", () => {
  const entries = [
    { id: "vllm", max_model_len: 32_768 },
    { id: "llama.cpp", meta: { n_ctx: 2048, n_ctx_train: 131_072 } },
    { id: "litellm", max_input_tokens: 200_000, max_output_tokens: 8192, mode: "chat" },
    { id: "together", context_length: 131_072 },
    { id: "silent", max_model_len: null, meta: null },
    { id: "odd", max_model_len: "many", context_length: -1, max_output_tokens: 0 },
  ];
  const limits = readModelList({ data: entries })?.map(({ id, created: _, ...rest }) => [id, rest]);
  expect(limits).toEqual([
    ["vllm", { contextTokens: 32_768 }],
    ["llama.cpp", { contextTokens: 2048 }],
    ["litellm", { contextTokens: 200_000, outputTokensMax: 8192 }],
    ["together", { contextTokens: 131_072 }],
    ["silent", {}],
    ["odd", {}],
  ]);
});
