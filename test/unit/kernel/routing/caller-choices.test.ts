import { describe, expect, test } from "bun:test";
import { describeRoutes } from "../../../../src/kernel/index.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  fromIterable,
} from "../../../../src/provider/index.ts";
import { classifyError } from "../../../../src/sdk/index.ts";
import { fetchOf, json, refused, settled } from "../fake-fetch.ts";
import { type Chat, listed, withVirtual } from "../fallback-bench.ts";
import { completionOf, Sink, textChunk } from "../streams.ts";
import { type Bench, chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });

const stateOf = ({ kernel, clock }: Bench) => describeRoutes(kernel.registry.byName("chat-1")!, clock.nowMs)[0]?.state;

describe("a stream that lasts longer than a call may", () => {
  const bounds = { callMsMax: 10_000 };

  /** Eight calls that begin to answer, and what is left when their time is over. */
  async function stateAfter(reader: Sink<ChatChunk>["reader"], pause: () => Promise<unknown>) {
    const chat = async () =>
      fromIterable(
        (async function* () {
          while (true) {
            yield textChunk("Hello");
            await pause();
          }
        })(),
      );
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

  test("does not make its model a slow one", async () => {
    const endless: Chat = async () =>
      fromIterable(
        (async function* () {
          while (true) {
            yield textChunk("Hello");
            await settled();
          }
        })(),
      );
    const plugins = ["a", "b"].map((id) =>
      createPlugin({ chat: endless }, { name: id, models: [{ ...chatModel, id }] }),
    );
    const bench = createBench(plugins, { bounds });
    withVirtual(bench, { id: "any", models: ["a", "b"], strategy: "fastest" });
    const askFirst = async () => {
      const call = chatCall({ model: "any", stream: true }, { sink: new Sink() });
      const done = rejectionOf(runCall(bench.kernel, call));
      for (let turn = 0; turn < 5; turn++) await settled();
      call.setDeadline(bench.clock.timeouts, bench.clock.nowMs);
      bench.clock.pass(0);
      await done;
      return call.run?.model;
    };
    expect([await askFirst(), await askFirst(), await askFirst()]).toEqual(["a", "a", "a"]);
  });

  test("counts against no route where it is long and goes on", async () => {
    expect(await stateAfter(() => undefined, settled)).toBe("closed");
  });
});

describe("what the provider says is not there", () => {
  async function stateAfter(error: Record<string, unknown>) {
    const bench = createBench([createPlugin({ chat })], { fetch: fetchOf(refused(404, error)) });
    for (let turn = 0; turn < 8; turn++) {
      const isPaused = stateOf(bench) === "open";
      const { code } = await rejectionOf(runCall(bench.kernel, chatCall()));
      expect(code).toBe(isPaused ? "unavailable" : "model_not_found");
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

describe("a request that was served", () => {
  const answers: Chat = async (call) => {
    const answer = await call.upstream.json<ChatCompletion>("/chat", {});
    if ("error" in answer) throw classifyError(answer);
    return answer;
  };
  const plugins = ["a", "b"].map((id) => createPlugin({ chat: answers }, { name: id, models: [{ ...chatModel, id }] }));
  const error = { type: "overloaded_error", message: "Busy" };

  test("is not sent to the next model of a list, whatever its provider says of it: both would be charged", async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 500, total_tokens: 509 };
    const fetch = fetchOf(json({ error, usage }), json(completionOf("Hi")));
    const { kernel, ledger } = createBench(plugins, { fetch });
    expect((await rejectionOf(runCall(kernel, listed(["a", "b"])))).code).toBe("upstream_error");
    expect(fetch.asked).toHaveLength(1);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { inputToken: 9, outputToken: 500 } });
  });

  test("is not one that its provider refused, which goes to the next model and costs nothing", async () => {
    const fetch = fetchOf(json({ error }), json(completionOf("Hi")));
    const { kernel, ledger } = createBench(plugins, { fetch });
    expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["released", "settled"]);
  });
});
