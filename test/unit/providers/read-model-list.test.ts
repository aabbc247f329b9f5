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
  const limits = readModelList({ data: entries })?.map(({ id, created: _, use: __, ...rest }) => [id, rest]);
  expect(limits).toEqual([
    ["vllm", { contextTokens: 32_768 }],
    ["llama.cpp", { contextTokens: 2048 }],
    ["litellm", { contextTokens: 200_000, outputTokensMax: 8192 }],
    ["together", { contextTokens: 131_072 }],
    ["silent", {}],
    ["odd", {}],
  ]);
});

test("a model that is listed by the path of its file has the name of the file", () => {
  const ids = ["/srv/models/Tiny-Q4.gguf", "./a.gguf", "C:\\models\\b.gguf", "org/model", "qwen3:8b", "~/m/c.GGUF"];
  const names = readModelList({ data: ids.map((id) => ({ id })) })?.map(({ id, name }) => [id, name]);
  expect(names).toEqual([
    ["/srv/models/Tiny-Q4.gguf", "Tiny-Q4"],
    ["./a.gguf", "a"],
    ["C:\\models\\b.gguf", "b"],
    ["org/model", undefined],
    ["qwen3:8b", undefined],
    ["~/m/c.GGUF", "c"],
  ]);
});

test("what a model takes and what it is for is read where its server says it", () => {
  const entries = [
    { id: "text", architecture: { input_modalities: ["text"] } },
    { id: "eyes", architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] } },
    { id: "ears", architecture: { input_modalities: ["text", "audio"] } },
    { id: "talks", mode: "chat" },
    { id: "vectors", mode: "embedding" },
    { id: "draws", mode: "image_generation" },
    { id: "odd", architecture: { input_modalities: "text" }, mode: 3 },
  ];
  const facts = readModelList({ data: entries })?.map(({ id, features, use }) => [id, features, use]);
  const plain = ["tools", "json_schema", "pdf"];
  expect(facts as unknown).toEqual([
    ["text", plain, undefined],
    ["eyes", [...plain, "vision"], undefined],
    ["ears", [...plain, "audio"], undefined],
    ["talks", undefined, "chat"],
    ["vectors", undefined, "embeddings"],
    ["draws", undefined, "other"],
    ["odd", undefined, undefined],
  ]);
});
