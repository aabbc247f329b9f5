import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { migratedPostgres } from "../../support/migrated-postgres.ts";
import { queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { type Bench, makeBench, type Outcome } from "./fixture.ts";

const email = "ada@example.org";
const beyond = "9007199.254740992";

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

/** A ledger with an account, its key and a credit that has a reference. */
async function ledger(): Promise<{ key: string; before: string }> {
  await bench.json("account", "create", "--email", email);
  const { id } = await bench.json<{ id: string }>("key", "create", "--account", email, "--name", "n");
  await bench.json(...credit("--usd", "5", "--reference", "pay-1"));
  return { key: id, before: written() };
}

const credit = (...flags: string[]) => ["wallet", "credit", "--account", email, "--note", "n", ...flags];

/** All that stands in all tables. */
function written(): string {
  const database = new DatabaseSync(getDatabaseFile(bench), { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
  const rows = tables.map(({ name }) => [name, database.prepare(`select * from "${name}"`).all()]);
  database.close();
  return JSON.stringify(rows);
}

function expectRefused({ code, stdout, stderr }: Outcome, sentence: string, exitCode = 2): void {
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toContain(sentence);
  // One sentence on one line, without the words of a stack.
  expect(stderr.trimEnd()).not.toContain("\n");
  expect(stderr).not.toContain("    at ");
}

describe("an amount is refused in one sentence, with exit code 2, and nothing is written", () => {
  const amounts = [
    ["NaN", "NaN"],
    ["Infinity", "Infinity"],
    ["five", "five"],
    ["1e3", "1e3"],
    ["5,00", "5,00"],
    ["0x10", "0x10"],
    ["", "is empty"],
    ["0.0000000001", "at most nine decimals"],
    [beyond, beyond],
    ["99999999999999999999", "99999999999999999999"],
  ];

  test.each([
    ...amounts.map(([usd, said]) => [credit("--usd", usd as string), said as string] as const),
    [credit("--usd", "0"), "above 0"] as const,
    [credit("--usd", "-5"), "expected US dollars above 0"] as const,
    [["wallet", "debit", "--account", email, "--note", "n", "--usd", "-5"], "expected US dollars above 0"] as const,
    [credit("--usd", "9007199.254740991"), "would leave the range of 2^53 nanodollars"] as const,
    ...[...amounts, ["-5", "-5"]].map(([usd, said]) => [["voucher", "create", "--usd", usd], said] as const),
    ...[...amounts, ["-5", "from 0"]].map(([usd, said]) => [["key", "set", "KEY", "--budget-usd", usd], said] as const),
    ...[...amounts, ["-0.000000001", "from 0"]].map(
      ([usd, said]) => [["key", "create", "--account", email, "--name", "n", "--budget-usd", usd], said] as const,
    ),
    ...["-1", "1.5", "NaN", "9007199254740992", "lots"].map(
      (tokens) => [["quota", "set", "--account", email, "--tokens", tokens], tokens] as const,
    ),
    ...["0", "-1", "1.5", "9007199254740992"].map(
      (limit) => [["key", "set", "KEY", "--tokens-per-minute", limit], "whole number from 1"] as const,
    ),
  ])("%j", async (argv, said) => {
    const { key, before } = await ledger();
    expectRefused(await bench.run(...argv.map((word) => (word === "KEY" ? key : String(word)))), String(said));
    expect(written()).toBe(before);
  });

  test("a reference that was used for another amount is a conflict, with exit code 4", async () => {
    const { before } = await ledger();
    const again = await bench.run(...credit("--usd", "6", "--reference", "pay-1"));
    expectRefused(again, "Reference pay-1 was used for 5 USD", 4);
    expect(written()).toBe(before);
  });

  test("the largest that fits is taken exactly, and so is the smallest", async () => {
    await ledger();
    await bench.json(...credit("--usd", "9007194.254740991"));
    expect(await bench.json("wallet", "show", email)).toMatchObject({ balance_usd: "9007199.254740991" });
    await bench.json("wallet", "debit", "--account", email, "--note", "n", "--usd", "0.000000001");
    expect(await bench.json("wallet", "show", email)).toMatchObject({ balance_usd: "9007199.25474099" });
  });
});

describe("an account that nobody has", () => {
  test.each([
    [credit("--usd", "5").map((word) => (word === email ? "acc_none" : word))],
    [["wallet", "show", "acc_none"]],
    [["quota", "set", "--account", "acc_none", "--tokens", "5"]],
    [["key", "create", "--account", "acc_none", "--name", "n"]],
    [["key", "list", "--account", "acc_none"]],
    [["account", "show", "acc_none"]],
    [["ledger", "export", "--from", "2026-11-01", "--to", "2026-11-02", "--account", "acc_none"]],
  ])("is named by %j, with exit code 3, and nothing is written", async (argv) => {
    const { before } = await ledger();
    expectRefused(await bench.run(...argv), 'No account has the id or e-mail "acc_none"', 3);
    expect(written()).toBe(before);
  });
});

test("a credit of the same reference is counted once, however often it is given, and once for each account", async () => {
  const { before } = await ledger();
  for (let times = 0; times < 3; times++) {
    const again = await bench.json(...credit("--usd", "5.00", "--reference", "pay-1"));
    expect(again).toMatchObject({ repeated: true, balance_usd: "5" });
  }
  expect(written()).toBe(before);
  await bench.json("account", "create", "--email", "ben@example.org");
  const other = credit("--usd", "5", "--reference", "pay-1").map((word) => (word === email ? "ben@example.org" : word));
  expect(await bench.json(...other)).toMatchObject({ repeated: false, balance_usd: "5" });
});

describe("a database", () => {
  const commands = [["account", "list"], credit("--usd", "5"), ["ledger", "verify"], ["key", "list"]];

  test.each(commands.map((argv) => [argv]))("of a newer schema is left as it is by %j", async (argv) => {
    await ledger();
    const database = new DatabaseSync(getDatabaseFile(bench));
    database.exec("insert into schema_versions (version, hash, applied_at) values (99, 'x', 1)");
    database.close();
    const before = written();
    expectRefused(await bench.run(...argv), "The database has schema version 99 and this modelgate knows up to ", 5);
    expect(written()).toBe(before);
  });

  test("of another program is left as it is", async () => {
    const file = getDatabaseFile(bench);
    const database = new DatabaseSync(file);
    database.exec("create table poems (line text); insert into poems values ('rose')");
    database.close();
    const before = written();
    expectRefused(await bench.run(...credit("--usd", "5")), "The database is not one of modelgate's", 5);
    expect(written()).toBe(before);
  });

  test("that is none is left as it is", async () => {
    const file = getDatabaseFile(bench);
    writeFileSync(file, "This is a text, and it is long enough to be looked at as a database would be.".repeat(20));
    copyFileSync(file, `${file}.before`);
    expectRefused(await bench.run("account", "list"), `Cannot open the database ${file}`, 5);
    expect(readFileSync(file)).toEqual(readFileSync(`${file}.before`));
    rmSync(`${file}.before`);
  });

  test.skipIf(whyNoPostgres !== undefined)("of a newer schema is left as it is in PostgreSQL too", async () => {
    const url = await migratedPostgres();
    await queryPostgres(url, "insert into schema_versions (version, hash, applied_at) values (99, 'x', 1)");
    const newer = makeBench({ env: { DATABASE_URL: url } });
    expectRefused(await newer.run("account", "create", "--email", email), "The database has schema version 99", 5);
    newer.remove();
    expect(await queryPostgres(url, "select email from accounts")).toEqual([]);
  });
});

describe("a URL", () => {
  test.each([
    ["DATABASE_URL", "mysql://ada:hunter2@127.0.0.1/db", "expected a URL such as postgres://", 2],
    ["DATABASE_URL", "127.0.0.1:5432", "expected a URL such as postgres://", 2],
    ["DATABASE_URL", "postgres://", "expected a URL such as postgres://", 2],
    [
      "DATABASE_URL",
      "postgres://ada:hunter2@127.0.0.1:1/db",
      "Cannot open the database postgres://ada@127.0.0.1:1/db",
      5,
    ],
    ["REDIS_URL", "http://:hunter2@127.0.0.1", "expected a URL such as redis://", 2],
    ["REDIS_URL", "localhost", "expected a URL such as redis://", 2],
    ["REDIS_URL", "redis://127.0.0.1/zero", "expected a URL such as redis://", 2],
  ])("%s=%s is refused without its password", async (variable, url, said, code) => {
    const wrong = makeBench({ env: { [variable]: url } });
    const outcome = await wrong.run("account", "create", "--email", email);
    wrong.remove();
    expectRefused(outcome, said, code);
    expect(outcome.stderr).not.toContain("hunter2");
  });
});
