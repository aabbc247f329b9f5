import { describe, expect, test } from "bun:test";
import { toRanking } from "../../../../src/protocols/rerank/outbound.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { fakeCall } from "../../sdk/fake-call.ts";

const results = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 },
];
const request = { model: "acme-1", query: "a", documents: ["b", "c"], top_n: 2 };

describe("a ranking", () => {
  test("is asked for with the names that the provider has", async () => {
    const { call, asked } = fakeCall(request, { json: { data: results } });
    await openai({ rerank: { path: "/v2/rerank", rename: { top_n: "top_k" } } }).rerank?.(call);
    const body = { model: "acme-one", query: "a", documents: ["b", "c"], top_k: 2 };
    expect(asked[0]).toEqual({ method: "json", path: "/v2/rerank", body });
  });

  // https://docs.cohere.com/reference/rerank, https://api.jina.ai/redoc, https://docs.voyageai.com/reference/reranker-api
  test.each<[string, object, object]>([
    ["Cohere's", { id: "x", results, meta: { billed_units: { search_units: 1 } } }, { search_units: 1 }],
    ["Cohere's by the token", { results, meta: { billed_units: { input_tokens: 9 } } }, { prompt_tokens: 9 }],
    ["Jina's and vLLM's", { model: "m", results, usage: { total_tokens: 8 } }, { prompt_tokens: 8 }],
    ["Voyage's", { object: "list", data: results, usage: { total_tokens: 7 } }, { prompt_tokens: 7 }],
  ])("is read from %s answer", (_, answer, usage) => {
    expect(toRanking(answer)).toEqual({ results, usage });
  });

  test.each([
    ["nothing", null],
    ["an error", { message: "No" }],
    ["a result without a score", { results: [{ index: 0 }] }],
  ])("is a fault with %s", async (_, answer) => {
    expect(await errorOf(Promise.resolve().then(() => toRanking(answer)))).toMatchObject({ name: "UpstreamError" });
  });
});
