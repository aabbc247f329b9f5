import { afterEach, describe, expect, test } from "bun:test";
import { eventCharactersMaxDefault } from "../../../src/sdk/sse.ts";
import { claude, gpt, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const files = { "catalogue/virtual.json": { models: [{ id: "safe", models: [claude, gpt] }] } };
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

async function start(answer: (seen: Seen) => Response): Promise<NativeBench> {
  const bench = await startNative(answer, { files });
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
    const long = `data: ${"x".repeat(eventCharactersMaxDefault + 1)}\n\n`;
    let isLong = true;
    const { ask } = await start(() => (isLong ? streamOf(long) : Response.json(claudeAnswer)));
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
});
