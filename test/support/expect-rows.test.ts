import { expect, test } from "bun:test";
import { errorOf } from "./error-of.ts";
import { expectRows } from "./expect-rows.ts";

const isEven = (_: string, value: number) => expect(value % 2, "the remainder").toBe(0);

test("a table with bad rows names each of them with the reason", async () => {
  const rows = [
    ["two", 2],
    ["three", 3],
    ["four", 4],
    ["five", 5],
  ] as [string, number][];
  const { message } = (await errorOf(expectRows(rows, isEven))) as Error;
  const [count, ...reasons] = message.split("\n");
  expect(count).toBe("2 of 4 rows are not as expected:");
  expect(reasons).toEqual([
    expect.stringMatching(/^three: .*Received: 1$/),
    expect.stringMatching(/^five: .*Received: 1$/),
  ]);
});

test("a check that waits is waited for", async () => {
  const check = async (_: string, value: number) => expect(await Promise.resolve(value)).toBe(0);
  const { message } = (await errorOf(expectRows([["one", 1]], check))) as Error;
  expect(message).toContain("one: ");
});

test("a table without rows fails", async () => {
  expect(await errorOf(expectRows([], isEven))).toBeInstanceOf(Error);
});
