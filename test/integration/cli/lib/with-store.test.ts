import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { getDatabaseFile } from "../../../../src/config/index.ts";
import { openStore, toPayerNumber } from "../../../../src/db/index.ts";
import { type Bench, benchNow, makeBench, makePlugin, makeRow } from "../fixture.ts";

const email = "ada@example.org";
const nobody = ["--account", "adda@example.org"];

let bench: Bench;
beforeEach(() => {
  bench = makeBench({ plugins: [makePlugin("acme", [makeRow({ id: "acme-1", aliases: ["one"] })])] });
});
afterEach(() => bench.remove());

const create = () => bench.json<{ id: string; email: string }>("account", "create", "--email", email, "--name", "Ada");

describe("account", () => {
  test("create says the id and the e-mail in lower case", async () => {
    const made = await bench.json("account", "create", "--email", "Ada@Example.org");
    expect(made).toEqual({ id: expect.stringMatching(/^acc_/), email });
  });

  test("list and show know it by id and by e-mail", async () => {
    const { id } = await create();
    const shown = {
      id,
      email,
      name: "Ada",
      free_tokens_per_day: null,
      allowed_models: null,
      role: null,
      verified: null,
    };
    expect(await bench.json("account", "list")).toEqual([shown]);
    const ofKeys = { keys: 0, keys_in_force: 0, last_used_at: null };
    const ofPeople = { billed_afterwards: false, without_admin: false, teams: [], members: [], budgets: [] };
    const whole = { ...shown, balance_usd: "0", held_usd: "0", ...ofKeys, ...ofPeople };
    expect(await bench.json("account", "show", id)).toEqual(whole);
    expect(await bench.json("account", "show", email)).toEqual(whole);
    expect((await bench.run("account", "show", "ADA@example.org")).stdout).toContain(id);
  });

  test("create refuses an address that is taken or none", async () => {
    await create();
    const taken = await bench.run("account", "create", "--email", email);
    expect(taken).toEqual({ code: 4, stdout: "", stderr: expect.stringContaining("already exists") });
    expect((await bench.run("account", "create", "--email", "ada")).code).toBe(2);
    expect(await bench.json("account", "list")).toHaveLength(1);
  });

  test.each([
    [["account", "show", "adda@example.org"]],
    [["key", "create", ...nobody, "--name", "n"]],
    [["key", "list", ...nobody]],
    [["wallet", "credit", ...nobody, "--usd", "5", "--note", "n"]],
    [["wallet", "show", "adda@example.org"]],
    [["quota", "set", ...nobody, "--tokens", "5"]],
  ])("%j names the nearest account", async (argv) => {
    await create();
    const { code, stderr } = await bench.run(...argv);
    expect(code).toBe(3);
    expect(stderr).toBe(
      `No account has the id or e-mail "adda@example.org", and no team has this name; did you mean ${email}?\n`,
    );
  });
});

describe("key", () => {
  const makeKey = (...flags: string[]) =>
    bench.json<{ id: string; key: string }>("key", "create", "--account", email, "--name", "laptop", ...flags);

  test("create says the key once and keeps only its hash", async () => {
    await create();
    const { id, key } = await makeKey();
    expect(key).toStartWith(`sk-mg-${id}-`);
    const { stdout } = await bench.run("key", "list", "--json");
    expect(stdout).toContain(id);
    expect(stdout).not.toContain(key.slice(`sk-mg-${id}-`.length));
  });

  test("create takes an expiry and models, aliases by the id they stand for", async () => {
    const { id: account } = await create();
    const { id } = await makeKey("--expires", "30d", "--models", "one, acme-1");
    expect(await bench.json("key", "list", "--account", email)).toEqual([
      {
        id,
        account,
        name: "laptop",
        state: "active",
        expires_at: new Date(benchNow + 30 * 86_400_000).toISOString(),
        allowed_models: ["acme-1"],
        allowed_networks: null,
        cache_marks: "auto",
        budget_usd: null,
        budget_period: null,
        requests_per_minute: null,
        tokens_per_minute: null,
        concurrent_calls: null,
        budget_used_usd: null,
        created_at: expect.any(String),
        held_for: null,
        revoked_at: null,
        last_used_at: null,
      },
    ]);
  });

  test("create warns of a model that the catalogue lacks", async () => {
    await create();
    const made = await bench.run("key", "create", "--account", email, "--name", "n", "--models", "acme-2");
    expect(made.code).toBe(0);
    expect(made.stderr).toBe("Warning: there is no model acme-2, did you mean acme-1?\n");
  });

  test.each([
    ["--expires", "soon", "Cannot read --expires soon"],
    ["--expires", "2026-11-20", "in the past"],
    ["--models", ",", "expected model ids"],
    ["--budget-usd", "-1", "Cannot read --budget-usd -1, expected US dollars from 0"],
    ["--budget-usd", "NaN", "Cannot read --budget-usd NaN"],
    ["--budget-usd", "0.0000000001", "at most nine decimals"],
    ["--budget-usd", "9007200", "Cannot read --budget-usd 9007200"],
    ["--requests-per-minute", "0", "Cannot read --requests-per-minute 0, expected a whole number from 1"],
    ["--tokens-per-minute", "1.5", "Cannot read --tokens-per-minute 1.5"],
    ["--concurrent-calls", "9007199254740993", "Cannot read --concurrent-calls"],
  ])("create refuses %s %s and makes no key", async (flag, value, sentence) => {
    await create();
    const { code, stderr } = await bench.run("key", "create", "--account", email, "--name", "n", flag, value);
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
    expect(await bench.json("key", "list")).toEqual([]);
  });

  const bounds = ["budget_usd", "requests_per_minute", "tokens_per_minute", "concurrent_calls"];
  const readLimitsUsage = async () => {
    const [key] = await bench.json<Record<string, unknown>[]>("key", "list");
    return bounds.map((name) => key?.[name]);
  };

  test("create takes a budget and limits, set changes them one by one, and none takes one away", async () => {
    await create();
    const limits = ["--requests-per-minute", "60", "--tokens-per-minute", "9000", "--concurrent-calls", "4"];
    const { id, key } = await makeKey("--budget-usd", "5.00", ...limits);
    expect(await readLimitsUsage()).toEqual(["5", 60, 9000, 4]);
    const changed = { id, budget_usd: "7.000000001", requests_per_minute: null };
    expect(
      await bench.json("key", "set", key, "--budget-usd", "7.000000001", "--requests-per-minute", "none"),
    ).toMatchObject(changed);
    expect(await readLimitsUsage()).toEqual(["7.000000001", null, 9000, 4]);
    expect((await bench.run("key", "list")).stdout).toContain("0 of 7.000000001 USD this month");
  });

  test("set changes what it is for, when it ends and what it may use, and takes both bounds away again", async () => {
    await create();
    const { id } = await makeKey();
    const changes = ["--name", "phone", "--expires", "2999-12-31", "--models", "gpt-4.1-nano,llama-x"];
    const { stdout, stderr } = await bench.run("key", "set", id, ...changes);
    expect(stdout).toContain("name phone, expires_at 2999-12-31T23:59:59.999Z, allowed_models gpt-4.1-nano,llama-x");
    expect(stderr).toContain("Warning: there is no model llama-x");
    const changed = await bench.json("key", "set", id, "--expires", "none", "--models", "none");
    expect(changed).toMatchObject({ id, name: "phone", expires_at: null, allowed_models: null });
  });

  test.each([
    [["nokey", "--budget-usd", "5"], "No API key has the id", 3],
    [
      ["ID"],
      "Nothing to change, expected one of --name, --expires, --models, --networks, --cache-marks, --budget-usd",
      2,
    ],
    [["ID", "--name", ""], "Flag --name of key set is empty", 2],
    [["ID", "--expires", "2000-01-01"], "it is in the past", 2],
    [["ID", "--models", ","], "expected model ids separated by commas", 2],
    [["ID", "--budget-usd", "-5"], "Cannot read --budget-usd -5", 2],
    [["ID", "--tokens-per-minute", "0"], "Cannot read --tokens-per-minute 0", 2],
  ])("set refuses %j and changes nothing", async (argv, sentence, exitCode) => {
    await create();
    const { id } = await makeKey("--budget-usd", "1");
    const { code, stderr } = await bench.run("key", "set", ...argv.map((word) => (word === "ID" ? id : word)));
    expect([code, stderr.trim().split("\n").length]).toEqual([exitCode, 1]);
    expect(stderr).toContain(sentence);
    expect(await readLimitsUsage()).toEqual(["1", null, null, null]);
  });

  test("revoke ends it, by its id or the key itself, and says when there is none", async () => {
    await create();
    const [one, other] = [await makeKey(), await makeKey()];
    expect(await bench.json("key", "revoke", one.id)).toEqual({ id: one.id, revoked: true });
    expect(await bench.json("key", "revoke", other.key)).toEqual({ id: other.id, revoked: true });
    const states = (await bench.json<{ state: string }[]>("key", "list")).map(({ state }) => state);
    expect(states).toEqual(["revoked", "revoked"]);
    expect(await bench.run("key", "revoke", "nokey")).toMatchObject({ code: 3, stdout: "" });
  });
});

describe("wallet", () => {
  const credit = (...flags: string[]) => ["wallet", "credit", "--account", email, "--note", "Invoice 7", ...flags];
  const balance = async () => (await bench.json<{ balance_usd: string }>("wallet", "show", email)).balance_usd;

  test("credit adds exactly, and show says the sum", async () => {
    await create();
    expect(await bench.json(...credit("--usd", "5.00"))).toMatchObject({ balance_usd: "5", held_usd: "0" });
    await bench.json(...credit("--usd", "0.000000001"));
    expect(await bench.json("wallet", "show", email)).toEqual({
      balance_usd: "5.000000001",
      held_usd: "0",
    });
  });

  test("debit takes away, also below zero, and counts a reference once", async () => {
    await create();
    await bench.json(...credit("--usd", "5.00"));
    const debit = ["wallet", "debit", "--account", email, "--note", "Refund"];
    for (const repeated of [false, true]) {
      expect(await bench.json(...debit, "--usd", "1.50", "--reference", "r")).toMatchObject({ repeated });
    }
    expect(await balance()).toBe("3.5");
    await bench.json(...debit, "--usd", "4");
    expect(await balance()).toBe("-0.5");
  });

  test("credit counts a reference once, and refuses it for another amount", async () => {
    await create();
    await bench.json(...credit("--usd", "5", "--reference", "pay-1"));
    expect(await bench.json(...credit("--usd", "5", "--reference", "pay-1"))).toMatchObject({ repeated: true });
    expect((await bench.run(...credit("--usd", "6", "--reference", "pay-1"))).code).toBe(4);
    expect(await balance()).toBe("5");
  });

  test.each(["0", "five", "1e3", "0.0000000001"])("credit refuses --usd %s and moves nothing", async (usd) => {
    await create();
    const { code, stderr } = await bench.run(...credit("--usd", usd));
    expect(code).toBe(2);
    expect(stderr).toContain(`Cannot read --usd ${usd}`);
    expect(await balance()).toBe("0");
  });
});

describe("quota set", () => {
  test("is seen in the account", async () => {
    const { id } = await create();
    expect(await bench.json("quota", "set", "--account", id, "--tokens", "42")).toEqual({
      id,
      free_tokens_per_day: 42,
    });
    expect(await bench.json("account", "show", id)).toMatchObject({ free_tokens_per_day: 42 });
  });

  test("refuses what is not a whole number", async () => {
    await create();
    expect((await bench.run("quota", "set", "--account", email, "--tokens", "lots")).code).toBe(2);
    expect(await bench.json("account", "show", email)).toMatchObject({ free_tokens_per_day: null });
  });
});

test("wallet list names the credits of a wallet, and wallet reverse takes one back, once", async () => {
  const { id } = await create();
  await bench.json("wallet", "credit", "--account", email, "--usd", "50000", "--note", "Invoice 7", "--reference", "7");
  const [credit] = await bench.json<{ id: string }[]>("wallet", "list", "--account", email);
  expect(credit).toMatchObject({ id: `credit:${id}:7`, kind: "credit", amount_usd: "50000", irreversible: null });
  const { code, stdout } = await bench.run("wallet", "reverse", `credit:${id}:7`, "--note", "Meant 5");
  expect([code, stdout]).toEqual([0, "Took back 50000 USD; the balance is 0 USD\n"]);
  const again = await bench.run("wallet", "reverse", `credit:${id}:7`);
  expect([again.code, again.stderr]).toEqual([4, expect.stringContaining("It was already reversed")]);
  expect((await bench.run("wallet", "reverse", "credit:none:7")).code).toBe(3);
  const listed = (await bench.run("wallet", "list", "--account", email)).stdout;
  expect(listed).toContain("credit, reversed");
  expect(listed).toContain("Reversal: Meant 5");
  expect((await bench.run("wallet", "list", "--account", email, "--limit", "0")).code).toBe(2);
  expect((await bench.run("ledger", "verify")).code).toBe(0);
});

describe("ledger verify", () => {
  test("finds a true ledger true", async () => {
    await create();
    await bench.json("wallet", "credit", "--account", email, "--usd", "5", "--note", "n");
    const { code, stdout } = await bench.run("ledger", "verify");
    expect(code).toBe(0);
    expect(stdout).toStartWith("The ledger is consistent: 1 wallets, 1 transactions, 0 calls");
  });

  test("ends with 1 on a ledger that was changed behind its back", async () => {
    const { id } = await create();
    await bench.json("wallet", "credit", "--account", email, "--usd", "5", "--note", "n");
    const store = await openStore({ file: getDatabaseFile(bench) });
    await store.db
      .updateTable("wallet_rows")
      .set({ balance_nanodollars: 7 })
      .where("account_id", "=", toPayerNumber(id))
      .execute();
    await store.close();
    const { code, stdout } = await bench.run("ledger", "verify", "--json");
    expect(code).toBe(1);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ ok: false });
    expect(report.differences[0]).toContain(id);
    expect((await bench.run("ledger", "verify")).stdout).toStartWith("The ledger is inconsistent:");
  });
});

test("the home and the ledger are open to their owner alone", async () => {
  await create();
  expect(statSync(getDatabaseFile(bench)).mode & 0o077).toBe(0);
});
