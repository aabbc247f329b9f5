import { describe, expect, test } from "bun:test";
import type { ChatCompletion, ChatRequest, ChatStream } from "modelgate/plugin";
import gemini from "../../../../plugins/gemini/index.ts";
import { GatewayError } from "../../../../src/contract/index.ts";
import { headersOf } from "../../../support/authorize.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain, eventsOf, fakeCall } from "../../sdk/fake-call.ts";
import { modelAt } from "./support.ts";

const chat = (request: Partial<ChatRequest>, answers: object, upstreamId = "gemini-3-flash-preview") => {
  const messages: ChatRequest["messages"] = [{ role: "user", content: "Hi" }];
  const fake = fakeCall<ChatRequest>({ model: "m", messages, ...request }, answers, modelAt(upstreamId));
  return { ...fake, run: () => gemini.handlers.chat?.(fake.call) };
};
const said = (...parts: object[]) => ({ candidates: [{ content: { parts }, finishReason: "STOP" }] });

describe("gemini", () => {
  test("carries the key in a header, never in an address", async () => {
    expect(await headersOf(gemini, "secret")).toEqual({ "x-goog-api-key": "secret" });
  });

  test("takes several candidates at once and one picture at a time", () => {
    expect(gemini.maxChoices).toEqual({ chat: 8, images: 1 });
  });

  test("asks for a whole answer", async () => {
    const { run, asked } = chat({}, { json: said({ text: "Hello" }) });
    expect(((await run()) as ChatCompletion).choices[0]?.message.content).toBe("Hello");
    expect(asked).toMatchObject([{ method: "json", path: "/models/gemini-3-flash-preview:generateContent" }]);
  });

  test.each([{ willContinue: true }, { partialArgs: [{ jsonPath: "$.a", stringValue: "b" }] }])(
    "refuses a function call that comes in parts: %p",
    async (parts) => {
      const answer = said({ functionCall: { name: "f", ...parts } });
      const refusal = expect.objectContaining({ kind: "bad_response" });
      expect(await errorOf(chat({}, { json: answer }).run())).toEqual(refusal);
      const events = () => eventsOf(`data: ${JSON.stringify(answer)}\r\n\r\n`);
      const { error } = await drain((await chat({ stream: true }, { events }).run()) as ChatStream);
      expect(error).toEqual(refusal);
    },
  );

  test("asks for the stop sequences that the provider takes, and applies the others", async () => {
    const stop = ["a1", "b1", "c1", "d1", "e1", "two"];
    const { run, asked } = chat({ stop }, { json: said({ text: "one two" }) });
    expect(((await run()) as ChatCompletion).choices[0]?.message.content).toBe("one ");
    expect(asked[0]?.body.generationConfig).toMatchObject({ stopSequences: stop.slice(0, 5) });
  });

  test("asks for a stream", async () => {
    const text = `data: ${JSON.stringify(said({ text: "Hello" }))}\r\n\r\n`;
    const { run, asked } = chat({ stream: true }, { events: () => eventsOf(text) });
    const { items } = await drain((await run()) as ChatStream);
    expect(items).toHaveLength(3);
    expect(asked).toMatchObject([
      { method: "events", path: "/models/gemini-3-flash-preview:streamGenerateContent?alt=sse" },
    ]);
  });

  test("signs a call again that the client brings back without its signature", async () => {
    const first = await chat({}, { json: said({ functionCall: { name: "f" }, thoughtSignature: "c2ln" }) }).run();
    const [call] = (first as ChatCompletion).choices[0]?.message.tool_calls ?? [];
    expect(call?.id).toMatch(/^call_[0-9a-f]{24}$/);
    const { id = "", type = "function" as const, function: called = { name: "", arguments: "" } } = call ?? {};
    const messages: ChatRequest["messages"] = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [{ id, type, function: called }] },
      { role: "tool", tool_call_id: id, content: "done" },
    ];
    const { run, asked } = chat({ messages }, { json: said({ text: "Hello" }) });
    await run();
    expect(JSON.stringify(asked[0]?.body)).toContain('"thoughtSignature":"c2ln"');
  });

  test("answers functions with a function_call", async () => {
    const answers = { json: said({ functionCall: { name: "f", args: { a: 1 } } }) };
    const { run, asked } = chat({ functions: [{ name: "f" }], function_call: { name: "f" } }, answers);
    const completion = (await run()) as ChatCompletion;
    expect(completion.choices[0]).toMatchObject({
      message: { function_call: { name: "f", arguments: '{"a":1}' } },
      finish_reason: "function_call",
    });
    expect(asked[0]?.body.toolConfig).toEqual({
      functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] },
    });
  });
});

describe("gemini and pictures by address", () => {
  const picture = (url: string) => ({ type: "image_url" as const, image_url: { url } });
  const content = [picture("https://example.com/a.png"), picture("https://example.com/a.png")];
  const messages: ChatRequest["messages"] = [{ role: "user", content }];

  test("fetches each once and sends its bytes", async () => {
    const download = { bytes: new Uint8Array([1, 2, 3]), mediaType: "image/png" };
    const { run, asked } = chat({ messages }, { download, json: said({ text: "Seen" }) });
    await run();
    expect(asked.map(({ method }) => method)).toEqual(["download", "json"]);
    const part = { inlineData: { mimeType: "image/png", data: "AQID" } };
    expect(asked[1]?.body.contents).toEqual([{ role: "user", parts: [part, part] }]);
  });

  test("says which one could not be fetched", async () => {
    const download = new GatewayError("invalid_request", "Cannot fetch the file at this URL: it answered 404");
    const { run } = chat({ messages }, { download });
    const param = "messages[0].content[0].image_url.url";
    expect(await errorOf(run())).toMatchObject({ code: "invalid_request", param, message: download.message });
  });

  test("refuses what is not a picture", async () => {
    const { run } = chat({ messages }, { download: { bytes: new Uint8Array(1), mediaType: "text/html" } });
    expect(await errorOf(run())).toMatchObject({ param: "messages[0].content[0].image_url.url" });
  });
});

describe("gemini's embeddings", () => {
  const embeddings = (input: string | string[], answer: unknown, dimensions?: number) => {
    const request = { model: "m", input, ...(dimensions && { dimensions }) };
    const fake = fakeCall(request, { json: answer }, modelAt("gemini-embedding-001"));
    return { ...fake, run: () => gemini.handlers.embeddings?.(fake.call) };
  };

  test.each([["text"], [["text"]]])("asks for %p alone", async (input) => {
    const { run, asked } = embeddings(input, { embedding: { values: [1, 2] } }, 128);
    expect(await run()).toEqual({ vectors: [[1, 2]] });
    expect(asked).toMatchObject([
      {
        path: "/models/gemini-embedding-001:embedContent",
        body: { content: { parts: [{ text: "text" }] }, outputDimensionality: 128 },
      },
    ]);
  });

  test("asks for many in batches of a hundred and keeps their order", async () => {
    let at = 0;
    const texts = Array.from({ length: 250 }, (_, index) => String(index));
    const sizes = [100, 100, 50];
    const { run, asked } = embeddings(texts, () => {
      const size = sizes[at++] as number;
      return { embeddings: Array.from({ length: size }, (_, index) => ({ values: [100 * (at - 1) + index] })) };
    });
    expect((await run())?.vectors).toEqual(texts.map((text) => [Number(text)]));
    expect(asked.map(({ body }) => (body.requests as unknown[]).length)).toEqual(sizes);
  });

  test.each([null, {}, { embeddings: [{ values: [1] }] }, { embedding: { values: [1] } }, { embeddings: [{}, {}] }])(
    "fails on %j for two texts",
    async (answer) => {
      expect(await errorOf(embeddings(["a", "b"], answer).run())).toMatchObject({ kind: "bad_response" });
    },
  );
});
