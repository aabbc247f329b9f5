import { describe, expect, test } from "bun:test";
import type { ModerationRequest, Moderations } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row = {
  ...plain,
  id: "judge-1",
  aliases: ["omni-moderation-latest"],
  capability: "moderation" as const,
  price: { inputToken: { usd: "1", per: 1 } },
};
const result = { flagged: true, categories: { hate: true }, category_scores: { hate: 0.9 } };

function gateway(answer: unknown = { results: [result], usage: { prompt_tokens: 3 } }) {
  const requests: ModerationRequest[] = [];
  const moderation = async ({ request }: { request: ModerationRequest }) => {
    requests.push(request);
    return answer as Moderations;
  };
  return { ...httpOf([createPlugin({ moderation }, { models: [row] })]), requests };
}

describe("POST /moderations", () => {
  test("answers the provider's results, charged by the tokens that it reports", async () => {
    const { post, ledger } = gateway();
    const response = await post("moderations", { model: "judge-1", input: "Hello" });
    const { id, ...body } = (await response.json()) as { id: string };
    expect(id).toMatch(/^modr-/);
    expect(body).toEqual({ model: "judge-1", results: [result] });
    expect(response.headers.get("x-modelgate-cost-usd")).toBe("3");
    expect(ledger.settlement).toMatchObject({ meters: { inputToken: 3 }, usageSource: "reported" });
  });

  test("asks OpenAI's present model where the body names none", async () => {
    const { post, requests } = gateway();
    expect((await post("moderations", { input: "Hello" })).status).toBe(200);
    expect(requests[0]?.model).toBe("omni-moderation-latest");
  });

  test.each<[string, unknown, number]>([
    ["a text", "Hello there", 1],
    ["several texts", ["Hello", "there"], 2],
    ["parts of one input", [{ type: "text", text: "Hello" }], 1],
  ])("wants one result for each input: %s", async (_, input, count) => {
    const fitting = gateway({ results: Array(count).fill(result) });
    const response = await fitting.post("moderations", { model: "judge-1", input });
    expect(((await response.json()) as Moderations).results).toHaveLength(count);
    const short = gateway({ results: Array(count + 1).fill(result) });
    const answer = await short.post("moderations", { model: "judge-1", input });
    await expectError(answer, { status: 500, code: "upstream_error" });
  });

  test("holds at least a token for each byte of all texts, and ten thousand for an image", async () => {
    const texts = gateway({ results: [result, result] });
    await texts.post("moderations", { model: "judge-1", input: ["x".repeat(100), "y".repeat(50)] });
    expect(texts.ledger.claims[0]?.holdNanodollars).toBeGreaterThan(150e9);
    const image = gateway();
    const url = `data:image/png;base64,${"A".repeat(400_000)}`;
    await image.post("moderations", { model: "judge-1", input: [{ type: "image_url", image_url: { url } }] });
    const held = image.ledger.claims[0]?.holdNanodollars as number;
    expect(held).toBeGreaterThan(10_000e9);
    expect(held).toBeLessThan(11_000e9);
  });

  test("counts what went in where the provider reports nothing", async () => {
    const { post, ledger } = gateway({ results: [result, result] });
    await post("moderations", { model: "judge-1", input: ["Hello there", "my friend"] });
    expect(ledger.settlement.usageSource).toBe("estimated");
    const { inputToken = 0 } = ledger.settlement.meters;
    expect(inputToken).toBeGreaterThanOrEqual(4);
    expect(inputToken).toBeLessThan(40);
  });

  test.each([
    ["model", { model: "nobody" }],
    ["input", { input: [] }],
    ["input", { input: "" }],
    ["input", { input: 5 }],
    ["input[1]", { input: ["a", 5] }],
    ["input", { input: Array(2049).fill("a") }],
  ])("refuses a wrong %s: %p", async (param, change) => {
    const { post, ledger } = gateway();
    const response = await post("moderations", { model: "judge-1", input: "Hello", ...change });
    const error = await expectError(response, { status: 400 });
    expect(error.param?.startsWith(param.slice(0, 5))).toBe(true);
    expect(ledger.claims).toEqual([]);
  });
});
