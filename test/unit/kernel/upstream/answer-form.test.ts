import { expect, test } from "bun:test";
import { beginBody, formOf, hasContent } from "../../../../src/kernel/upstream/answer-form.ts";
import type { BodyReader } from "../../../../src/kernel/upstream/http-client.ts";

test("the form of an answer is told by its beginning", () => {
  const rows: [string, ReturnType<typeof formOf>][] = [
    ['{"choices":[]}', "json"],
    [" \n\n[1]", "json"],
    ['\uFEFF{"a":1}', "json"],
    ["data: {}\n\n", "events"],
    ["\n: keep-alive\n\n", "events"],
    ["event: message_start\n", "events"],
    ["id: 1\n", "events"],
    ["retry: 10\n", "events"],
    ["<!DOCTYPE html>", "page"],
    ["\0\0\0\x7f", "binary"],
    ["upstream connect error", "text"],
    ["database: gone", "text"],
    ["", "nothing"],
    [" \r\n ", "nothing"],
  ];
  expect(rows.map(([text]) => [text, formOf(text)])).toEqual(rows);
});

function bodyOf(...pieces: string[]): BodyReader {
  const read = async () => {
    const piece = pieces.shift();
    return piece === undefined ? undefined : new TextEncoder().encode(piece);
  };
  return { read, cancel: () => undefined, drain: () => undefined } as unknown as BodyReader;
}

test("a body is read until its form is known, and then from its beginning", async () => {
  const rows: [pieces: string[], form: string, left: number][] = [
    [["\n", " ", "\n", '{"a"', ":1}"], "json", 1],
    [["d", "ata", ": 1\n\n", "data: 2\n\n"], "events", 1],
    [["", ""], "nothing", 0],
    [["b", "ad gateway", "!"], "text", 1],
  ];
  for (const [pieces, wanted, left] of rows) {
    const rest = [...pieces];
    const source = bodyOf(...rest);
    const { form, body } = await beginBody(source);
    expect(form).toBe(wanted as typeof form);
    let text = "";
    let read = 0;
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      text += new TextDecoder().decode(piece);
      read++;
    }
    expect([text, read]).toEqual([pieces.join(""), pieces.length]);
    expect(left).toBeLessThan(pieces.length + 1);
  }
});

test("what a model made is told from an envelope and from an error", () => {
  const filled = [
    { choices: [{ delta: { content: "x" } }] },
    { choices: [{ text: "x" }] },
    { choices: [{ delta: { tool_calls: [{ function: { arguments: "{" } }] } }] },
    { content: [{ type: "tool_use", input: { city: "Paris" } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] } }] },
    { type: "content_block_start", content_block: { type: "tool_use", name: "f", input: {} } },
    { candidates: [{ content: { parts: [{ text: "x" }] } }] },
    { output: { message: { content: [{ text: "x" }] } } },
    { type: "response.output_text.delta", delta: "x" },
    { data: [{ embedding: [0.1] }] },
    { data: [{ b64_json: "iVBO" }] },
  ];
  const empty = [
    {},
    { choices: [] },
    { choices: [{ message: null }] },
    { choices: [{ delta: { role: "assistant", content: "" } }] },
    { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], usage: { output_tokens: 1 } } },
    { type: "response.created", response: { id: "resp_1", output: [], status: "in_progress" } },
    { error: { message: "No", content: "x" } },
    { detail: "busy" },
    { code: 1305, msg: "busy" },
    { base_resp: { status_code: 1002, status_msg: "rate limit" }, choices: null },
    "[DONE]",
    null,
  ];
  expect(filled.filter((answer) => !hasContent(answer))).toEqual([]);
  expect(empty.filter((answer) => hasContent(answer))).toEqual([]);
});

test("an answer that is too large to be looked through counts as one with content", () => {
  expect(hasContent({ a: Array(100).fill(1) })).toBe(false);
  expect(hasContent({ a: Array(20_000).fill(1) })).toBe(true);
  expect(hasContent({ a: Array(200).fill(Array(100).fill({})) })).toBe(true);
});
