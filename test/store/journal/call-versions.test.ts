import { expect, test } from "bun:test";
import { CallVersions } from "../../../src/store/sqlite/journal/call-versions.ts";
import { randomBelow } from "../../support/random.ts";
import { endOf, openOf } from "./facts.ts";

let sequence = 0;
const batchOf = (...accountIds: string[]) => {
  sequence += 1;
  const writes = accountIds.map((accountId) => openOf(`call_${sequence}`, { accountId }));
  return { sequence, writes };
};

test("an account's version changes when its calls do, and with no other's", () => {
  const versions = new CallVersions();
  const before = versions.of("ada");
  expect(versions.of("ben")).toBe(before);
  const open = openOf("call", { accountId: "ada" });
  versions.applied([{ sequence: 1, writes: [open] }]);
  const opened = versions.of("ada");
  versions.applied([{ sequence: 2, writes: [endOf(open)] }]);
  expect(new Set([before, opened, versions.of("ada")]).size).toBe(3);
  expect(versions.of("ben")).toBe(before);
});

test("another process' versions are others", () => {
  expect(new CallVersions().of("ada")).not.toBe(new CallVersions().of("ada"));
});

test("as many accounts as it keeps are told apart, and one more makes the one that changed first share a version", () => {
  const versions = new CallVersions(2);
  versions.applied([batchOf("ada"), batchOf("ben")]);
  expect(versions.of("ada")).not.toBe(versions.of("nobody"));
  versions.applied([batchOf("cleo")]);
  expect(versions.of("ada")).toBe(versions.of("nobody"));
  expect(versions.of("ben")).not.toBe(versions.of("nobody"));
});

test("whatever is forgotten, no change goes unseen", () => {
  const versions = new CallVersions(3);
  const below = randomBelow(5);
  const accounts = Array.from({ length: 8 }, (_, index) => `account${index}`);
  for (let round = 0; round < 2000; round++) {
    const seen = accounts.map((id) => versions.of(id));
    const changed = below(accounts.length);
    versions.applied([batchOf(accounts[changed] as string)]);
    expect(versions.of(accounts[changed] as string)).not.toBe(seen[changed]);
  }
});
