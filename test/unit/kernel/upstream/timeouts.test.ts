import { expect, test } from "bun:test";
import { FakeClock } from "../support.ts";

test("what is watched is called once, when its moment has come", () => {
  const { deadlines, ...clock } = bench();
  const called: string[] = [];
  deadlines.watch(clock.at(100), () => called.push("a"));
  deadlines.watch(clock.at(200), () => called.push("b"));
  clock.pass(99);
  expect(called).toEqual([]);
  clock.pass(1);
  expect(called).toEqual(["a"]);
  clock.pass(1000);
  expect(called).toEqual(["a", "b"]);
});

test("a deadline can be moved, dropped and renewed", () => {
  const { deadlines, ...clock } = bench();
  const called: string[] = [];
  const moved = deadlines.watch(clock.at(100), () => called.push("moved"));
  const dropped = deadlines.watch(clock.at(100), () => called.push("dropped"));
  moved.atMs = clock.at(300);
  deadlines.drop(dropped);
  clock.pass(200);
  expect(called).toEqual([]);
  deadlines.renew(dropped, clock.at(50));
  clock.pass(100);
  expect(called).toEqual(["moved", "dropped"]);
});

test("one that is called may drop and watch others", () => {
  const { deadlines, ...clock } = bench();
  const called: string[] = [];
  deadlines.watch(clock.at(1), () => {
    deadlines.drop(second);
    deadlines.watch(clock.at(1), () => called.push("third"));
    called.push("first");
  });
  const second = deadlines.watch(clock.at(1), () => called.push("second"));
  clock.pass(1);
  clock.pass(1);
  expect(called).toEqual(["first", "third"]);
});

function bench() {
  const clock = new FakeClock();
  return {
    deadlines: clock.deadlines,
    at: (ms: number) => clock.nowMs + ms,
    pass: (ms: number) => clock.pass(ms),
  };
}
