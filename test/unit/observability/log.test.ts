import { expect, test } from "bun:test";
import { createLog, type LineFormat, type LogLevel, prettyLine } from "../../../src/observability/log.ts";

function logOf(level: LogLevel, format?: LineFormat) {
  const written: string[] = [];
  const log = createLog(level, (text) => written.push(text), { now: () => 0, ...(format && { format }) });
  const lines = () => {
    log.flush();
    return written.join("").split("\n").slice(0, -1);
  };
  return { log, lines };
}

test("writes one JSON line per event with time and level", () => {
  const { log, lines } = logOf("info");
  log.info("call", { status: 200, plugin: undefined });
  log.warn("nothing");
  expect(lines().map((line) => JSON.parse(line))).toEqual([
    { time: "1970-01-01T00:00:00.000Z", level: "info", event: "call", status: 200 },
    { time: "1970-01-01T00:00:00.000Z", level: "warn", event: "nothing" },
  ]);
});

test("writes an error's name, message and cause", () => {
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
] as const)("level %s writes %d of the four levels", (level, count) => {
  const { log, lines } = logOf(level);
  for (const name of ["debug", "info", "warn", "error"] as const) log[name]("event", {});
  expect(lines()).toHaveLength(count);
});

test("a line has at most 4000 characters", () => {
  const { log, lines } = logOf("info");
  log.info("long", { text: "x".repeat(5_000) });
  expect(lines()[0]).toHaveLength(4_001);
});

test("the pretty format is one line per event, and no value can imitate a field", () => {
  const { log, lines } = logOf("info", prettyLine(false));
  log.info("call", { status: 200, model: "acme/llama", plugin: undefined, usage: { inputToken: 8, outputToken: 2 } });
  log.warn("failed", { error: new TypeError("A wire\nbroke"), notes: ["top_k was left out"], note: "a level=error" });
  expect(lines()).toEqual([
    "00:00:00.000 INFO  call status=200 model=acme/llama usage=inputToken:8,outputToken:2",
    '00:00:00.000 WARN  failed error="TypeError: A wire\\nbroke" notes=["top_k was left out"] note="a level=error"',
  ]);
});

test("colours a line without changing its text", () => {
  const { log, lines } = logOf("info", prettyLine(true));
  log.error("failed", { status: 500 });
  const [line = ""] = lines();
  expect(line).toContain("\u001b[31mERROR\u001b[0m");
  expect(Bun.stripANSI(line)).toBe("00:00:00.000 ERROR failed status=500");
});

/** A writer that takes one text and then nothing, until it is told to. */
function stuckWriter() {
  const taken: string[] = [];
  let go: () => void = () => undefined;
  const write = (text: string) => {
    taken.push(text);
    return new Promise<void>((resolve) => {
      go = resolve;
    });
  };
  return { write, taken, go: () => go() };
}

test("unwritten lines are buffered up to 4 MB, then dropped, counted and reported", async () => {
  const { write, taken, go } = stuckWriter();
  const log = createLog("info", write, { now: () => 0 });
  log.info("first");
  log.flush();
  const text = "x".repeat(3_000);
  for (let count = 0; count < 2_000; count++) log.info("more", { text });
  log.flush();
  expect(taken).toHaveLength(1);
  expect(log.dropped).toBeGreaterThan(500);
  expect(log.dropped).toBeLessThan(700);
  const { dropped } = log;
  go();
  await Bun.sleep(0);
  log.flush();
  expect(taken).toHaveLength(2);
  const lines = (taken[1] as string).split("\n").slice(0, -1);
  expect(lines).toHaveLength(2_001 - dropped);
  expect(JSON.parse(lines.at(-1) as string)).toMatchObject({
    level: "warn",
    event: "log_lines_dropped",
    lines: dropped,
  });
});

test("closing waits for the last lines up to a timeout", async () => {
  const { write, taken, go } = stuckWriter();
  const log = createLog("info", write);
  log.info("first");
  log.flush();
  log.info("last");
  expect(await log.close(20)).toBe(false);
  const closing = log.close(10_000);
  go();
  await Bun.sleep(0);
  go();
  expect(await closing).toBe(true);
  expect(taken).toHaveLength(2);
});

test("writes no character that a terminal obeys, whoever wrote the text", () => {
  const name = "a\u001b[2J\u009b31m\u007f\u202e\u2028\r\nb";
  const fields = { name, list: [name], part: { name }, error: new Error(name) };
  for (const format of [undefined, prettyLine(false)]) {
    const { log, lines } = logOf("info", format);
    log.warn("event", fields);
    expect(lines()).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
    expect(lines()[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
  }
});
