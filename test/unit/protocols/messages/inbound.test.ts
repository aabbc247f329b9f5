import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { refuseOtherProtocols } from "../../../../src/protocols/messages/inbound.ts";
import { MessagesRequest } from "../../../../src/protocols/messages/schema.ts";
import { ChatRequest } from "../../../../src/provider/index.ts";
import { planOf, refusalOf, requestOf, translated } from "./support.ts";

/** A request and what must come of it: fields of the chat request (`null`: absent) and warnings, or how it is refused. */
interface Case {
  name: string;
  request: Record<string, unknown>;
  chat?: Record<string, unknown>;
  warnings?: string[];
  refused?: string;
}

const folder = join(import.meta.dir, "../../../fixtures/messages/requests");

describe.each(readdirSync(folder))("%s", (file) => {
  const cases = JSON.parse(readFileSync(join(folder, file), "utf8")) as Case[];
  test.each(cases.map((golden) => [golden.name, golden] as const))("%s", (_, { request, chat, warnings, refused }) => {
    const body = requestOf(request);
    expect([...Value.Errors(MessagesRequest, body)]).toEqual([]);
    const before = structuredClone(body);
    if (refused !== undefined) {
      const error = refusalOf(() => translated(body));
      expect({ code: error.code, message: error.message }).toEqual({ code: "invalid_request", message: refused });
      expect(error.message).toStartWith(`${error.param}: `);
      return;
    }
    const result = translated(body);
    expect(body).toEqual(before);
    expect([...Value.Errors(ChatRequest, result.request)]).toEqual([]);
    for (const [field, value] of Object.entries(chat ?? {})) {
      expect<unknown>([field, result.request[field as keyof ChatRequest] ?? null]).toEqual([field, value]);
    }
    expect(result.warnings).toEqual(warnings ?? []);
  });
});

describe("a translated request", () => {
  test("asks for no more tokens than the model writes", () => {
    const body = requestOf({ max_tokens: 128_000 });
    expect(translated(body).request.max_completion_tokens).toBe(128_000);
    expect(translated(body, 16_384).request.max_completion_tokens).toBe(16_384);
    expect(translated(requestOf({ max_tokens: 100 }), 16_384).request.max_completion_tokens).toBe(100);
  });

  test("holds no temperature that the client did not send", () => {
    expect(Object.keys(translated(requestOf({})).request).sort()).toEqual([
      "max_completion_tokens",
      "messages",
      "model",
    ]);
  });

  test("shortens names beyond 64 characters, the same in tools, choice and calls", () => {
    const name = `mcp__${"a".repeat(90)}`;
    const { request, plan } = translated(
      requestOf({
        tools: [{ name, input_schema: { type: "object" } }],
        tool_choice: { type: "tool", name },
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: [{ type: "tool_use", id: "1", name, input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "done" }] },
        ],
      }),
    );
    const sent = request.tools?.[0]?.function.name ?? "";
    expect(sent).toHaveLength(64);
    expect(request.tool_choice).toEqual({ type: "function", function: { name: sent } });
    expect(request.messages[1]?.tool_calls?.[0]?.function.name).toBe(sent);
    expect(plan.names.toOriginal(sent)).toBe(name);
  });

  test.each([
    [{}, "none"],
    [{ thinking: { type: "disabled" } }, "none"],
    [{ thinking: { type: "adaptive" } }, "shown"],
    [{ thinking: { type: "adaptive", display: "omitted" } }, "omitted"],
    [{ output_config: { effort: "low" } }, "shown"],
  ] as const)("plans thoughts of %j as %s", (fields, thoughts) => {
    expect(planOf(fields).thoughts).toBe(thoughts);
  });
});

test.each([
  ["input", { model: "m", input: "Hi" }, "/responses"],
  [
    "messages.1",
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "tool", content: "x" },
      ],
    },
    "/chat/completions",
  ],
  ["messages.0", { messages: [{ role: "developer", content: "Hi" }] }, "/chat/completions"],
  ["messages.0", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }, "/chat/completions"],
  ["tools", { messages: [], tools: [{ type: "function", function: { name: "look" } }] }, "/chat/completions"],
  ["max_completion_tokens", { messages: [], max_completion_tokens: 5 }, "/chat/completions"],
])("a body of another protocol is refused at %s", (param, body, path) => {
  const error = refusalOf(() => refuseOtherProtocols(body));
  expect(error.param).toBe(param);
  expect(error.message).toContain(path);
});

test.each([[requestOf({})], [null], ["text"], [{ messages: {} }]])("what is of no other protocol passes", (body) => {
  expect(refuseOtherProtocols(body)).toBeUndefined();
});
