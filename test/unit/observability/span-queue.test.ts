import { expect, test } from "bun:test";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { boundQueue, countExports, SpanCounts } from "../../../src/modules/otlp/traces/span-queue.ts";

const span = {} as ReadableSpan;

test("spans beyond the queue are dropped and counted until the exporter makes room", () => {
  const counts = new SpanCounts();
  const kept: ReadableSpan[] = [];
  const batches = { onStart: () => undefined, onEnd: (each: ReadableSpan) => void kept.push(each) };
  const queue = boundQueue(
    { ...batches, forceFlush: async () => undefined, shutdown: async () => undefined },
    counts,
    2,
  );
  for (let count = 0; count < 5; count++) queue.onEnd(span);
  expect([kept.length, counts.waiting, counts.dropped]).toEqual([2, 2, 3]);
  const exporter = { export: () => undefined, shutdown: async () => undefined };
  countExports(exporter, counts, () => undefined).export(kept, () => undefined);
  queue.onEnd(span);
  expect([kept.length, counts.waiting, counts.dropped]).toEqual([3, 1, 3]);
});

test("reports once when exports fail and once when they work again", () => {
  const counts = new SpanCounts();
  const told: boolean[] = [];
  let code = 0;
  const exporter = {
    export: (_: ReadableSpan[], done: (result: { code: number }) => void) => done({ code }),
    shutdown: async () => undefined,
  };
  const watched = countExports(exporter, counts, (works) => told.push(works));
  for (code of [0, 1, 1, 0, 0]) watched.export([span, span], () => undefined);
  expect(told).toEqual([false, true]);
  expect(counts).toMatchObject({ exported: 6, failed: 4 });
});
