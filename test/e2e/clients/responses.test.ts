import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import type { ResponseInput } from "openai/resources/responses/responses";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const model = "famA-4o-mini";
const ask = { model, input: "Say hello to Ada" };
const numbers = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false,
};
const tools = [{ type: "function" as const, name: "add_numbers", parameters: numbers, strict: true }];

let client: OpenAI;
beforeAll(() => {
  client = new OpenAI({ baseURL: shared.gateway.baseUrl, apiKey: shared.gateway.key, maxRetries: 0 });
});

/** What a promise of the client's own kind was rejected with. */
const failureOf = (promise: PromiseLike<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the Responses API of the official openai client for Node", () => {
  test("answers, and counts what it costs", async () => {
    const response = await client.responses.create(ask);
    expect(response.output_text).toContain("Ada");
    expect(response.usage?.total_tokens).toBeGreaterThan(0);
    expect(response.status).toBe("completed");
    expect(response._request_id).toBeTruthy();
  });

  test("streams with its helper, which puts the pieces together again", async () => {
    const stream = client.responses.stream(ask);
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(text).toContain("Ada");
    expect([final.output_text, final.status]).toEqual([text, "completed"]);
  });

  test.each([false, true])("calls a tool and takes its result in a second turn (stream: %p)", async (streamed) => {
    const input: ResponseInput = [{ role: "user", content: "Use add_numbers for 5 and 7" }];
    const first = streamed
      ? await client.responses.stream({ model, input, tools }).finalResponse()
      : await client.responses.create({ model, input, tools });
    const call = first.output.find(({ type }) => type === "function_call");
    if (call?.type !== "function_call") throw new Error("The answer has no call of a function");
    expect([call.name, Object.keys(JSON.parse(call.arguments)).sort()]).toEqual(["add_numbers", ["a", "b"]]);
    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "twelve" };
    const history = [...input, ...first.output, result] as ResponseInput;
    const second = await client.responses.create({ model, tools, input: history });
    expect(second.output_text).toContain("twelve");
  });

  test("parses an answer that fits a schema", async () => {
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const format = { type: "json_schema" as const, name: "place", schema, strict: true };
    const response = await client.responses.parse({ ...ask, text: { format } });
    expect(Object.keys(response.output_parsed as unknown as object)).toEqual(["city"]);
  });

  test("counts input tokens", async () => {
    const counted = await client.responses.inputTokens.count(ask);
    expect(counted.object).toBe("response.input_tokens");
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  test.each([
    ["BadRequestError", 400, { ...ask, temperature: 3 }],
    ["BadRequestError", 400, { ...ask, previous_response_id: "resp_unknown" }],
    ["RateLimitError", 429, { ...ask, input: "[[fault:status=429]]" }],
    ["InternalServerError", 503, { ...ask, input: "[[fault:status=503]]" }],
  ])("throws %s for %d", async (name, status, body) => {
    const error = (await failureOf(client.responses.create(body))) as APIError;
    expect(error).toBeInstanceOf(APIError);
    expect([error.constructor.name, error.status]).toEqual([name, status]);
    expect([error.requestID, error.type]).toEqual([expect.any(String), expect.any(String)]);
  });

  test("tells of a stream that breaks", async () => {
    const stream = await client.responses.create({
      model,
      stream: true,
      input: "one two three four five [[fault:error=3]]",
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect([types[0], types.at(-1)]).toEqual(["response.created", "response.failed"]);
  });
});
