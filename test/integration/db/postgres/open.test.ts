import { describe, expect } from "bun:test";
import { join } from "node:path";
import { openStore, StoreError } from "../../../../src/db/index.ts";
import { migrations } from "../../../../src/db/migrations/index.ts";
import { newDatabase, newUrl, queryPostgres, sharedPostgres } from "../../../support/postgres.ts";
import { node, postgresTest } from "./fixture.ts";

async function tablesOf(url: string): Promise<string> {
  const rows = await queryPostgres<{ tablename: string }>(
    url,
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  );
  return rows.map((row) => row.tablename).join(" ");
}

async function refusal(url: string): Promise<string> {
  const error = await openStore({ url }).then(
    () => new Error("it was opened"),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error.message;
}

/** Of each migration one. */
const someTables = /\bcall_rows .*\bopening_balances .*\bschema_versions /;
const newest = migrations.at(-1)?.version;

describe("openStore on PostgreSQL", () => {
  postgresTest("makes the whole schema, and makes it once", async () => {
    const { url } = await node(undefined, { now: () => 1 });
    expect(await tablesOf(url)).toMatch(someTables);
    const { store } = await node(url, { now: () => 2 });
    expect(await store.db.selectFrom("schema_versions").selectAll().execute()).toMatchObject(
      migrations.map(({ version }) => ({ version, applied_at: 1 })),
    );
  });

  postgresTest("of four processes that open a new database at once, one migrates and all serve", async () => {
    const url = await newDatabase();
    const script = join(import.meta.dir, "../open-once.ts");
    const children = Array.from({ length: 4 }, () => Bun.spawn([process.execPath, script, url], { stderr: "pipe" }));
    const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
    expect(errors.join("")).toBe("");
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0]);
    expect(await tablesOf(url)).toMatch(someTables);
  });

  postgresTest("keeps to the schema of the URL, beside another's", async () => {
    const { url } = await node();
    await queryPostgres(url, "create schema second");
    const { store } = await node(`${url}?options=-csearch_path%3Dsecond`);
    await store.setting("a", () => "b");
    expect((await queryPostgres<{ count: number }>(url, "select count(*)::int from settings"))[0]?.count).toBe(0);
  });

  postgresTest("closes twice without complaint, and leaves no node behind", async () => {
    const { store, url } = await node();
    await store.close();
    await store.close();
    expect(store.pollExternalChange()).toBe(false);
    expect(await queryPostgres(url, "select id from nodes")).toEqual([]);
  });
});

describe("openStore on PostgreSQL refuses in one sentence", () => {
  postgresTest("a schema newer than it knows", async () => {
    const { store, url } = await node();
    await store.db.insertInto("schema_versions").values({ version: 99, hash: "x", applied_at: 0 }).execute();
    expect(await refusal(url)).toStartWith(
      `The database has schema version 99 and this modelgate knows up to ${newest}: `,
    );
  });

  postgresTest("a database of another program, which stays as it was", async () => {
    const url = await newDatabase();
    await queryPostgres(url, "create table recipes (name text)");
    expect(await refusal(url)).toBe(
      "The database is not one of modelgate's: it has a table recipes and no schema_versions; name an empty one in DATABASE_URL",
    );
    expect(await tablesOf(url)).toBe("recipes");
  });

  postgresTest("a database that does not exist", async () => {
    const url = newUrl(await sharedPostgres());
    const said = await refusal(url);
    expect(said).toStartWith(`Cannot open the database ${url}: database "`);
    expect(said).toEndWith("; see that user, password and database in DATABASE_URL are right");
  });

  postgresTest("a server that is not there, and tells no password", async () => {
    expect(await refusal("postgres://ada:hunter2@127.0.0.1:1/books")).toBe(
      "Cannot open the database postgres://ada@127.0.0.1:1/books: connect ECONNREFUSED 127.0.0.1:1; see that PostgreSQL runs there and that DATABASE_URL is right",
    );
  });
});
