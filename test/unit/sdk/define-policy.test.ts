import { expect, test } from "bun:test";
import { definePolicy, isPolicy } from "../../../src/sdk/define-policy.ts";

const allow = () => ({ result: "allow" }) as const;

test("a policy says what it leaves out", () => {
  const policy = definePolicy({ name: "a", version: "1", request: allow });
  expect(policy).toMatchObject({ name: "a", holdBackChars: Number.POSITIVE_INFINITY, timeoutMs: 1000 });
  expect([isPolicy(policy), isPolicy({ ...policy })]).toEqual([true, false]);
});

test.each([
  [{ name: "A b", version: "1", request: allow }, "its name must be kebab-case"],
  [{ name: "a", version: "", request: allow }, "version must be a text"],
  [{ name: "a", version: "1" }, "it has neither request nor answer"],
  [{ name: "a", version: "1", request: "allow" }, "request must be a function"],
  [{ name: "a", version: "1", answer: allow, holdback: 3 }, "unknown field holdback, did you mean holdBackChars?"],
  [{ name: "a", version: "1", answer: allow, holdBackChars: -1 }, "expected a whole number from 0 to 65536"],
  [{ name: "a", version: "1", answer: allow, timeoutMs: 60_000 }, "expected a whole number from 1 to 30000"],
])("%j is refused with what to do", (definition, message) => {
  expect(() => definePolicy(definition as never)).toThrow(message);
});
