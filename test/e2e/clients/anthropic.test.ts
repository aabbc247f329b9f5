import { beforeAll, describe, expect, test } from "bun:test";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const model = "famA-4o-mini";
const ask = { model, max_tokens: 200, messages: [{ role: "user" as const, content: "Say hello to Ada" }] };
const input_schema = {
  type: "object" as const,
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};
const tools = [{ name: "add_numbers", input_schema }];

let client: Anthropic;
/** The client takes the address without `/v1`. */
const newClient = (options: { apiKey?: string; authToken?: string }) =>
  new Anthropic({ baseURL: shared.gateway.origin, apiKey: null, authToken: null, maxRetries: 0, ...options });
beforeAll(() => {
  client = newClient({ apiKey: shared.gateway.key });
});

/** What a promise of the client's own kind was rejected with. */
const failureOf = (promise: PromiseLike<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

describe("Anthropic's official client for Node", () => {
  test("answers by either header of the key", async () => {
    for (const talker of [client, newClient({ authToken: shared.gateway.key })]) {
      const message = await talker.messages.create(ask);
      expect(textOf(message)).toContain("Ada");
      expect(message.usage.output_tokens).toBeGreaterThan(0);
      expect(message.stop_reason).toBe("end_turn");
      expect(message._request_id).toBeTruthy();
    }
  });

  test("streams with its helper, which puts the pieces together again", async () => {
    let text = "";
    const stream = client.messages.stream(ask).on("text", (piece) => {
      text += piece;
    });
    const final = await stream.finalMessage();
    expect(text).toContain("Ada");
    expect([textOf(final), final.stop_reason]).toEqual([text, "end_turn"]);
    expect(final.usage.output_tokens).toBeGreaterThan(0);
  });

  test.each([false, true])("calls a tool and takes its result in a second turn (stream: %p)", async (streamed) => {
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Use add_numbers for 5 and 7" }];
    const body = { model, max_tokens: 200, tools, messages };
    const first = streamed ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const call = first.content.find((block) => block.type === "tool_use");
    if (call === undefined) throw new Error("The answer has no call of a tool");
    expect(first.stop_reason).toBe("tool_use");
    expect([call.name, Object.keys(call.input as object).sort()]).toEqual(["add_numbers", ["a", "b"]]);
    const result = { type: "tool_result" as const, tool_use_id: call.id, content: "twelve" };
    const history = [...messages, { role: "assistant" as const, content: first.content }];
    const second = await client.messages.create({
      ...body,
      messages: [...history, { role: "user", content: [result] }],
    });
    expect(textOf(second)).toContain("twelve");
  });

  test("lists models in pages, and retrieves one", async () => {
    const ids: string[] = [];
    for await (const { id, type, created_at } of client.models.list({ limit: 20 })) {
      ids.push(id);
      expect([type, Number.isNaN(Date.parse(created_at))]).toEqual(["model", false]);
    }
    const whole = await client.models.list();
    expect(ids).toEqual(whole.data.map(({ id }) => id));
    expect([new Set(ids).size, whole.has_more]).toEqual([ids.length, false]);
    // The name of its provider.
    expect((await client.models.retrieve(model)).display_name).toBe("gpt-4o-mini");
  });

  test("counts tokens", async () => {
    const { messages } = ask;
    expect((await client.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
  });

  test.each([
    ["BadRequestError", 400, "invalid_request_error", { ...ask, temperature: 3 }],
    ["NotFoundError", 404, "not_found_error", { ...ask, model: "nobody" }],
    [
      "RateLimitError",
      429,
      "rate_limit_error",
      { ...ask, messages: [{ role: "user" as const, content: "[[fault:status=429]]" }] },
    ],
    [
      "OverloadedError",
      529,
      "overloaded_error",
      { ...ask, messages: [{ role: "user" as const, content: "[[fault:status=503]]" }] },
    ],
  ])("throws %s for %d", async (name, status, type, body) => {
    const error = (await failureOf(client.messages.create(body))) as APIError;
    expect(error).toBeInstanceOf(APIError);
    expect([error.constructor.name, error.status, error.type as string]).toEqual([name, status, type]);
    expect(error.requestID).toBeTruthy();
  });

  test("names a wrong key", async () => {
    const error = await failureOf(newClient({ apiKey: "sk-wrong" }).messages.create(ask));
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
  });

  test("breaks a stream that breaks", async () => {
    const content = "one two three four five [[fault:error=3]]";
    const stream = client.messages.stream({ ...ask, messages: [{ role: "user", content }] });
    expect(await failureOf(stream.finalMessage())).toBeInstanceOf(APIError);
  });
});
