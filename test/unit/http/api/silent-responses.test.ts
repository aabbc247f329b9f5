import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { SseHeartbeat } from "../../../../src/http/sse/sse-stream.bun.ts";
import { responsesHandlers } from "../../../../src/protocols/responses/passthrough.ts";
import type { ChatChunk, ProviderPlugin, ServerEvent } from "../../../../src/provider/index.ts";
import { parseEvents } from "../../../support/sse.ts";
import { settled } from "../../kernel/fake-fetch.ts";
import { finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const streamed = { model: "chat-1", input: "Say hello", stream: true };
/** The third tick of a stream that has not begun, the second of one that has. */
const [ticksClosed, ticksOpen] = [3, 2];

/** A gateway whose clock for heartbeats stands, so that the test lets it tick. */
function silentHttp(...plugins: ProviderPlugin[]) {
  const heartbeat = new SseHeartbeat(1_000_000_000);
  const beat = async (ticks: number) => {
    for (let tick = 0; tick < ticks; tick++) heartbeat.tick();
    await settled();
  };
  return { ...httpOf(plugins, { heartbeat }), beat };
}

/** Events that come when the test lets them: each gate is one that the provider waits at. */
class GatedStream<Item> implements AsyncIterable<Item> {
  readonly events = this;
  readonly #gates = new Map<number, PromiseWithResolvers<void>>();
  readonly #steps: readonly (Item | Error | "wait")[];

  constructor(...steps: (Item | Error | "wait")[]) {
    this.#steps = steps;
    for (const [at, step] of steps.entries()) if (step === "wait") this.#gates.set(at, Promise.withResolvers());
  }

  /** Opens the first gate that is closed. */
  release(): void {
    const [[at, gate] = []] = this.#gates;
    if (at === undefined) throw new Error("No gate is closed");
    this.#gates.delete(at);
    gate?.resolve();
  }

  push = (item: Item) => [item];
  end = () => [];

  async *[Symbol.asyncIterator]() {
    for (const [at, step] of this.#steps.entries()) {
      if (step === "wait") await this.#gates.get(at)?.promise;
      else if (step instanceof Error) throw step;
      else yield step as Item;
    }
  }
}

interface SentEvent {
  type: string;
  sequence_number: number;
  delta?: string;
  response?: { id: string; status: string; output: unknown[]; error?: { code: string } | null };
}

const typesOf = (events: readonly SentEvent[]) => events.map(({ type }) => type.replace("response.", ""));
const idsOf = (events: readonly SentEvent[]) => [...new Set(events.flatMap(({ response }) => response?.id ?? []))];
/** Heartbeats repeat the number before them; all other events go on from it. */
function expectRising(events: readonly SentEvent[]) {
  let last = -1;
  for (const { type, sequence_number: number } of events) {
    const isRepeated = type === "response.in_progress" && number === last;
    expect([type, isRepeated || number === last + 1]).toEqual([type, true]);
    last = number;
  }
}

/** A provider that speaks the protocol itself, with ids of its own. */
const native = (stream: AsyncIterable<ServerEvent>, name = "acme") => {
  const { responses } = responsesHandlers({});
  const upstream = { events: async () => stream } as never;
  return createPlugin(
    {
      chat: () => Promise.reject(new Error("Asked by chat")),
      responses: async (call) => await (responses as NonNullable<typeof responses>)({ ...call, upstream }),
    },
    { name },
  );
};
const event = (type: string, number: number, fields: object = {}): ServerEvent => ({
  event: `response.${type}`,
  data: JSON.stringify({ type: `response.${type}`, sequence_number: number, ...fields }),
});
const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const theirs = (status: string, more: object = {}) => ({
  response: { id: "resp_theirs", object: "response", status, model: "theirs", output: [], ...more },
});
const opening = [event("created", 0, theirs("in_progress")), event("in_progress", 1, theirs("in_progress"))];
const delta = (number: number, text: string) =>
  event("output_text.delta", number, { item_id: "m", output_index: 0, content_index: 0, delta: text });
const item = { type: "message", id: "m", role: "assistant", status: "completed", content: [] };
const added = event("output_item.added", 2, { output_index: 0, item });
const done = (number: number) => event("output_item.done", number, { output_index: 0, item });
const completed = (number: number) => event("completed", number, theirs("completed", { usage, output: [item] }));

describe("a silent stream of a translated response", () => {
  test("begins at the first heartbeat, repeats that it goes on, and ends under the id with which it began", async () => {
    const stream = new GatedStream<ChatChunk>(
      "wait",
      textChunk("Hel"),
      "wait",
      textChunk("lo"),
      finishChunk(),
      usageChunk(),
    );
    const { post, beat } = silentHttp(createPlugin({ chat: async () => stream }));
    const answering = post("responses", streamed);
    await settled();
    await beat(ticksClosed);
    const response = await answering;
    const text = response.text();
    await beat(ticksOpen);
    stream.release();
    await settled();
    await beat(ticksOpen);
    stream.release();
    const { events } = parseEvents<SentEvent>(await text);
    expect(typesOf(events).slice(0, 7)).toEqual([
      "created",
      "in_progress",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "in_progress",
    ]);
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
    expectRising(events);
    expect(idsOf(events).length).toBe(1);
    // What was said so far is not sent again and again.
    expect(
      events.filter(({ type }) => type === "response.in_progress").map(({ response }) => response?.output),
    ).toEqual([[], [], []]);
  });

  test("still goes to another route when its provider fails", async () => {
    const gate = Promise.withResolvers<void>();
    const names: string[] = [];
    const plugins = ["first", "second"].map((name) =>
      createPlugin(
        {
          async chat() {
            names.push(name);
            if (names.length > 1) return new GatedStream<ChatChunk>(textChunk("Hello"), finishChunk(), usageChunk());
            await gate.promise;
            throw new UpstreamError("overloaded", "Busy", { status: 503 });
          },
        },
        { name },
      ),
    );
    const { post, beat } = silentHttp(...plugins);
    const answering = post("responses", streamed);
    await settled();
    await beat(ticksClosed);
    const response = await answering;
    gate.resolve();
    const { events } = parseEvents<SentEvent>(await response.text());
    expect(names.toSorted()).toEqual(["first", "second"]);
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    expectRising(events);
  });

  test("ends as failed under its id when no provider answers", async () => {
    const gate = Promise.withResolvers<never>();
    const { post, beat } = silentHttp(createPlugin({ chat: () => gate.promise }));
    const answering = post("responses", streamed);
    await settled();
    await beat(ticksClosed);
    const response = await answering;
    gate.reject(new UpstreamError("bad_request", "No"));
    const { events } = parseEvents<SentEvent>(await response.text());
    expect(typesOf(events)).toEqual(["created", "in_progress", "failed"]);
    expectRising(events);
    expect(idsOf(events).length).toBe(1);
  });
});

describe("a silent stream of a response that is passed through", () => {
  test("is kept alive by its provider's own head, and every event is sent as it came", async () => {
    const stream = new GatedStream(...opening, added, delta(3, "Hel"), "wait", delta(4, "lo"), done(5), completed(6));
    const { post, beat } = silentHttp(native(stream));
    const response = await post("responses", { ...streamed, store: false });
    const text = response.text();
    await settled();
    await beat(ticksOpen);
    stream.release();
    const { events } = parseEvents<SentEvent>(await text);
    expect(typesOf(events)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "output_text.delta",
      "in_progress",
      "output_text.delta",
      "output_item.done",
      "completed",
    ]);
    expectRising(events);
    expect(idsOf(events)).toEqual(["resp_theirs"]);
    expect(events[4]?.response).toMatchObject({ status: "in_progress", model: "chat-1" });
  });

  test.each([
    ["its provider has said nothing", []],
    ["its provider has said that it took the request", opening],
  ])("goes on under the id and the numbers with which the gateway began it when %s", async (_, before) => {
    const rest = before.length > 0 ? [] : opening;
    const stream = new GatedStream<ServerEvent>(
      ...before,
      "wait",
      ...rest,
      added,
      delta(3, "Hello"),
      "wait",
      done(4),
      completed(5),
    );
    const { post, beat } = silentHttp(native(stream));
    const answering = post("responses", streamed);
    await settled();
    await beat(ticksClosed);
    const text = (await answering).text();
    stream.release();
    await settled();
    await beat(ticksOpen);
    stream.release();
    const { events } = parseEvents<SentEvent>(await text);
    expect(typesOf(events)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "output_text.delta",
      "in_progress",
      "output_item.done",
      "completed",
    ]);
    expectRising(events);
    const [id] = idsOf(events);
    expect(idsOf(events)).toEqual([id as string]);
    expect(id).not.toBe("resp_theirs");
    expect(events.at(-1)).toMatchObject({ response: { output: [item], usage } });
  });

  test("has numbers that go on where its provider begins with fewer or more events than the gateway did", async () => {
    const created = event("created", 0, theirs("in_progress"));
    const queued = [created, event("queued", 1, theirs("queued")), event("in_progress", 2, theirs("in_progress"))];
    const numbers = [];
    for (const [head, first] of [
      [[created], 1],
      [queued, 3],
    ] as const) {
      const stream = new GatedStream<ServerEvent>(
        "wait",
        ...head,
        delta(first, "Hel"),
        delta(first + 1, "lo"),
        done(first + 2),
        completed(first + 3),
      );
      const { post, beat } = silentHttp(native(stream));
      const answering = post("responses", streamed);
      await settled();
      await beat(ticksClosed);
      const text = (await answering).text();
      stream.release();
      numbers.push(parseEvents<SentEvent>(await text).events.map(({ sequence_number: number }) => number));
    }
    expect(numbers).toEqual([
      [0, 1, 2, 3, 4, 5],
      [0, 1, 3, 4, 5, 6],
    ]);
  });

  test("is stored under the id with which the gateway began it", async () => {
    const stream = new GatedStream<ServerEvent>("wait", ...opening, added, completed(3));
    const { post, ask, beat } = silentHttp(native(stream));
    const answering = post("responses", streamed);
    await settled();
    await beat(ticksClosed);
    const text = (await answering).text();
    stream.release();
    const [id] = idsOf(parseEvents<SentEvent>(await text).events);
    expect(await (await ask(`responses/${id}`)).json()).toMatchObject({ id, status: "completed", output: [item] });
  });

  test("that fails ends under the id with which the gateway began it, also where chat cannot express the request", async () => {
    const input = [
      { role: "user", content: "Hi" },
      { role: "user", content: [{ type: "input_video", url: "opaque" }] },
    ];
    for (const steps of [[], [...opening, added, delta(3, "Hello")]]) {
      const broken = new UpstreamError("bad_response", "The line is dead", { status: 500 });
      const stream = new GatedStream<ServerEvent>("wait", ...steps, broken);
      const { post, beat } = silentHttp(native(stream));
      const answering = post("responses", { ...streamed, input });
      await settled();
      await beat(ticksClosed);
      const text = (await answering).text();
      await beat(ticksOpen);
      stream.release();
      const { events } = parseEvents<SentEvent>(await text);
      expect(typesOf(events).slice(0, 3)).toEqual(["created", "in_progress", "in_progress"]);
      expect(events.at(-1)).toMatchObject({
        type: "response.failed",
        response: { status: "failed", error: { code: "server_error" } },
      });
      expectRising(events);
      expect(idsOf(events).length).toBe(1);
    }
  });
});
