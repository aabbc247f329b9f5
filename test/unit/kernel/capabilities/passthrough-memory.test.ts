import { expect, test } from "bun:test";
import { type Caller, GatewayError } from "../../../../src/contract/index.ts";
import { type OpenedPassthrough, sendPassthrough } from "../../../../src/kernel/capabilities/passthrough.ts";
import { ClientCall, type Kernel, ModelRun, Passthrough } from "../../../../src/kernel/index.ts";
import { UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";
import { readsBatches } from "../../../../src/kernel/streaming.ts";
import { responsesFormat } from "../../../../src/protocols/responses/passthrough.ts";
import type { ChatRequest, Model, ServerEvent } from "../../../../src/provider/index.ts";
import { errorOf } from "../../../support/error-of.ts";

const model = { id: "m", capability: "chat", premium: false } as Model;

/** Hands a stream of these events on. `room` is how much memory it may take, in bytes. Returns how much was taken. */
async function handOn(parts: object[], room: number): Promise<number> {
  let taken = 0;
  const body = { model: "m", stream: true };
  const request = { ...body, messages: [] } as ChatRequest;
  const call = new ClientCall({
    id: "req_1",
    openedAt: 0,
    startedMs: 0,
    caller: { accountId: "a" } as Caller,
    capability: "chat",
    body: request,
    protocol: "responses",
    sink: { open: () => undefined, write: () => undefined, pass: () => undefined },
    memory: {
      isLarge: false,
      reserve: () => undefined,
      reserveAnswer(bytes) {
        taken += bytes;
        if (taken > room) throw new GatewayError("unavailable", "There is no room");
      },
    },
  });
  const modelEntry = { model, compiledPrice: undefined, routes: [] };
  const run = new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
  const events = parts.map((part): ServerEvent => ({ event: "message", data: JSON.stringify(part) }));
  const reader = { [readsBatches]: true, read: async () => undefined, cancel: () => undefined };
  const opened: OpenedPassthrough = {
    passthrough: new Passthrough({ format: responsesFormat, body }, {}, 0),
    readUsage: () => ({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }),
    stream: { first: events, reader },
  };
  await sendPassthrough({} as Kernel, run, opened);
  return taken;
}

const last = { type: "response.completed", response: { status: "completed", output: [] } };
const text = "x".repeat(100_000);
const item = { type: "reasoning", id: "rs", summary: [], encrypted_content: text };

test("what is kept of a stream that is handed on is counted in memory, whatever it comes in", async () => {
  const done = { type: "response.output_item.done", output_index: 0, item };
  const pieces = Array.from({ length: 100 }, () => ({
    type: "response.output_text.delta",
    output_index: 0,
    delta: text.slice(0, 1000),
  }));
  expect(await handOn([done, last], Number.POSITIVE_INFINITY)).toBeGreaterThan(text.length);
  expect(await handOn([...pieces, last], Number.POSITIVE_INFINITY)).toBeGreaterThan(text.length);
  expect(await handOn([...pieces.slice(0, 10), last], 0)).toBe(0);
  expect(await errorOf(handOn([done, last], 1000))).toMatchObject({ code: "unavailable" });
});
