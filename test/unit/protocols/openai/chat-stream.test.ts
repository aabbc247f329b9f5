import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { OpenaiStream } from "../../../../src/protocols/openai/chat.ts";
import type { ChatOptions } from "../../../../src/protocols/openai/request.ts";
import { drain, eventsOf } from "../../sdk/fake-call.ts";

const chunk = (delta: object, finish: string | null = null, rest: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
const done = "data: [DONE]\n\n";
const read = (text: string, options: ChatOptions = {}) => drain(new OpenaiStream(eventsOf(text), options));
const deltasOf = (chunks: { choices: { delta: unknown }[] }[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));

describe("OpenaiStream", () => {
  test("passes chunks up to [DONE]", async () => {
    const { items, error } = await read(
      chunk({ content: "a" }) + chunk({}, "stop") + done + chunk({ content: "late" }),
    );
    expect(error).toBeUndefined();
    expect(deltasOf(items)).toEqual([{ content: "a" }, {}]);
  });

  test("needs no [DONE] after a finish reason", async () => {
    expect((await read(chunk({ content: "a" }, "stop"))).error).toBeUndefined();
  });

  test.each([
    ["before its end", chunk({ content: "a" })],
    ["before its beginning", ""],
    ["after pings", ": ping\n\nevent: ping\ndata: {}\n\n"],
    ["within a chunk", chunk({ content: "a" }).slice(0, -9)],
  ])("is broken when the stream ends %s", async (_, text) => {
    const { error } = await read(text);
    expect(error).toBeInstanceOf(UpstreamError);
    expect(error).toMatchObject({ kind: "bad_response" });
  });

  test.each<[string, string, object]>([
    [
      "an error as the first event",
      'data: {"error":{"message":"Busy","type":"server_error"}}\n\n',
      { kind: "server_error", message: "Busy" },
    ],
    [
      "an error after chunks",
      `${chunk({ content: "a" })}data: {"error":{"message":"Busy","type":"server_error"}}\n\n`,
      { kind: "server_error" },
    ],
    [
      "an event named error",
      'event: error\ndata: {"message":"No","type":"invalid_request_error"}\n\n',
      { kind: "bad_request", message: "No" },
    ],
    [
      "an event named error that is not JSON",
      "event: error\ndata: it broke\n\n",
      { kind: "bad_response", message: "it broke" },
    ],
    [
      "an error that stands in no field",
      '{"error":{"code":503,"message":"Busy"}}',
      { kind: "overloaded", status: 503 },
    ],
    ["HTML", "<html></html>", { kind: "bad_response" }],
    ["what is not JSON", "data: {oops\n\n", { kind: "bad_response" }],
    [
      "a whole answer instead of events",
      '{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}',
      { kind: "bad_response", message: "The provider sent a whole response, expected a stream" },
    ],
  ])("throws %s", async (_, text, fault) => {
    const { error } = await read(text);
    expect(error).toBeInstanceOf(UpstreamError);
    expect(error).toMatchObject(fault);
  });

  test("finds usage where the provider put it, and takes its own figures out", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, queue_time: 0.1 };
    const options = { usageIn: "x_groq", drop: ["x_groq", "queue_time"] };
    const { items } = await read(chunk({}, "stop", { x_groq: { usage } }) + done, options);
    expect(items[0]?.usage).toEqual({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 });
  });

  test("passes a chunk that holds only usage", async () => {
    const { items } = await read(`${chunk({}, "stop")}data: {"usage":{"prompt_tokens":1}}\n\n`);
    expect(items[1]).toEqual({ choices: [], usage: { prompt_tokens: 1 } });
  });

  test("names reasoning reasoning_content", async () => {
    const { items } = await read(chunk({ reasoning: "Hm", channel: "analysis" }) + chunk({ reasoning: null }) + done, {
      drop: ["channel"],
    });
    expect(deltasOf(items)).toEqual([{ reasoning_content: "Hm" }, {}]);
  });

  test("takes thinking out of the content of each choice", async () => {
    const pieces = ["<th", "ink>H", "m</thi", "nk>\n\nYe", "s"].map((content) => chunk({ content })).join("");
    const { items } = await read(pieces + chunk({}, "stop") + done, { think: true });
    const deltas = deltasOf(items) as { content?: string; reasoning_content?: string }[];
    expect(deltas.map(({ content = "" }) => content).join("")).toBe("Yes");
    expect(deltas.map(({ reasoning_content: text = "" }) => text).join("")).toBe("Hm");
  });

  test("takes thoughts out of the content where each chunk has an empty reason to finish", async () => {
    const pieces = ["<think>Hm</think>", "Yes"].map((content) => chunk({ content }, "")).join("");
    const { items } = await read(pieces + chunk({}, "stop") + done, { think: true });
    const deltas = deltasOf(items) as { content?: string; reasoning_content?: string }[];
    expect(deltas.map(({ content = "" }) => content).join("")).toBe("Yes");
    expect(deltas.map(({ reasoning_content: text = "" }) => text).join("")).toBe("Hm");
  });

  test("gives back at the end what it held for a tag", async () => {
    const { items } = await read(chunk({ content: "<thi" }) + chunk({}, "length") + done, { think: true });
    expect(deltasOf(items)).toEqual([{ content: "" }, { content: "<thi" }]);
  });

  test("puts finish reasons in OpenAI's words", async () => {
    const { items } = await read(chunk({}, "eos") + chunk({}, "max"), {
      finishReasons: { eos: "stop", max: "length" },
    });
    expect(items.map(({ choices }) => choices[0]?.finish_reason)).toEqual(["stop", "length"]);
  });
});
