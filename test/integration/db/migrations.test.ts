import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createBilling, readWalletState, verifyLedger } from "../../../src/billing/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { migrations } from "../../../src/db/migrations/index.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { storeOptions } from "./store-options.ts";
import { temporaryFile } from "./temporary-store.ts";

/** Schemas as they were released, with the ledger of one account: `<engine>-<version>.sql`. A new one adds no code. */
const folder = join(import.meta.dir, "../../fixtures/schemas");
const released = readdirSync(folder).sort();

if (whyNoPostgres !== undefined) console.warn(`Migrations on PostgreSQL are not tested: ${whyNoPostgres}`);

/** A database with these statements in it. */
async function databaseOf(name: string): Promise<string> {
  const text = readFileSync(join(folder, name), "utf8");
  if (name.startsWith("postgres")) {
    const url = await newDatabase();
    await queryPostgres(url, text);
    return url;
  }
  const file = temporaryFile();
  const database = new DatabaseSync(file);
  database.exec(text);
  database.close();
  return file;
}

test.each(released)(
  "%s is brought up to date with its ledger, which verifies and is written on",
  async (name) => {
    if (name.startsWith("postgres") && whyNoPostgres !== undefined) return;
    const store = await openStore(storeOptions(await databaseOf(name)));
    const versions = await store.db.selectFrom("schema_versions").select("version").orderBy("version").execute();
    expect(versions.map(({ version }) => version)).toEqual(migrations.map(({ version }) => version));
    expect(await verifyLedger(store)).toMatchObject({ differences: [], counts: { calls: 4, entries: 2, open: 1 } });
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 87, heldNanodollars: 15 });
    const calls = await store.db.selectFrom("calls").select("capability").orderBy("id").execute();
    expect(calls.map(({ capability }) => capability)).toEqual(["chat", "embeddings", "images", "speech"]);
    const people = await store.db.selectFrom("users").select(["id", "two_factor_enabled"]).execute();
    expect(people.map((row) => ({ ...row }))).toEqual(people.map(({ id }) => ({ id, two_factor_enabled: 0 })));
    expect(people.length).toBe(/-[12]\./.test(name) ? 0 : 1);
    expect(await store.setting("file_signing_secret", () => "new")).toBe("kept");
    const ledger = createBilling({ store });
    expect((await ledger.recover()).callIds).toEqual(["c4"]);
    await ledger.close();
    await store.close();
  },
  30_000,
);
