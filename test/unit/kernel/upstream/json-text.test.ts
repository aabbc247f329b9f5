import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readJsonBody } from "../../../../src/http/lifecycle/read-body.ts";
import { toJsonText } from "../../../../src/lib/json.ts";
import { anyJson, runs } from "../../../support/hostile.ts";
import { httpOf } from "../../http/support.ts";

type Body = Record<string, unknown>;
const padding = "x".repeat(5000);
const read = async (text: string) =>
  (await readJsonBody(new Request("http://gateway.example", { method: "POST", body: text }))) as Body;

function toWellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(toWellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name.toWellFormed(), toWellFormed(of)]));
}

describe("a request's text", () => {
  test("goes out as it came in, around the fields that changed", async () => {
    const messages = `[ {"role": "user", "content": "caf\\u00e9 ${padding}", "size": 1.0} ]`;
    const body = await read(`{"model":"a", "mess\\u0061ges": ${messages}, "n": 1}`);
    expect(toJsonText({ ...body, model: "b", n: undefined })).toBe(`{"model":"b","messages":${messages}}`);
  });

  test("is written again where it is short, or another value took its place", async () => {
    const body = await read(`{"messages": [ {"content": "short"} ], "tools": [ "${padding}" ]}`);
    expect(toJsonText({ ...body, tools: [...(body.tools as string[])] })).toBe(
      `{"messages":[{"content":"short"}],"tools":["${padding}"]}`,
    );
  });

  test.each([
    ["the last one counts", `{"messages":["${padding}"],"messages":["${padding}2"]}`],
    ["the last one is short", `{"messages":["${padding}"],"messages":[]}`],
    ["inside of a message", `{"messages":[{"content":"${padding}","content":"last"}]}`],
  ])("that gives a field twice is written as it was read: %s", async (_, text) => {
    expect(toJsonText(await read(text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  test("that is a list goes out as it was read", async () => {
    const text = `[["${padding}"], {"a":["${padding}"]}]`;
    expect(toJsonText(await read(text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  test("means the same whatever it is, with U+FFFD for half a character", async () => {
    const bodies = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "messages")), anyJson("messages"));
    const property = fc.asyncProperty(bodies, fc.nat(3), async (body, indent) => {
      const text = JSON.stringify({ ...body, tools: [body, padding] }, null, indent);
      expect(JSON.parse(toJsonText(await read(text)))).toEqual(toWellFormed(JSON.parse(text)));
    });
    await fc.assert(property, runs(200));
  });
});

test("a long request may name the models to try", async () => {
  const { post } = httpOf();
  const messages = [{ role: "user", content: padding }];
  for (const path of ["chat/completions", "messages", "responses"]) {
    const body = { models: ["chat-1"], messages, max_tokens: 9 };
    const response = await post(path, path === "responses" ? { models: ["chat-1"], input: messages } : body);
    expect([path, response.status]).toEqual([path, 200]);
  }
});

test("a request whose text goes out cannot be changed in place", async () => {
  const { messages } = (await read(`{"messages":[{"content":"${padding}"}]}`)) as { messages: Body[] };
  expect(() => messages.push({})).toThrow(TypeError);
  expect(() => Object.assign(messages[0] as Body, { content: "" })).toThrow(TypeError);
});

test("of lists no more members are held than a conversation has, in however many lists they stand", async () => {
  const { lists } = (await read(JSON.stringify({ lists: Array.from({ length: 1000 }, () => Array(450).fill(1)) }))) as {
    lists: number[][];
  };
  const held = lists.filter((list) => Object.isFrozen(list)).reduce((sum, { length }) => sum + length, 0);
  expect(held).toBeWithin(0, 10_001);
});
