import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { GatewayError } from "../../../src/contract/index.ts";
import { importForeignKeys } from "../../../src/keys/index.ts";
import { fixture } from "../tenants/member.ts";

const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex");
const textOf = (name: string) => `sk-${name}-of-another-gateway`;

test("a key of another gateway whose limits cannot be set is not here, and the others are", async () => {
  const { accounts, store, clock } = await fixture();
  const { id: accountId } = await accounts.create({ email: "ada@example.org" });
  const keys = ["first", "bound", "wrong", "last"].map((name) => ({
    ...{ accountId, name, sha256: sha256Of(textOf(name)), isRevoked: false },
    ...(name === "wrong" && { bounds: { requestsPerMinute: 0.5 } }),
  }));
  const restrict = async (_scope: unknown, { name }: { name: string }) => {
    if (name === "bound") throw new GatewayError("conflict", "There is no room for its limits");
  };
  const bring = (options: Partial<Parameters<typeof importForeignKeys>[2]>) =>
    importForeignKeys(store, keys, { now: clock.time, by: "cli", ...options });
  const { added, ids, refused } = await bring({ restrict });
  expect({ added, present: [...ids.keys()], refused }).toEqual({
    added: 2,
    present: ["first", "last"].map((name) => sha256Of(textOf(name))),
    refused: [
      { name: "bound", reason: "There is no room for its limits" },
      { name: "wrong", reason: expect.stringContaining("requests_per_minute is 0.5") },
    ],
  });
  expect((await accounts.listKeys()).map(({ name }) => name).sort()).toEqual(["first", "last"]);
  expect((await bring({})).added).toBe(1);
});

test("an import of keys ends with an error that is no refusal, and the key it was at is not here", async () => {
  const { accounts, store, clock } = await fixture();
  const { id: accountId } = await accounts.create({ email: "ada@example.org" });
  const keys = ["first", "cut"].map((name) => ({ accountId, name, sha256: sha256Of(textOf(name)), isRevoked: false }));
  const restrict = async (_scope: unknown, { name }: { name: string }) => {
    if (name === "cut") throw new Error("The database is gone");
  };
  const bring = importForeignKeys(store, keys, { now: clock.time, by: "cli", restrict });
  expect(await bring.catch((error: Error) => error.message)).toBe("The database is gone");
  expect((await accounts.listKeys()).map(({ name }) => name)).toEqual(["first"]);
});
