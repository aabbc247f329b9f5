import { describe, expect, test } from "bun:test";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { fakeCall } from "../../sdk/fake-call.ts";

const request = { model: "acme-1", input: ["a", "b"] };
const moderate = (json: unknown) => {
  const played = fakeCall(request, { json });
  return { ...played, answer: openai({ moderation: {} }).moderation?.(played.call) };
};

describe("a moderation in OpenAI's dialect", () => {
  test("is asked for at /moderations, and its results are passed on", async () => {
    const types = { hate: ["text"] };
    const one = { flagged: false, categories: { hate: false }, category_scores: { hate: 0.1 } };
    const { asked, answer } = moderate({ results: [{ ...one, category_applied_input_types: types }, one] });
    expect(await answer).toEqual({ results: [{ ...one, category_applied_input_types: types }, one] });
    expect(asked[0]).toEqual({ method: "json", path: "/moderations", body: { model: "acme-one", input: ["a", "b"] } });
  });

  test("is flagged where a category applies, for Mistral does not say it", async () => {
    const result = { categories: { pii: true, sexual: false }, category_scores: { pii: 0.9, sexual: 0 } };
    const { answer } = moderate({ results: [result], usage: { prompt_tokens: 4 } });
    expect(await answer).toEqual({ results: [{ flagged: true, ...result }], usage: { prompt_tokens: 4 } });
  });

  test.each([
    ["no results", {}],
    ["an error", { error: { message: "No" } }],
    ["a result without categories", { results: [{ flagged: true }] }],
  ])("is a fault with %s", async (_, json) => {
    expect(await errorOf(moderate(json).answer)).toMatchObject({ name: "UpstreamError" });
  });
});
