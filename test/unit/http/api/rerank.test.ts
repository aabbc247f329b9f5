import { describe, expect, test } from "bun:test";
import type { Ranking, RerankRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row = {
  ...plain,
  id: "rank-1",
  capability: "rerank" as const,
  price: { inputToken: { usd: "1", per: 1 } },
};
const ranked = [
  { index: 1, relevance_score: 0.2 },
  { index: 0, relevance_score: 0.9 },
];
const order = { model: "rank-1", query: "sky", documents: ["The sky is blue", "Grass"] };

function gateway(answer: unknown = { results: ranked, usage: { prompt_tokens: 7 } }, changes: object = {}) {
  const requests: RerankRequest[] = [];
  const rerank = async ({ request }: { request: RerankRequest }) => {
    requests.push(request);
    return answer as Ranking;
  };
  return { ...httpOf([createPlugin({ rerank }, { models: [{ ...row, ...changes }] })]), requests };
}

describe("POST /rerank", () => {
  test("answers in Cohere's form, the most relevant first, charged by the tokens that the provider reports", async () => {
    const { post, ledger } = gateway();
    const response = await post("rerank", { ...order, return_documents: true });
    const { id, ...body } = (await response.json()) as { id: string };
    expect(id).toBe(response.headers.get("x-request-id") as string);
    expect(body).toEqual({
      object: "list",
      model: "rank-1",
      results: [
        { index: 0, relevance_score: 0.9, document: { text: "The sky is blue" } },
        { index: 1, relevance_score: 0.2, document: { text: "Grass" } },
      ],
      // A client of Voyage that names no field of its own reads this list.
      data: [
        { index: 0, relevance_score: 0.9, document: "The sky is blue" },
        { index: 1, relevance_score: 0.2, document: "Grass" },
      ],
      meta: { api_version: { version: "2" }, billed_units: { input_tokens: 7 } },
      usage: { total_tokens: 7 },
    });
    expect(ledger.settlement).toMatchObject({ meters: { inputToken: 7 }, usageSource: "reported" });
  });

  test("answers in Voyage's form where its clients ask", async () => {
    const { post, requests } = gateway();
    const response = await post("rerank", { ...order, top_k: 1, truncation: true, return_documents: true });
    expect(await response.json()).toEqual({
      object: "list",
      data: [{ index: 0, relevance_score: 0.9, document: "The sky is blue" }],
      model: "rank-1",
      usage: { total_tokens: 7 },
    });
    expect(requests[0]).toEqual({ ...order, top_n: 1, truncation: true } as RerankRequest);
  });

  test("says in Voyage's form that the tokens are unknown where the provider counts search units", async () => {
    const { post } = gateway(
      { results: ranked, usage: { search_units: 1 } },
      { price: { searchUnit: { usd: "2", per: 1000 } } },
    );
    const response = await post("rerank", { ...order, truncation: true });
    expect(await response.json()).toMatchObject({ usage: { total_tokens: null } });
  });

  test.each(["/v1/rerank", "/v2/rerank", "/api/v1/rerank", "/api/v2/rerank"])("is served at %s", async (path) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${goodKey}` };
    const response = await gateway().ask(path, { method: "POST", headers, body: JSON.stringify(order) });
    expect(response.status).toBe(200);
  });

  test("reads documents that are objects as their text, or as lines of their fields", async () => {
    const { post, requests } = gateway();
    const documents = [{ text: "One" }, { title: "Two", body: { b: 2 } }];
    expect((await post("rerank", { ...order, documents })).status).toBe(200);
    expect(requests[0]?.documents).toEqual(["One", 'title: Two\nbody: {"b":2}']);
    await post("rerank", { ...order, documents, rank_fields: ["title"] });
    expect(requests[1]?.documents).toEqual(["", "Two"]);
  });

  test("holds the query once for each document, each pair up to what the model takes", async () => {
    const free = gateway();
    await free.post("rerank", { ...order, query: "q".repeat(1000) });
    expect(free.ledger.claims[0]?.holdNanodollars).toBeGreaterThan(2020e9);
    const bounded = gateway(undefined, { contextTokens: 500 });
    await bounded.post("rerank", { ...order, query: "q".repeat(1000) });
    expect(bounded.ledger.claims[0]?.holdNanodollars).toBe(1000e9);
  });

  test("is sold by the search unit where the model has that price: a hundred documents, long ones in parts", async () => {
    const price = { searchUnit: { usd: "2", per: 1000 } };
    const documents = [...Array(99).fill("a"), "b".repeat(1000)];
    const reported = gateway({ results: ranked, usage: { search_units: 1 } }, { price });
    const response = await reported.post("rerank", { ...order, documents });
    expect(await response.json()).toMatchObject({ meta: { billed_units: { search_units: 1 } } });
    expect(reported.ledger.settlement.meters).toEqual({ searchUnit: 1 });
    expect(reported.ledger.claims[0]?.holdNanodollars).toBe(2 * 2_000_000);
    const silent = gateway({ results: ranked }, { price });
    await silent.post("rerank", order);
    expect(silent.ledger.settlement).toMatchObject({ meters: { searchUnit: 1 }, usageSource: "estimated" });
  });

  test("counts what went in where the provider reports nothing", async () => {
    const { post, ledger } = gateway({ results: ranked });
    await post("rerank", order);
    expect(ledger.settlement.usageSource).toBe("estimated");
    expect(ledger.settlement.meters.inputToken).toBeGreaterThanOrEqual(7);
  });

  test.each<[string, unknown]>([
    ["nothing", {}],
    ["no result", { results: [] }],
    ["a place beyond the documents", { results: [{ index: 2, relevance_score: 1 }] }],
    ["a place twice", { results: [ranked[0], ranked[0]] }],
    ["no number as a score", { results: [{ index: 0, relevance_score: Number.NaN }] }],
  ])("takes %s for a failure of the provider", async (_, answer) => {
    const { post, ledger } = gateway(answer);
    await expectError(await post("rerank", order), { status: 500, code: "upstream_error" });
    expect(ledger.settlement.outcome).toBe("released");
  });

  test.each([
    ["query", { query: "" }],
    ["documents", { documents: [] }],
    ["documents", { documents: "text" }],
    ["documents", { documents: Array(10_001).fill("a") }],
    ["top_n", { top_n: 0 }],
    ["top_k", { top_k: 1.5 }],
    ["return_documents", { return_documents: "yes" }],
  ])("refuses a wrong %s", async (param, change) => {
    const { post, ledger } = gateway();
    await expectError(await post("rerank", { ...order, ...change }), { status: 400, param });
    expect(ledger.claims).toEqual([]);
  });
});
