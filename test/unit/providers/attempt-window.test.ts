import { expect, test } from "bun:test";
import { AttemptWindow } from "../../../src/providers/route-stats.ts";

const minute = 60_000;

test("an empty window has no figures", () => {
  expect(new AttemptWindow().sum(0)).toEqual({ calls: 0, errors: 0, p50Ms: undefined, p95Ms: undefined });
});

test("counts the last fifteen minutes and forgets what is older", () => {
  const window = new AttemptWindow();
  for (let at = 0; at < 40; at++) window.add(at * minute, 100, at % 2 === 0);
  expect(window.sum(39 * minute)).toMatchObject({ calls: 15, errors: 7 });
  expect(window.sum(45 * minute)).toMatchObject({ calls: 9 });
  expect(window.sum(500 * minute).calls).toBe(0);
});

test("durations are within 15 %, of successes alone", () => {
  const window = new AttemptWindow();
  for (let ms = 1; ms <= 1000; ms++) window.add(0, ms, false);
  window.add(0, 400_000, true);
  const { p50Ms = 0, p95Ms = 0 } = window.sum(0);
  expect(Math.abs(p50Ms / 500 - 1)).toBeLessThan(0.15);
  expect(Math.abs(p95Ms / 950 - 1)).toBeLessThan(0.15);
});

test("an answer that broke off is an error of a call that was counted", () => {
  const window = new AttemptWindow();
  window.add(0, 10, false);
  window.addLateError(0);
  window.addLateError(minute);
  expect(window.sum(minute)).toMatchObject({ calls: 1, errors: 1 });
});

test("minutes without an attempt are none, whenever the process began", () => {
  const window = new AttemptWindow();
  window.add(16 * 60_000, 100, false);
  expect(window.sum(17 * 60_000)).toMatchObject({ calls: 1, errors: 0 });
});
