import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import { catalogueRow } from "../../support/catalogue.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { wavFile } from "../../support/wav.ts";

const shared = useSandboxGateway();
const model = "famA-4o-mini";
const ask: ChatCompletionMessageParam[] = [{ role: "user", content: "Say hello to Ada" }];
const tools: ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "add_numbers",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    },
  },
];

let client: OpenAI;
beforeAll(() => {
  const { baseUrl: baseURL, key: apiKey } = shared.gateway;
  client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
});

describe("the official openai client for Node", () => {
  test("chats", async () => {
    const completion = await client.chat.completions.create({ model, messages: ask });
    expect(completion.choices[0]?.message.content).toContain("Ada");
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
    expect(completion._request_id).toBeTruthy();
  });

  test("chats at the short base path too", async () => {
    const short = new OpenAI({ baseURL: `${shared.gateway.origin}/v1`, apiKey: shared.gateway.key });
    expect((await short.chat.completions.create({ model, messages: ask })).choices.length).toBe(1);
  });

  test("streams, with the usage at the end", async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let total: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      total = chunk.usage?.total_tokens ?? total;
    }
    expect(text).toContain("Ada");
    expect(total).toBeGreaterThan(0);
  });

  test("streams with its helper, which puts the pieces together again", async () => {
    const stream = client.chat.completions.stream({ model, messages: ask, n: 2 });
    const final = await stream.finalChatCompletion();
    expect(final.choices.map(({ message }) => message.content?.includes("Ada"))).toEqual([true, true]);
  });

  test.each([false, true])("calls a tool and takes its result in a second turn (stream: %p)", async (streamed) => {
    const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Use add_numbers for 5 and 7" }];
    const first = streamed
      ? await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion()
      : await client.chat.completions.create({ model, messages, tools });
    const message = first.choices[0]?.message as ChatCompletionMessageParam & { tool_calls?: unknown[] };
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    const call = first.choices[0]?.message.tool_calls?.[0];
    if (call?.type !== "function") throw new Error("The answer has no call of a function");
    expect(call.function.name).toBe("add_numbers");
    expect(Object.keys(JSON.parse(call.function.arguments)).sort()).toEqual(["a", "b"]);
    const second = await client.chat.completions.create({
      model,
      tools,
      messages: [...messages, message, { role: "tool", tool_call_id: call.id, content: "twelve" }],
    });
    expect(second.choices[0]?.message.content).toContain("twelve");
  });

  test("parses an answer that fits a schema", async () => {
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const completion = await client.chat.completions.create({
      model,
      messages: ask,
      response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
    });
    expect(Object.keys(JSON.parse(completion.choices[0]?.message.content as string))).toEqual(["city"]);
  });

  test.each([undefined, "float", "base64"] as const)("embeds (encoding_format: %p)", async (encoding_format) => {
    const { data, usage } = await client.embeddings.create({
      model: "text-embedding-3-small",
      input: ["one", "two"],
      ...(encoding_format === undefined ? {} : { encoding_format }),
    });
    expect(data.map(({ index }) => index)).toEqual([0, 1]);
    const [vector] = data.map(({ embedding }) => embedding as unknown);
    if (encoding_format === "base64") expect(Buffer.from(vector as string, "base64").length).toBe(1536 * 4);
    else expect((vector as number[]).length).toBe(1536);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
  });

  test.each(["text-embedding-3-small", "famB-embedding-001"])("embeds tokens by %s", async (name) => {
    const { data } = await client.embeddings.create({ model: name, input: [[9906, 1917], [9906]] });
    const text = await client.embeddings.create({ model: name, input: ["Hello world", "Hello"] });
    expect(data.map(({ embedding }) => embedding)).toEqual(text.data.map(({ embedding }) => embedding));
  });

  test("decides, by predicate, choice and score", async () => {
    const { answers } = await client.decisions.create({
      model,
      input: [{ role: "user", content: "The parcel came two weeks late." }],
      questions: [
        { type: "predicate", name: "complaint", instructions: "Is this a complaint?" },
        { type: "choice", instructions: "What is it about?", choices: [{ value: "delivery" }, { value: "price" }] },
        { type: "score", instructions: "How angry?", levels: [{ label: "calm" }, { label: "cross" }] },
      ],
    });
    expect(answers.map(({ type }) => type)).toEqual(["predicate", "choice", "score"]);
    expect(answers[0]).toEqual({ type: "predicate", name: "complaint", probability: 0.5 });
    expect(answers[1]).toMatchObject({ choice: "delivery", confidence: 0.5 });
  });

  test("makes an image, by address and as base64", async () => {
    const body = { model: "famB-3-pro-image-preview", prompt: "A kite" };
    const byAddress = await client.images.generate(body);
    const fetched = await fetch(byAddress.data?.[0]?.url as string);
    const inline = await client.images.generate({ ...body, response_format: "b64_json" });
    const bytes = Buffer.from(inline.data?.[0]?.b64_json as string, "base64");
    expect(Buffer.from(await fetched.arrayBuffer()).equals(bytes)).toBe(true);
    expect(bytes.toString("latin1", 1, 4)).toBe("PNG");
  });

  test("transcribes as json, text and verbose_json", async () => {
    const body = { file: wavFile(2000), model: "famW-large-v3" };
    expect((await client.audio.transcriptions.create(body)).text).not.toBe("");
    const text = await client.audio.transcriptions.create({ ...body, response_format: "text" });
    expect(typeof text).toBe("string");
    const verbose = await client.audio.transcriptions.create({ ...body, response_format: "verbose_json" });
    expect(verbose.duration).toBe(2);
  });

  test("speaks", async () => {
    const voice = catalogueRow("famT/v1-english").voices?.[0] as "alloy";
    const heard = await client.audio.speech.create({ model: "famT/v1-english", input: "Hello", voice });
    expect(Buffer.from(await heard.arrayBuffer()).toString("latin1", 0, 4)).toBe("RIFF");
  });

  test("streams an image, a transcript and speech as events", async () => {
    const events: string[] = [];
    const image = await client.images.generate({ model: "famB-3-pro-image-preview", prompt: "A kite", stream: true });
    for await (const event of image) {
      events.push(event.type);
      expect(Buffer.from(event.b64_json, "base64").toString("latin1", 1, 4)).toBe("PNG");
    }
    const body = { file: wavFile(2000), model: "famW-large-v3" };
    let text = "";
    for await (const event of await client.audio.transcriptions.create({ ...body, stream: true })) {
      events.push(event.type);
      if (event.type === "transcript.text.delta") text += event.delta;
      if (event.type === "transcript.text.done") expect(event.text).toBe(text);
    }
    const voice = catalogueRow("famT/v1-english").voices?.[0] as "alloy";
    const speech = { model: "famT/v1-english", input: "Hello", voice, stream_format: "sse" } as const;
    const heard = await (await client.audio.speech.create(speech)).text();
    expect(events).toEqual(["image_generation.completed", "transcript.text.delta", "transcript.text.done"]);
    expect(heard).toStartWith('event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"UklGR');
    expect(heard).toEndWith('event: speech.audio.done\ndata: {"type":"speech.audio.done"}\n\n');
  });

  test("gets an ordinary error where a stream has not begun", async () => {
    const asked = { model: "famB-3-pro-image-preview", prompt: "[[fault:status=503]]", stream: true } as const;
    const error = await client.images.generate(asked).then(undefined, (failure: unknown) => failure);
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).status).toBe(500);
  });

  test("lists models and retrieves one, slashes and all", async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toContain("famA/oss-20b");
    expect((await client.models.retrieve("famA/oss-20b")).owned_by).toBeTruthy();
  });
});

const failures: [string, number, (client: OpenAI) => Promise<unknown>][] = [
  ["BadRequestError", 400, (to) => to.chat.completions.create({ model, messages: ask, temperature: 3 })],
  ["BadRequestError", 400, (to) => to.chat.completions.create({ model: "nobody", messages: ask })],
  ["NotFoundError", 404, (to) => to.models.retrieve("nobody")],
  [
    "RateLimitError",
    429,
    (to) => to.chat.completions.create({ model, messages: [{ role: "user", content: "[[fault:status=429]]" }] }),
  ],
  [
    "InternalServerError",
    500,
    (to) => to.chat.completions.create({ model, messages: [{ role: "user", content: "[[fault:status=503]]" }] }),
  ],
  [
    "InternalServerError",
    500,
    (to) =>
      to.chat.completions.create({
        model,
        stream: true,
        messages: [{ role: "user", content: "[[fault:status=503]]" }],
      }),
  ],
];

/** What a promise of the client's own kind was rejected with. */
const failureOf = (promise: PromiseLike<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the client's errors", () => {
  test.each(failures)("are of the right class: %s (%d)", async (name, status, fail) => {
    const error = await failureOf(fail(client));
    expect(error).toBeInstanceOf(APIError);
    const { status: got, requestID, type } = error as APIError;
    expect({ name: (error as APIError).constructor.name, got }).toEqual({ name, got: status });
    expect(requestID).toBeTruthy();
    expect(type).toBeTruthy();
  });

  test("name a wrong key", async () => {
    const stranger = new OpenAI({ baseURL: shared.gateway.baseUrl, apiKey: "sk-wrong", maxRetries: 0 });
    expect(await failureOf(stranger.models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test("break a stream that breaks", async () => {
    const content = "one two three four five [[fault:error=3]]";
    const stream = await client.chat.completions.create({ model, stream: true, messages: [{ role: "user", content }] });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe("chat.completion.chunk");
    };
    expect(await failureOf(read())).toBeInstanceOf(APIError);
  });

  test("are retried by the client, which heeds retry-after", async () => {
    const patient = new OpenAI({ baseURL: shared.gateway.baseUrl, apiKey: shared.gateway.key, maxRetries: 1 });
    const before = shared.ledger.counts().calls;
    const messages = [{ role: "user" as const, content: "[[fault:status=429 retry-after=1]]" }];
    expect(await failureOf(patient.chat.completions.create({ model, messages }))).toBeInstanceOf(OpenAI.RateLimitError);
    expect(shared.ledger.counts().calls).toBe(before + 2);
  });
});
