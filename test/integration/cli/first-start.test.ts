import { expect } from "bun:test";
import { bootstrap } from "../../../src/cli/bootstrap.ts";
import { openStore } from "../../../src/db/index.ts";
import { verifyPassword } from "../../../src/identity/password.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { newDatabase } from "../../support/postgres.ts";
import { postgresTest } from "../db/postgres/fixture.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const given = `sk-mg-given123-${"g".repeat(32)}`;

postgresTest(
  "of nodes that start at once on an empty database one creates the first key and password, and both work",
  async () => {
    for (let round = 0; round < 6; round++) {
      const bootstrapKey = round % 3 === 2 ? given : undefined;
      const url = await newDatabase();
      const starts = Array.from({ length: 3 }, async () => {
        const store = await openStore({ url, timeoutMs: 10_000 });
        const accounts = createAccounts({ store, defaults });
        return { store, accounts, created: await bootstrap(store, accounts, { bootstrapKey, now: Date.now() }) };
      });
      const nodes = await Promise.all(starts);
      const keys = nodes.flatMap(({ created }) => created.key ?? []);
      expect(keys.map((key) => key.given)).toEqual(bootstrapKey === undefined ? [false] : [true, true, true]);
      const admins = nodes.flatMap(({ created }) => created.owner ?? []);
      expect(admins.map(({ email }) => email)).toEqual(["owner@localhost"]);
      for (const { accounts } of nodes) expect(await accounts.authenticate(keys[0]?.key as string)).toBeDefined();
      const { db } = (nodes[0] as (typeof nodes)[0]).store;
      const credentials = await db.selectFrom("credentials").select("password_hash").execute();
      expect(credentials).toHaveLength(1);
      const hash = credentials[0]?.password_hash as string;
      expect(await verifyPassword({ hash, password: admins[0]?.password as string })).toBe(true);
      for (const table of ["accounts", "keys", "users"] as const) {
        expect([table, await db.selectFrom(table).select("id").execute()]).toEqual([table, [expect.anything()]]);
      }
      for (const { store } of nodes) await store.close();
    }
  },
);
