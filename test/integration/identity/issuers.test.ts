import { expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import type { GatewayError } from "../../../src/contract/index.ts";
import { TokenIssuers } from "../../../src/identity/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const now = Date.UTC(2030, 0, 2);
const toIssuer = (name: string) => ({
  issuer: `https://${name}.example.com`,
  audiences: ["modelgate"],
  claims: { account: "email" },
});
const letters = ["a", "b", "c", "d", "e", "f"];

test("writers at once lose no issuer, and each reads what it wrote", async () => {
  const store = await temporaryStore();
  const added = await Promise.all(
    letters.map((name) => new TokenIssuers(store, undefined).add(commandLine, toIssuer(name), now)),
  );
  expect(added).toEqual(letters.map(toIssuer));
  const [first] = await Promise.all([
    new TokenIssuers(store, undefined).change(commandLine, "https://a.example.com", { onUnknown: "create" }, now),
    ...["b", "c"].map((name) =>
      new TokenIssuers(store, undefined).remove(commandLine, `https://${name}.example.com`, now),
    ),
  ]);
  expect(first).toEqual({ ...toIssuer("a"), onUnknown: "create" });
  const rest = await new TokenIssuers(store, undefined).read();
  expect(rest.map(({ issuer }) => issuer).toSorted()).toEqual(
    ["a", "d", "e", "f"].map((name) => toIssuer(name).issuer),
  );
});

test("somebody who is no owner changes none, nor does anybody where the environment names them", async () => {
  const store = await temporaryStore();
  const issuers = new TokenIssuers(store, undefined);
  await issuers.add(commandLine, toIssuer("a"), now);
  const admin = { accountId: "ada", role: "admin" } as const;
  const given = new TokenIssuers(store, [toIssuer("b")]);
  for (const act of ["add", "change", "remove"] as const) {
    const run = (own: TokenIssuers, by: typeof admin | typeof commandLine, name: string) =>
      act === "add"
        ? own.add(by, toIssuer("c"), now)
        : act === "change"
          ? own.change(by, toIssuer(name).issuer, { onUnknown: "create" }, now)
          : own.remove(by, toIssuer(name).issuer, now);
    expect((await errorOf<GatewayError>(run(issuers, admin, "a"))).code).toBe("forbidden");
    expect((await errorOf<GatewayError>(run(given, commandLine, "b"))).code).toBe("conflict");
  }
  expect(await new TokenIssuers(store, undefined).read()).toEqual([toIssuer("a")]);
});
