import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForeignDatabase } from "../../../src/cli/import/foreign-database.bun.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { type MariaDbServer, startMariaDb, whyNoMariaDb } from "../../support/mariadb.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";

/**
 * Users of another gateway write a part of its database: names, e-mails, networks, ends of tokens. What one of them wrote gives them
 * nothing here that they have not there, and stops the import of nobody else.
 */

type Row = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), "modelgate-import-"));
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { SANDBOX: "on" } });
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

let files = 0;

/** A database of new-api whose columns take any value, as SQLite's do. */
function writeDatabase(tables: { users: Row[]; tokens: Row[]; options?: Row[] }): string {
  const file = join(folder, `${files++}.db`);
  const database = new Database(file);
  const channels = [{ id: 1, type: 1, status: 1, key: "k", name: "all", models: "gpt-4o-mini", group: "default" }];
  for (const [table, rows] of Object.entries<Row[]>({ channels, ...tables })) {
    const columns = [...new Set(rows.flatMap(Object.keys))];
    database.exec(`create table "${table}" (${columns.map((column) => `"${column}"`).join(", ")})`);
    const insert = database.query(`insert into "${table}" values (${columns.map(() => "?").join(", ")})`);
    for (const row of rows) insert.run(...(columns.map((column) => row[column] ?? null) as never[]));
  }
  database.close();
  return file;
}

let count = 0;
const user = (row: Row): Row => ({ username: `user${row.id}`, status: 1, group: "default", quota: 0, ...row });
const token = (row: Row): Row => {
  const key = createHash("sha256").update(`${folder} ${count++}`).digest("hex").slice(0, 48);
  return { key, status: 1, unlimited_quota: 1, remain_quota: 0, expired_time: -1, ...row };
};
const importOf = async (file: string, ...flags: string[]) => {
  const { code, stdout, stderr } = await gateway.run("import", "new-api", "--database", file, ...flags);
  return { code, stderr, text: stdout, imported: /^Imported: .*$/m.exec(stdout)?.[0] };
};
interface PlannedKey {
  readonly name: string;
  readonly isRevoked: boolean;
  readonly allowedModels?: string[];
  readonly allowedNetworks?: string[];
}
const planOf = (file: string) =>
  gateway.cli<{ keys: PlannedKey[]; notes: string[] }>("import", "new-api", "--database", file, "--dry-run");

describe("a user of the other gateway", () => {
  test("who takes another name between two imports is the same account, and is credited once", async () => {
    const write = (name: string) =>
      writeDatabase({
        users: [
          user({ id: 1, username: name, quota: 5_000_000, email: "renamed@example.com", aff_code: "aB3d" }),
          user({ id: 2, username: `${name} without an e-mail`, quota: 5_000_000, aff_code: "Xy1z" }),
        ],
        tokens: [token({ user_id: 1, name: `of ${name}` })],
      });
    expect((await importOf(write("before"))).imported).toContain("2 accounts, 1 keys, 20 USD of credit");
    expect((await importOf(write("after"))).imported).toContain("0 accounts, 1 keys, 0 USD of credit");
  });

  test("whose e-mail is the address of another user's account here gets an account of their own", async () => {
    const victim = { id: 1, username: "victim", quota: 5_000_000, aff_code: "v1ct" };
    const digest = createHash("sha256")
      .update(JSON.stringify(["new-api", "user:1:v1ct"]))
      .digest("hex")
      .slice(0, 32);
    const file = writeDatabase({
      users: [user(victim), user({ id: 2, username: "thief", email: `import-${digest}@imported.invalid` })],
      tokens: [token({ user_id: 2, name: "thief's" })],
    });
    const { text, imported } = await importOf(file);
    expect(imported).toContain("2 accounts, 1 keys, 10 USD of credit");
    expect(text).toContain("which is not valid here: the account is imported without an e-mail");
    const keys = await gateway.cli<{ name: string; account: string }[]>("key", "list");
    const owner = keys.find(({ name }) => name === "thief's")?.account;
    const wallet = await gateway.cli<{ balance_usd: string }>("wallet", "show", String(owner));
    expect(wallet.balance_usd).toBe("0");
  });

  async function expectAllOthers(at: Gateway): Promise<void> {
    const networks = Array.from({ length: 150 }, (_, index) => `10.0.0.${index}`).join("\n");
    const key = "duplicate".padEnd(48, "x");
    const file = writeDatabase({
      users: [
        user({ id: 1 }),
        user({ id: 2, username: "long", email: `${"a".repeat(300)}@example.com` }),
        user({ id: 3, username: "control", email: "a\u001b[2J@example.com" }),
        user({ id: 4, username: "nul\0", display_name: "\0\u001b]0;x\u0007" }),
        user({ id: 5, username: "last", email: "last@example.com" }),
      ],
      tokens: [
        token({ id: 1, user_id: 1, name: "far", expired_time: 9e15 }),
        token({ id: 2, user_id: 1, name: "fraction", expired_time: 2_000_000_000.000_01 }),
        token({ id: 3, user_id: 2, name: "networks", allow_ips: networks }),
        token({ id: 5, user_id: 5, name: "second of two", key, unlimited_quota: 0, remain_quota: 1_000_000 }),
        token({ id: 4, user_id: 4, name: "first of two", key, unlimited_quota: 0, remain_quota: 500_000 }),
        token({ id: 6, user_id: 5, name: "without a text", key: null }),
        token({ id: 7, user_id: 5, name: "of the last", key: "last".padEnd(48, "x") }),
      ],
    });
    const { code, stdout: text, stderr } = await at.run("import", "new-api", "--database", file);
    expect([code, stderr]).toEqual([0, ""]);
    expect(text).toContain("Imported: 5 accounts, 5 keys");
    for (const note of [
      "The key networks has 150 networks: the first 100 of them are allowed here",
      "The key second of two has the text of another key, which comes first there, and is left out",
      "Token without a text has no text, and is left out",
    ]) {
      expect(text).toContain(note);
    }
    expect((await at.run("import", "new-api", "--database", file)).stdout).toContain("Imported: 0 accounts, 0 keys");
  }

  test("stops the import of nobody else by what they wrote", () => expectAllOthers(gateway));

  test.skipIf(whyNoPostgres !== undefined)(
    "stops no import into PostgreSQL either, which keeps fewer texts",
    async () => {
      const shared = await startGateway({ env: { SANDBOX: "on", DATABASE_URL: await newDatabase() } });
      try {
        await expectAllOthers(shared);
      } finally {
        await shared.stop();
      }
    },
  );

  test("whose key is in another account here already keeps it there, and the others are imported", async () => {
    const key = "moved".padEnd(48, "x");
    const bound = { key, unlimited_quota: 0, remain_quota: 500_000 };
    const first = writeDatabase({
      users: [user({ id: 11 })],
      tokens: [token({ user_id: 11, name: "moved", ...bound })],
    });
    expect((await importOf(first)).imported).toContain("1 accounts, 1 keys");
    const second = writeDatabase({
      users: [user({ id: 12 })],
      tokens: [token({ user_id: 12, name: "moved", ...bound }), token({ user_id: 12, name: "stays" })],
    });
    const { code, text, imported } = await importOf(second);
    expect([code, imported]).toEqual([0, expect.stringContaining("1 accounts, 1 keys")]);
    expect(text).toContain("The key moved was left out: it already exists in another account");
  });
});

describe("a value that the other gateway keeps in another form", () => {
  test("restricts as it does there, and one that cannot be read restricts most", async () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    const limited = { model_limits: "gpt-4o-mini" };
    const file = writeDatabase({
      users: [user({ id: 1 }), user({ id: 2, status: "banned" })],
      tokens: [
        token({ user_id: 1, name: "networks in bytes", allow_ips: bytes("10.0.0.1") }),
        token({ user_id: 1, name: "networks as a number", allow_ips: 10 }),
        token({ user_id: 1, name: "flag in bytes", model_limits_enabled: bytes("1"), ...limited }),
        token({ user_id: 1, name: "flag as a bit", model_limits_enabled: new Uint8Array([1]), ...limited }),
        token({ user_id: 1, name: "flag that is none", model_limits_enabled: "t", ...limited }),
        token({ user_id: 1, name: "status in bytes", status: bytes("2") }),
        token({ user_id: 1, name: "status that is none", status: "disabled" }),
        token({ user_id: 1, name: "group in bytes", group: bytes("nobody's") }),
        token({ user_id: 2, name: "of a user whose status is none" }),
        token({ user_id: 1, name: "free in bytes", status: bytes("1"), model_limits_enabled: bytes("0"), ...limited }),
      ],
      options: [{ key: "UserUsableGroups", value: '{"default":""}' }],
    });
    const { keys } = await planOf(file);
    const seen = keys.map(({ name, isRevoked, allowedModels, allowedNetworks }) => [
      name,
      isRevoked ? "revoked" : (allowedNetworks ?? allowedModels?.length ?? "free"),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      "networks in bytes": ["10.0.0.1"],
      "networks as a number": "revoked",
      "flag in bytes": 1,
      "flag as a bit": 1,
      "flag that is none": 1,
      "status in bytes": "revoked",
      "status that is none": "revoked",
      "group in bytes": "revoked",
      "of a user whose status is none": "revoked",
      "free in bytes": "free",
    });
  });

  test.each([
    ["above what a wallet can have", 5e15],
    ["that is no number", "much"],
  ])("is no balance of nothing without a note: a quota %s", async (_what, quota) => {
    const file = writeDatabase({
      users: [user({ id: 1, quota })],
      tokens: [token({ user_id: 1, name: "large", unlimited_quota: 0, remain_quota: 5e15 })],
    });
    const { keys, notes } = await planOf(file);
    expect(
      notes.filter((note) => note.includes("which is too large for a balance here: credit it by hand")),
    ).toHaveLength(1);
    expect(keys.map(({ isRevoked }) => isRevoked)).toEqual([false]);
  });

  test.each(["lots", "0", "-500000", ""])(
    "stops the import when no balance is known by it: QuotaPerUnit %p",
    async (value) => {
      const file = writeDatabase({
        users: [user({ id: 1, quota: 500_000 })],
        tokens: [token({ user_id: 1, name: "any" })],
        options: [{ key: "QuotaPerUnit", value }],
      });
      const { code, stderr } = await importOf(file);
      expect([code, stderr]).toEqual([2, expect.stringContaining("expected a number above 0")]);
    },
  );
});

describe("a table of the other gateway", () => {
  test("that is there and cannot be read stops the import, for it may restrict", async () => {
    const file = join(folder, "broken.db");
    const database = new Database(file);
    database.exec("create view options as select * from gone");
    database.close();
    const foreign = await openForeignDatabase(file);
    expect(await foreign.readTable("users")).toEqual([]);
    expect(await foreign.readTable("options").catch((error: Error) => error.message)).toContain("gone");
    await foreign.close();
  });

  test("is counted under any name, which is no statement", async () => {
    const file = join(folder, "named.db");
    const database = new Database(file);
    const name = 'x" where 1 = 0; --';
    database.exec(
      `create table "${name.replaceAll('"', '""')}" (id); insert into "${name.replaceAll('"', '""')}" values (1)`,
    );
    database.close();
    const foreign = await openForeignDatabase(file);
    expect(await foreign.listTables()).toEqual([name]);
    expect(await foreign.countRows(name)).toBe(1);
    await foreign.close();
  });

  test.skipIf(whyNoMariaDb !== undefined)(
    "of MariaDB is read in any collation, and is empty only where it is not there",
    async () => {
      const server: MariaDbServer = await startMariaDb();
      try {
        const { SQL } = await import("bun");
        const admin = new SQL(server.url("mysql"), { max: 1 });
        await admin.unsafe("create database other character set utf8mb4");
        await admin.unsafe(
          "create table other.tokens (id bigint, `key` varbinary(48), allow_ips blob, model_limits_enabled bit(1), name varchar(50) character set latin1)",
        );
        await admin.unsafe("insert into other.tokens values (9007199254740993, 'k', '10.0.0.1', b'1', 'Zoë')");
        await admin.unsafe("create table other.shown (id int)");
        await admin.unsafe("create view other.options as select * from other.shown");
        await admin.unsafe("drop table other.shown");
        await admin.unsafe("create table other.`a``b` (id int)");
        await admin.close();
        const foreign = await openForeignDatabase(server.url("other"));
        const [row] = await foreign.readTable("tokens");
        expect(row).toMatchObject({ key: "k", allow_ips: "10.0.0.1", name: "Zoë" });
        expect([1, true]).toContain(row?.model_limits_enabled as never);
        expect(await foreign.readTable("gone")).toEqual([]);
        expect(await foreign.readTable("options").catch((error: Error) => error.message)).toContain("invalid table");
        expect(await foreign.countRows("a`b")).toBe(0);
        await foreign.close();
      } finally {
        await server.remove();
      }
    },
  );
});
