import { afterEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { gpt, type NativeBench, type Seen, startNative } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

/** The model that OpenAI's endpoint takes. */
const luna = "gpt-6-luna";
const question = { type: "predicate" as const, name: "complaint", instructions: "Is this a complaint?" };
const body = { model: luna, input: "My parcel is late!", questions: [question] };
const usage = {
  input_tokens: 900,
  input_tokens_details: { cached_tokens: 400, cache_write_tokens: 0 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 907,
};
const decision = { model: luna, answers: [{ type: "predicate", name: "complaint", probability: 0.93 }], usage };

async function start(answer: (seen: Seen) => Response) {
  const bench = await startNative(answer);
  toStop.push(bench);
  return bench;
}

describe("POST /decisions of a provider that has the endpoint", () => {
  test("is handed on as OpenAI's client wrote it, held for, and charged for its input alone", async () => {
    let heldNanodollars = 0;
    const { gateway, seen } = await start(() => {
      heldNanodollars = Number(gateway.ledger.latest()?.hold_nanodollars);
      return Response.json(decision);
    });
    const client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.baseUrl, maxRetries: 0 });
    const image = { type: "input_image" as const, image_url: "data:image/png;base64,iVBORw0KGgo=" };
    const input = [{ role: "user" as const, content: [{ type: "input_text" as const, text: "My parcel" }, image] }];
    const { data, response } = await client.decisions.create({ ...body, input }).withResponse();
    expect(data).toEqual(decision as typeof data);
    expect(seen.map(({ path }) => path)).toEqual(["/openai/decisions"]);
    expect(seen[0]?.body).toEqual({ ...body, input });
    const charged = gateway.ledger.callOf(response);
    // $0.10 for a million tokens, a tenth of it for those that a cache had, and nothing for the answer.
    expect(charged).toMatchObject({
      state: "settled",
      usage_source: "reported",
      input_tokens: 500,
      cache_read_tokens: 400,
      output_tokens: 7,
      cost_nanodollars: 500 * 100 + 400 * 10,
    });
    expect(heldNanodollars).toBeGreaterThanOrEqual(900 * 100);
  });

  test("is charged at the rate of long prompts beyond 272,000 tokens", async () => {
    const long = { ...usage, input_tokens: 300_000, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } };
    const { ask, gateway } = await start(() => Response.json({ ...decision, usage: long }));
    const { cost_nanodollars: cost } = gateway.ledger.callOf(await ask("/decisions", body));
    expect(cost).toBe(300_000 * 200);
  });

  test("is charged for what went in where the provider reports no usage", async () => {
    const { ask, gateway } = await start(() => Response.json({ ...decision, usage: undefined }));
    const response = await ask("/decisions", body);
    expect(response.status).toBe(200);
    const row = gateway.ledger.callOf(response);
    expect(row).toMatchObject({ state: "settled", usage_source: "estimated", output_tokens: 0 });
    expect(row.input_tokens).toBeGreaterThan(5);
    expect(row.cost_nanodollars).toBe(Number(row.input_tokens) * 100);
  });

  test("answers with the provider's refusal, which costs nothing", async () => {
    const message = "questions[0].instructions is too long";
    const error = { message, type: "invalid_request_error", param: "questions", code: null };
    const { ask, gateway } = await start(() => Response.json({ error }, { status: 400 }));
    const response = await ask("/decisions", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", param: "questions" } });
    expect(gateway.ledger.callOf(response)).toMatchObject({ state: "released" });
  });

  test("takes as many questions as OpenAI does, and no more", async () => {
    const { ask, seen } = await start(() => Response.json(decision));
    const many = (count: number) => ({ ...body, questions: Array.from({ length: count }, () => question) });
    expect((await ask("/decisions", many(400))).status).toBe(200);
    expect((await ask("/decisions", many(401))).status).toBe(400);
    expect(seen).toHaveLength(1);
  });

  test("asks models without a price of the endpoint by chat", async () => {
    const content = JSON.stringify({ q1: 0.4 });
    const { ask, seen } = await start(() =>
      Response.json({
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: gpt,
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 90, completion_tokens: 8, total_tokens: 98 },
      }),
    );
    const response = await ask("/decisions", { ...body, model: gpt });
    expect(await response.json()).toMatchObject({ answers: [{ type: "predicate", probability: 0.4 }] });
    expect(seen.map(({ path }) => path)).toEqual(["/openai/chat/completions"]);
  });
});
