import { describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";

const ledger = { DATABASE_URL: "postgres://127.0.0.1/books" };

describe("REDIS_URL", () => {
  test("accepts the nodes of a Redis Cluster, separated by commas", () => {
    const text = "redis://a:7001,redis://b:7002, redis://c:7003/0";
    expect(readConfig({ ...ledger, REDIS_URL: text }).redisUrl).toBe(text);
  });

  test("accepts one server with a user over TLS", () => {
    const text = "rediss://user:word@redis.example.org:6380/1";
    expect(readConfig({ ...ledger, REDIS_URL: text }).redisUrl).toBe(text);
  });

  test("requires a database that gateways can share", () => {
    expect(() => readConfig({ REDIS_URL: "redis://:hunter2@127.0.0.1" })).toThrow(
      "Cannot use REDIS_URL: it is set without DATABASE_URL, expected DATABASE_URL too for several gateways with shared wallets, or neither for a single gateway",
    );
  });

  test.each([
    "http://127.0.0.1:6379",
    "redis://:hunter2@127.0.0.1/zero",
    "127.0.0.1:6379",
    "redis://a:7001/1,redis://b:7002/1",
    "redis://a:7001,",
  ])("refuses %s without showing it", (text) => {
    const read = () => readConfig({ REDIS_URL: text });
    expect(read).toThrow("Cannot use REDIS_URL: its value is invalid, expected a URL such as");
    expect(read).not.toThrow("hunter2");
  });
});
