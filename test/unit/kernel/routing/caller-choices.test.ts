import { describe, expect, test } from "bun:test";
import type { Call, ChatChunk, ChatCompletion, ChatRequest } from "../../../../src/contract/index.ts";
import { describeRoutes, runCall } from "../../../../src/kernel/index.ts";
import { fetchOf, refused, settled } from "../fake-fetch.ts";
import { Sink, textChunk } from "../streams.ts";
import { type Bench, chatCall, createBench, createPlugin, rejectionOf } from "../support.ts";

const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });

const stateOf = ({ kernel, clock }: Bench) => describeRoutes(kernel.registry.byName("chat-1")!, clock.nowMs)[0]?.state;

describe("a stream that lasts longer than a call may", () => {
  const bounds = { callMsMax: 10_000 };

  /** Eight calls that begin to answer, and what is left when their time is over. */
  async function stateAfter(reader: Sink<ChatChunk>["reader"], pause: () => Promise<unknown>) {
    const chat = async () =>
      (async function* () {
        while (true) {
          yield textChunk("Hello");
          await pause();
        }
      })();
    const bench = createBench([createPlugin({ chat })], { bounds });
    const ended = Array.from({ length: 8 }, () => {
      const sink = new Sink<ChatChunk>();
      sink.reader = reader;
      return rejectionOf(runCall(bench.kernel, chatCall({ stream: true }, { sink })));
    });
    for (let turn = 0; turn < 5; turn++) await settled();
    bench.clock.pass(10_000);
    const codes = (await Promise.all(ended)).map(({ code }) => code);
    expect(codes).toEqual(codes.map(() => "upstream_timeout"));
    expect(bench.ledger.settlements).toHaveLength(8);
    return stateOf(bench);
  }

  test("counts against no route where its client reads nothing of it", async () => {
    expect(await stateAfter(() => new Promise(() => undefined), settled)).toBe("closed");
  });

  test("counts against no route where it is long and goes on", async () => {
    expect(await stateAfter(() => undefined, settled)).toBe("closed");
  });
});

describe("what the provider says is not there", () => {
  async function stateAfter(error: Record<string, unknown>) {
    const bench = createBench([createPlugin({ chat })], { fetch: fetchOf(refused(404, error)) });
    for (let turn = 0; turn < 8; turn++) {
      expect((await rejectionOf(runCall(bench.kernel, chatCall()))).code).toBe("model_not_found");
    }
    return stateOf(bench);
  }

  test.each([
    { type: "not_found_error", message: "File not found: file_1" },
    { status: "NOT_FOUND", code: 404, message: "The cached content does not exist" },
    { message: "upstream-chat-1 is not a file" },
  ])("may be a file that the request names, so that it counts against no route: %j", async (error) => {
    expect(await stateAfter(error)).toBe("closed");
  });

  test("counts where it is the model", async () => {
    expect(await stateAfter({ code: "model_not_found", message: "No such model" })).toBe("open");
  });
});
