import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/db/index.ts";
import { migrations } from "../../../src/db/migrations/index.ts";
import { migrationHash, statementsOf } from "../../../src/db/migrations/migration.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { storeOptions } from "./store-options.ts";
import { temporaryFile } from "./temporary-store.ts";

/**
 * The hashes of the migrations, as a gateway finds them in its database. A line whose version is in a release never changes
 * again: a database that was made by it would be refused. What is not released yet may change, and its line with it.
 */
const hashes = {
  sqlite: ["4690432da9343833b036bd017dd4153a5893f643193acfbfce953eafb88455bd"],
  postgres: ["e456e27d3fb51eb892aea211500af1aac8f123f404ace632d61df6e721f1d05d"],
};

describe("migrations", () => {
  test.each(["sqlite", "postgres"] as const)("of %s are those whose hashes are written down here", (engine) => {
    expect(migrations.map((migration) => migrationHash(migration, engine))).toEqual(hashes[engine]);
  });

  test("are numbered without a gap, and each file of SQL belongs to one", () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, place) => place + 1));
    const files = readdirSync(join(import.meta.dir, "../../../src/db/migrations")).filter((name) => /^\d/.test(name));
    const numbers = new Set(files.map((name) => Number.parseInt(name, 10)));
    expect([...numbers].sort((a, b) => a - b)).toEqual(migrations.map(({ version }) => version));
  });

  test("are split where a line is empty, without what is only a comment", () => {
    const sql = "-- About all.\n\n-- About a.\ncreate table a (n bigint);\n\n\ncreate table b (\n  n bigint\n);\n";
    expect(statementsOf({ version: 1, sql: { sqlite: sql, postgres: "" } }, "sqlite")).toEqual([
      "-- About a.\ncreate table a (n bigint);",
      "create table b (\n  n bigint\n);\n",
    ]);
  });
});

const sentence =
  "The database was made by an unreleased build of modelgate, whose tables are not those of this one; name ";
/** As builds before the first release recorded their migrations: 26 of them, and without a hash. */
const unreleased = `create table schema_versions (version bigint primary key, applied_at bigint not null);
  insert into schema_versions values (1, 1), (2, 1), (26, 1); create table accounts (id text)`;

async function refusalOf(target: string): Promise<string> {
  return openStore(storeOptions(target)).then(
    () => "it was opened",
    (error: Error) => error.message,
  );
}

describe("a database of an unreleased build is refused in one sentence", () => {
  test("if its migrations have no hash", async () => {
    const file = temporaryFile();
    const database = new DatabaseSync(file);
    database.exec(unreleased);
    expect(await refusalOf(file)).toBe(`${sentence}another file`);
    expect(database.prepare("select name from sqlite_master where type = 'table'").all()).toHaveLength(2);
    database.close();
  });

  test("if its first migration was another one", async () => {
    const file = temporaryFile();
    await (await openStore({ file })).close();
    const database = new DatabaseSync(file);
    database.exec(`update schema_versions set hash = '${"0".repeat(64)}'`);
    database.close();
    expect(await refusalOf(file)).toBe(`${sentence}another file`);
  });

  test.skipIf(whyNoPostgres !== undefined)("in PostgreSQL too", async () => {
    const url = await newDatabase();
    await queryPostgres(url, unreleased);
    expect(await refusalOf(url)).toBe(`${sentence}an empty one in DATABASE_URL`);
  });
});
