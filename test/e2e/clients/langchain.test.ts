import { beforeAll, describe, expect, test } from "bun:test";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { gather } from "./talkers.ts";

const shared = useSandboxGateway();
const chatWith = (apiKey: string, fields: { temperature?: number } = {}) =>
  new ChatOpenAI({
    ...fields,
    model: "famA-4o-mini",
    apiKey,
    maxRetries: 0,
    useResponsesApi: false,
    configuration: { baseURL: shared.gateway.baseUrl },
  });

let chat: ChatOpenAI;
beforeAll(() => {
  chat = chatWith(shared.gateway.key);
});

const addNumbers = {
  type: "function" as const,
  function: {
    name: "add_numbers",
    parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  },
};

const totalOf = (message: object) =>
  (message as { usage_metadata?: { total_tokens: number } }).usage_metadata?.total_tokens;

describe("LangChain JS", () => {
  test("answers and streams, with usage", async () => {
    const answer = await chat.invoke("Say hello to Ada");
    const streamed = await gather(await chat.stream("Say hello to Ada"));
    expect(answer.text).toContain("Ada");
    expect(streamed.text).toBe(answer.text);
    expect(totalOf(answer)).toBeGreaterThan(0);
    expect(totalOf(streamed)).toBe(totalOf(answer) as number);
  });

  test.each([false, true])("calls a tool and goes on with its result (stream: %p)", async (streamed) => {
    const bound = chat.bindTools([addNumbers]);
    const question = new HumanMessage("Use add_numbers for 5 and 7");
    const answer = streamed ? await gather(await bound.stream([question])) : await bound.invoke([question]);
    const [call] = answer.tool_calls ?? [];
    expect([call?.name, Object.keys(call?.args ?? {}).sort()]).toEqual(["add_numbers", ["a", "b"]]);
    const result = new ToolMessage({ tool_call_id: call?.id as string, content: "twelve" });
    expect((await bound.invoke([question, answer, result])).text).toContain("twelve");
  });

  test("fills a schema", async () => {
    const schema = { title: "place", type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const structured = chat.withStructuredOutput<{ city: string }>(schema, { method: "jsonSchema" });
    expect(Object.keys(await structured.invoke("Name a city"))).toEqual(["city"]);
  });

  test("sends an image", async () => {
    const url =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: { url } },
    ];
    expect((await chat.invoke([new HumanMessage({ content })])).text).toContain("attachment");
  });

  test("embeds", async () => {
    const embeddings = new OpenAIEmbeddings({
      model: "text-embedding-3-small",
      apiKey: shared.gateway.key,
      configuration: { baseURL: shared.gateway.baseUrl },
    });
    expect((await embeddings.embedDocuments(["one", "two"])).map((vector) => vector.length)).toEqual([1536, 1536]);
  });

  const failures: [number, () => Promise<unknown>][] = [
    [400, () => chatWith(shared.gateway.key, { temperature: 3 }).invoke("a")],
    [401, () => chatWith("sk-wrong").invoke("a")],
    [429, () => chat.invoke("[[fault:status=429]]")],
    [500, () => chat.invoke("[[fault:status=503]]")],
  ];
  test.each(failures)("throws with the status %d", async (status, ask) => {
    const error = await ask().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect((error as { status?: number }).status).toBe(status);
  });
});
