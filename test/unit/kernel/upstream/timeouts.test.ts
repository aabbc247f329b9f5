import { expect, test } from "bun:test";
import { FakeClock } from "../support.ts";

test("what is watched is called once, when its moment has come", () => {
  const { timeouts, ...clock } = bench();
  const called: string[] = [];
  timeouts.schedule(clock.at(100), () => called.push("a"));
  timeouts.schedule(clock.at(200), () => called.push("b"));
  clock.pass(99);
  expect(called).toEqual([]);
  clock.pass(1);
  expect(called).toEqual(["a"]);
  clock.pass(1000);
  expect(called).toEqual(["a", "b"]);
});

test("a timeout can be moved and cancelled", () => {
  const { timeouts, ...clock } = bench();
  const called: string[] = [];
  const moved = timeouts.schedule(clock.at(100), () => called.push("moved"));
  const dropped = timeouts.schedule(clock.at(100), () => called.push("dropped"));
  moved.atMs = clock.at(300);
  timeouts.cancel(dropped);
  clock.pass(200);
  expect(called).toEqual([]);
  clock.pass(100);
  expect(called).toEqual(["moved"]);
});

test("one that fires may cancel and schedule others", () => {
  const { timeouts, ...clock } = bench();
  const called: string[] = [];
  timeouts.schedule(clock.at(1), () => {
    timeouts.cancel(second);
    timeouts.schedule(clock.at(1), () => called.push("third"));
    called.push("first");
  });
  const second = timeouts.schedule(clock.at(1), () => called.push("second"));
  clock.pass(1);
  clock.pass(1);
  expect(called).toEqual(["first", "third"]);
});

function bench() {
  const clock = new FakeClock();
  return {
    timeouts: clock.timeouts,
    at: (ms: number) => clock.nowMs + ms,
    pass: (ms: number) => clock.pass(ms),
  };
}
