import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../../plugins/index.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { bench, listed, works } from "../fallback-bench.ts";
import { caller, chatCall, createBench, rejectionOf, runCall } from "../support.ts";

const all = ["vision", "tools", "json_schema", "audio", "pdf"] as const;
const rows: Record<string, Partial<Model>> = {
  plain: { features: [] },
  able: { features: [...all], contextTokens: 100_000 },
  unknown: {},
};
const one = () => bench({ plain: works, able: works, unknown: works }, rows);

const withPart = (part: object) => ({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, part] }] });
const requests: [string, Record<string, unknown>, string, string][] = [
  [
    "a picture",
    withPart({ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }),
    "does not support image input",
    "messages[0].content[1]",
  ],
  [
    "audio",
    withPart({ type: "input_audio", input_audio: { data: "AA", format: "wav" } }),
    "does not support audio input",
    "messages[0].content[1]",
  ],
  [
    "a PDF",
    withPart({ type: "file", file: { file_data: "data:application/pdf;base64,AA" } }),
    "does not support PDF input",
    "messages[0].content[1]",
  ],
  ["tools", { tools: [{ type: "function", function: { name: "f" } }] }, "does not support tool calls", "tools"],
  ["functions", { functions: [{ name: "f" }] }, "does not support tool calls", "functions"],
  [
    "a schema",
    { response_format: { type: "json_schema", json_schema: { name: "x", schema: {} } } },
    "does not support JSON-schema output",
    "response_format",
  ],
];

describe("a request that a model cannot serve", () => {
  test.each(requests)("with %s is refused before the hold, naming models that can", async (_, request, said, param) => {
    const { kernel, ledger } = one();
    const error = await rejectionOf(runCall(kernel, chatCall({ model: "plain", ...request })));
    expect([error.code, error.message, error.param]).toEqual([
      "invalid_request",
      `The model 'plain' ${said}; models that can: able`,
      param,
    ]);
    expect(ledger.claims).toEqual([]);
  });

  test.each(requests)("with %s passes where the row has the feature or says nothing", async (_, request) => {
    const { kernel } = one();
    for (const model of ["able", "unknown"]) {
      expect((await runCall(kernel, chatCall({ model, ...request })))?.model).toBe(model);
    }
  });

  test("names only models that the key may use", async () => {
    const { kernel } = one();
    const narrow = { ...caller, allowedModels: new Set(["plain"]) };
    const call = chatCall({ model: "plain", functions: [{ name: "f" }] }, { caller: narrow });
    expect((await rejectionOf(runCall(kernel, call))).message).toEndWith(
      "GET /models lists the capabilities of each model",
    );
  });

  test("goes to the next of several models", async () => {
    const { kernel, ledger } = one();
    const call = listed(["plain", "able"], { functions: [{ name: "f" }] });
    expect((await runCall(kernel, call))?.model).toBe("able");
    expect(ledger.claims.map(({ model }) => model)).toEqual(["able"]);
  });

  test("and wants less output than /responses makes gets the least that there is", async () => {
    const sent: unknown[] = [];
    const fetch = async (_: unknown, init?: RequestInit) => {
      sent.push((JSON.parse(String(init?.body)) as Record<string, unknown>).max_output_tokens);
      return Response.json({});
    };
    const { kernel } = createBench(
      builtIns.filter(({ name }) => name === "openai"),
      { fetch: fetch as typeof globalThis.fetch, credentials: { openai: { keys: ["k"] } } },
    );
    for (const limit of [{ max_tokens: 1 }, { max_completion_tokens: 15 }, { max_tokens: 17 }]) {
      await rejectionOf(runCall(kernel, chatCall({ model: "gpt-5.5-pro", ...limit })));
    }
    expect([...new Set(sent)]).toEqual([16, 17]);
  });

  test("because it has more words than the context has tokens is refused; fewer words are the provider's to count", async () => {
    const { kernel, ledger } = one();
    const say = (words: number) => ({ messages: [{ role: "user", content: "word ".repeat(words) }] });
    const error = await rejectionOf(runCall(kernel, chatCall({ model: "unknown", ...say(8001) })));
    expect([error.code, error.param]).toEqual(["context_length_exceeded", "messages"]);
    expect(error.message).toBe(
      "This model's maximum context length is 8000 tokens. However, your messages have more words than that; models that can: able",
    );
    expect(ledger.claims).toEqual([]);
    expect((await runCall(kernel, chatCall({ model: "unknown", ...say(8000) })))?.model).toBe("unknown");
    const oneWord = { messages: [{ role: "user", content: `x${"-".repeat(50_000)}` }] };
    expect((await runCall(kernel, chatCall({ model: "unknown", ...oneWord })))?.model).toBe("unknown");
  });
});
