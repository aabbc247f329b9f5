import { expect, test } from "bun:test";
import { ConfigError, readConfig } from "../../../src/config/index.ts";

/** What several workers share. */
const shared = { DATABASE_URL: "postgres://127.0.0.1/books", REDIS_URL: "redis://127.0.0.1" };

function failureOf(work: () => unknown): ConfigError {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error("Nothing was refused");
}

test.each([
  [{ METRICS_PORT: "3000" }, "METRICS_PORT: it is 3000 and overlaps with PORT, expected another port"],
  [
    { METRICS_PORT: "2998", WORKERS: "4", ...shared },
    "METRICS_PORT: it is 2998 and overlaps with PORT, expected another port",
  ],
  [
    { METRICS_PORT: "0", WORKERS: "4", ...shared },
    "METRICS_PORT: it is 0 with several WORKERS, expected the first port of a range with one port for each worker",
  ],
  [{ METRICS_PORT: "65533", WORKERS: "4", ...shared }, "METRICS_PORT: it is 65533, expected at most 65532"],
  [
    { METRICS_TOKEN: "a-token-of-an-operator", WORKERS: "4", ...shared },
    "METRICS_TOKEN: it is set with several WORKERS, expected METRICS_PORT too, because each worker counts its own calls",
  ],
  [{ METRICS_TOKEN: "short" }, "METRICS_TOKEN: its value is invalid, expected 16 to 256 characters"],
])("refuses metrics that could not be scraped correctly: %j", (env, expected) => {
  expect(failureOf(() => readConfig(env)).message).toStartWith(`Cannot use ${expected}`);
});

test("accepts metrics ports next to the API's, one for each worker", () => {
  const env = { METRICS_PORT: "65532", WORKERS: "4", ...shared };
  expect(readConfig(env).metricsPort).toBe(65_532);
  expect(readConfig({ ...env, METRICS_PORT: "2996" }).metricsPort).toBe(2996);
});
