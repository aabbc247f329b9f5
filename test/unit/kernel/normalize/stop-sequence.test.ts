import { expect, test } from "bun:test";
import { collectCompletion } from "../../../../src/kernel/capabilities/collect-completion.ts";
import { normalizeCompletion, StreamNormalizer, toChunks } from "../../../../src/kernel/normalize/answer.ts";
import { UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";
import { GuardedSink } from "../../../../src/kernel/policies/guarded-sink.ts";
import { StreamReader } from "../../../../src/kernel/streaming.ts";
import type { ChatChunk } from "../../../../src/provider/index.ts";
import { completionOf, FakeStream, Sink, textChunk } from "../streams.ts";

const head = { id: "chatcmpl-1", created: 1, model: "m" };
const normalizerOf = () => new StreamNormalizer(head, new UsageMeter(async () => ({})));
const ended = { index: 0, delta: { content: "lo" }, finish_reason: "stop", stop_sequence: "END" } as const;
const chunks = (): ChatChunk[] => structuredClone([textChunk("Hel"), { choices: [ended] }] as ChatChunk[]);

/** What each chunk says of a stop sequence; only those that say something. */
const saidBy = (given: readonly ChatChunk[]) =>
  given.flatMap(({ choices }) =>
    choices.flatMap(({ finish_reason: finish, stop_sequence: stop }) => (stop === undefined ? [] : [[finish, stop]])),
  );

test("the stop sequence of a stream comes once, with the reason to finish", () => {
  const normalizer = normalizerOf();
  expect(saidBy(chunks().flatMap((chunk) => normalizer.push(chunk)))).toEqual([["stop", "END"]]);
});

test("the stop sequence of a whole answer stays when it is streamed, and that of a stream when it is put together", async () => {
  const whole = completionOf("Hello");
  Object.assign(whole.choices[0] as object, { stop_sequence: "END" });
  const normalizer = normalizerOf();
  expect(saidBy(toChunks(structuredClone(whole)).flatMap((chunk) => normalizer.push(chunk)))).toEqual([
    ["stop", "END"],
  ]);
  expect(normalizeCompletion(structuredClone(whole), head).choices[0]).toHaveProperty("stop_sequence", "END");
  const reader = new StreamReader(new FakeStream<ChatChunk>(...chunks()));
  expect((await collectCompletion(reader, {})).choices[0]).toMatchObject({
    message: { content: "Hello" },
    stop_sequence: "END",
  });
});

test("the stop sequence of a stream stays where policies look at its text", async () => {
  const sink = new Sink<ChatChunk>();
  const guarded = new GuardedSink(sink, { holds: [], check: async (value) => value });
  guarded.open();
  const normalizer = normalizerOf();
  for (const chunk of chunks().flatMap((one) => normalizer.push(one))) await guarded.write(chunk);
  expect(saidBy(sink.pieces)).toEqual([["stop", "END"]]);
});
