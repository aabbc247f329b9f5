import { describe, expect, test } from "bun:test";
import { readConfig } from "../src/config.ts";

describe("REDIS_URL", () => {
  test("takes the nodes of a Redis Cluster, by comma", () => {
    const text = "redis://a:7001,redis://b:7002, redis://c:7003/0";
    expect(readConfig({ REDIS_URL: text }).redisUrl).toBe(text);
  });

  test.each([
    "http://127.0.0.1:6379",
    "redis://:hunter2@127.0.0.1/zero",
    "127.0.0.1:6379",
    "redis://a:7001/1,redis://b:7002/1",
    "redis://a:7001,",
  ])("refuses %s without showing it", (text) => {
    const read = () => readConfig({ REDIS_URL: text });
    expect(read).toThrow("Cannot use REDIS_URL: it is set, but not in that form, expected a URL such as");
    expect(read).not.toThrow("hunter2");
  });
});
