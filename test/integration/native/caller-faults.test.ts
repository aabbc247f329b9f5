import { afterEach, describe, expect, test } from "bun:test";
import { claude, gpt, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const files = {
  "catalogue/virtual.json": {
    models: [
      { id: "safe", models: [claude, gpt] },
      { id: "other", models: [gpt, claude] },
    ],
  },
};
const messages = [{ role: "user", content: "Hi" }];
const claudeAnswer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-upstream",
  content: [{ type: "text", text: "From Claude" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 4 },
};

async function start(answer: (seen: Seen) => Response, answerBytesMax?: number): Promise<NativeBench> {
  const bench = await startNative(answer, {
    files,
    ...(answerBytesMax !== undefined && { bounds: { answerBytesMax } }),
  });
  toStop.push(bench);
  return bench;
}

describe("what a caller chose opens no circuit", () => {
  test("a header that no provider can get is refused with its name, and others are served by the same model", async () => {
    const { ask, seen } = await start(() => Response.json(claudeAnswer));
    const body = { model: claude, max_tokens: 10, messages };
    for (let turn = 0; turn < 8; turn++) {
      const response = await ask("/messages", body, { "anthropic-beta": "caf\u00e9" });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { type: "invalid_request_error", message: expect.stringContaining("anthropic-beta") },
      });
    }
    expect(seen).toEqual([]);
    const other = await ask("/messages", { ...body, model: "safe" });
    expect([other.status, await other.json()]).toMatchObject([200, { model: claude }]);
  });

  test("a stream with an event too long to read leaves its route in use", async () => {
    const [answerBytesMax, rest] = [100_000, "x".repeat(100_001)];
    let isLong = true;
    const { ask } = await start(
      () => (isLong ? streamOf(`data: ${rest}\n\n`) : Response.json(claudeAnswer)),
      answerBytesMax,
    );
    const body = { model: claude, max_tokens: 10, messages };
    for (let turn = 0; turn < 6; turn++) {
      const response = await ask("/messages", { ...body, stream: true });
      expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("has an event of more")]);
    }
    isLong = false;
    const other = await ask("/messages", { ...body, model: "safe" });
    expect([other.status, await other.json()]).toMatchObject([200, { model: claude }]);
  });

  test("a file that the provider does not have leaves its route in use", async () => {
    const error = { type: "not_found_error", message: "File not found: file_1" };
    let isMissing = true;
    const { ask } = await start(() =>
      isMissing ? Response.json({ type: "error", error }, { status: 404 }) : Response.json(claudeAnswer),
    );
    const file = { role: "user", content: [{ type: "document", source: { type: "file", file_id: "file_1" } }] };
    const body = { model: claude, max_tokens: 10, messages };
    for (let turn = 0; turn < 6; turn++) {
      expect((await ask("/messages", { ...body, messages: [file] })).status).toBeGreaterThanOrEqual(400);
    }
    isMissing = false;
    const other = await ask("/messages", { ...body, model: "safe" });
    expect([other.status, await other.json()]).toMatchObject([200, { model: claude }]);
  });

  test.each([
    ["the Responses protocol", "/responses", { model: gpt, input: "Hi" }],
    ["the Responses protocol, streamed", "/responses", { model: gpt, input: "Hi", stream: true }],
  ])("a picture that a model cannot take leaves its route in use: %s", async (_, path, body) => {
    const error = { code: "failed_to_download_image", message: "There is no picture" };
    const failed = { id: "resp_1", object: "response", status: "failed", model: gpt, output: [], error };
    const whole = {
      ...failed,
      status: "completed",
      error: null,
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      output: [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          content: [{ type: "output_text", text: "Hi", annotations: [] }],
        },
      ],
    };
    const events = [
      { type: "response.created", sequence_number: 0, response: { ...failed, status: "in_progress", error: null } },
      { type: "response.failed", sequence_number: 1, response: failed },
    ];
    const streamed = () =>
      streamOf(events.map((part) => `event: ${part.type}\ndata: ${JSON.stringify(part)}\n\n`).join(""));
    let isBad = true;
    const { ask } = await start((seen) => {
      if (!isBad) return Response.json(whole);
      return seen.body.stream === true ? streamed() : Response.json(failed);
    });
    for (let turn = 0; turn < 6; turn++) {
      const response = await ask(path, body);
      expect(await response.text()).toContain("There is no picture");
    }
    isBad = false;
    const other = await ask("/responses", { model: "other", input: "Hi" });
    expect([other.status, await other.json()]).toMatchObject([200, { model: gpt }]);
  });
});
