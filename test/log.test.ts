import { expect, test } from "bun:test";
import { createLog, type LogLevel } from "../src/log.ts";

function logOf(level: LogLevel) {
  const written: string[] = [];
  const log = createLog(level, (text) => written.push(text), { now: () => 0 });
  const lines = () => {
    log.flush();
    return written.join("").split("\n").slice(0, -1);
  };
  return { log, lines };
}

test("writes one JSON line an event, with time and level", () => {
  const { log, lines } = logOf("info");
  log.info("call", { status: 200, route: undefined });
  log.warn("nothing");
  expect(lines().map((line) => JSON.parse(line))).toEqual([
    { time: "1970-01-01T00:00:00.000Z", level: "info", event: "call", status: 200 },
    { time: "1970-01-01T00:00:00.000Z", level: "warn", event: "nothing" },
  ]);
});

test("tells an error's name, sentence and cause", () => {
  const { log, lines } = logOf("info");
  log.error("failed", { error: new TypeError("Broken", { cause: new Error("A wire") }) });
  const [line = ""] = lines();
  expect(JSON.parse(line).error).toMatchObject({ name: "TypeError", message: "Broken", cause: "A wire" });
});

test.each([
  ["debug", 4],
  ["info", 3],
  ["warn", 2],
  ["error", 1],
  ["silent", 0],
] as const)("at %s writes %d of the four levels", (level, count) => {
  const { log, lines } = logOf(level);
  for (const name of ["debug", "info", "warn", "error"] as const) log[name]("event", {});
  expect(lines()).toHaveLength(count);
});

test("a line has at most 4000 characters", () => {
  const { log, lines } = logOf("info");
  log.info("long", { text: "x".repeat(5_000) });
  expect(lines()[0]).toHaveLength(4_001);
});
