import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { commands } from "../../../src/cli/index.ts";
import type { ConfigRow } from "../../../src/config/index.ts";
import type { PluginState } from "../../../src/providers/index.ts";
import { type Bench, makeBench, makePlugin, makeRow } from "./fixture.ts";

const benches: Bench[] = [];
const bench = (given?: Parameters<typeof makeBench>[0]) => {
  const made = makeBench(given);
  benches.push(made);
  return made;
};
afterEach(() => {
  for (const made of benches.splice(0)) made.remove();
});

describe("help", () => {
  test("names every command on its first page", async () => {
    const { code, stdout } = await bench().run("--help");
    expect(code).toBe(0);
    for (const { name, description } of commands) {
      expect(stdout).toContain(`\n  ${name} `);
      expect(stdout).toContain(description);
    }
  });

  test.each(commands.map((command) => [command.name, command] as const))(
    "of %s names its flags",
    async (name, command) => {
      const { code, stdout, stderr } = await bench().run(...name.split(" "), "--help");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`Usage: modelgate ${name}`);
      expect(stdout).toContain(`Example: modelgate ${command.example}`);
      // A value of JSON, which no flag takes.
      expect(stdout).not.toMatch(/\bnull\b/);
      for (const flag of [...Object.keys(command.flags), "json", "help"]) expect(stdout).toContain(`--${flag}`);
    },
  );

  test("is one JSON value with --json", async () => {
    expect(await bench().json("models", "--help")).toEqual({
      help: expect.stringContaining("Usage: modelgate models"),
    });
  });

  test("goes to standard error, and fails, when no command was given", async () => {
    const { code, stdout, stderr } = await bench().run();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: modelgate COMMAND");
  });
});

describe("a mistake", () => {
  test.each([
    [["modles"]],
    [["account", "create"]],
    [["key", "create", "--accuont", "a"]],
    [["wallet", "credit", "x"]],
  ])("in %j is one sentence on standard error with exit code 2, and writes nothing", async (argv) => {
    const { run, home } = bench();
    const { code, stdout, stderr } = await run(...argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^[A-Z][^\n]+[^.\n]\n$/);
    expect(readdirSync(home)).toEqual([]);
  });

  test("in the environment stops every command that reads it", async () => {
    const { run } = bench({ env: { PORT: "many" } });
    const { code, stderr } = await run("config");
    expect(code).toBe(2);
    expect(stderr).toBe('Cannot use PORT: it is "many", expected a whole number from 0 to 65535\n');
  });
});

describe("version", () => {
  test("says the version, and the commit of a build", async () => {
    expect((await bench().run("version")).stdout).toBe("modelgate 1.2.3\n");
    const built = bench({ version: { version: "1.2.3", commit: "0123456789ab" } });
    expect((await built.run("--version")).stdout).toBe("modelgate 1.2.3 (0123456789ab)\n");
    expect(await built.json("version")).toEqual({ version: "1.2.3", commit: "0123456789ab" });
  });
});

describe("config", () => {
  test("counts secrets and shows none", async () => {
    const { run, json } = bench({ env: { ACME_API_KEY: "hidden-1,hidden-2", LOG_LEVEL: "warn" } });
    const rows = await json<ConfigRow[]>("config");
    expect(rows).toContainEqual({ name: "ACME_API_KEY", value: "set (2 keys)", source: "environment" });
    expect(rows).toContainEqual({ name: "LOG_LEVEL", value: "warn", source: "environment" });
    const { stdout } = await run("config");
    expect(stdout).toMatch(/^ACME_API_KEY +set \(2 keys\) +environment$/m);
    expect(stdout).not.toContain("hidden");
  });
});

describe("serve", () => {
  test("starts the gateway with the checked configuration", async () => {
    const ports: number[] = [];
    const { run } = bench({
      env: { PORT: "8080" },
      serve: async ({ port }) => {
        ports.push(port);
      },
    });
    expect(await run("serve")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(ports).toEqual([8080]);
  });

  test("does not start on a credential that cannot be used", async () => {
    const { run } = bench({ env: { ACME_BASE_URL: "acme" }, serve: () => Promise.reject(new Error("Started")) });
    const { code, stderr } = await run("serve");
    expect(code).toBe(2);
    expect(stderr).toContain('Cannot use ACME_BASE_URL: it is "acme", expected an http or https URL');
  });

  test("says in one sentence why it could not start", async () => {
    const { run } = bench({ serve: () => Promise.reject(new Error("Port 3000 is taken, set PORT to another")) });
    expect(await run("serve")).toEqual({ code: 1, stdout: "", stderr: "Port 3000 is taken, set PORT to another\n" });
  });
});

describe("models", () => {
  const plugins = [
    makePlugin("acme", [makeRow({ aliases: ["one"] })]),
    makePlugin("other", [makeRow({ id: "other-1" })]),
  ];
  const served = async (env: Record<string, string>) => {
    const rows = await bench({ env, plugins }).json<{ id: string; served: string }[]>("models");
    return rows.map((row) => row.served);
  };

  test.each([
    [{}, ["sandbox", "sandbox"]],
    [{ HOST: "0.0.0.0" }, ["no: set ACME_API_KEY or store a key", "no: set OTHER_API_KEY or store a key"]],
    [{ SANDBOX: "off" }, ["no: set ACME_API_KEY or store a key", "no: set OTHER_API_KEY or store a key"]],
    [{ ACME_API_KEY: "k" }, ["acme", "no: set OTHER_API_KEY or store a key"]],
    [{ ACME_API_KEY: "k", SANDBOX: "on", HOST: "0.0.0.0" }, ["acme", "sandbox"]],
  ])("says who answers under %j", async (env, expected) => {
    expect(await served(env as Record<string, string>)).toEqual(expected);
  });

  test("knows stored keys, and what an administrator disabled", async () => {
    const secrets: string[] = [];
    const made = bench({ plugins, stdin: async () => secrets.shift() ?? "" });
    const list = async () => (await made.json<{ served: string }[]>("models")).map((row) => row.served);
    secrets.push("stored-secret-0123");
    await made.json("provider", "key", "set", "acme");
    expect(await list()).toEqual(["acme", "no: set OTHER_API_KEY or store a key"]);
    expect((await made.json<PluginState[]>("plugin", "list")).map(({ status, keys }) => [status, keys])).toEqual([
      ["serving", 1],
      ["no_credential", 0],
    ]);
    await made.json("provider", "set", "acme", "--enabled", "no");
    expect(await list()).toEqual(["no: its provider is disabled", "no: set OTHER_API_KEY or store a key"]);
  });

  test("says on which day a provider ended a model that nothing answers any more", async () => {
    const retiredOn = "2026-01-31";
    const ending = makePlugin("acme", [
      makeRow({ id: "refused", retiredOn }),
      makeRow({ id: "served", retiredOn, whenRetired: "serve" }),
      makeRow({ id: "succeeded", retiredOn, whenRetired: "successor", successor: "served" }),
    ]);
    const servedAt = async (day: string) => {
      const made = bench({ env: { ACME_API_KEY: "k" }, plugins: [ending], now: () => Date.parse(day) });
      return (await made.json<{ served: string }[]>("models")).map(({ served }) => served);
    };
    expect(await servedAt("2026-01-30")).toEqual(["acme", "acme", "acme"]);
    expect(await servedAt("2026-01-31")).toEqual(["no: its provider ended it on 2026-01-31", "acme", "acme"]);
  });

  test("creates no database to list them", async () => {
    const made = bench({ plugins });
    await made.json("models");
    expect(readdirSync(made.home)).not.toContain("modelgate.db");
  });

  test("shows the price at which accounts buy, and says what markup is in it", async () => {
    const price = { inputToken: { usd: "1", per: 1_000_000 }, markupPercent: 50 };
    const rows = [makeRow(), makeRow({ id: "acme-2", price })];
    const made = bench({ plugins: [makePlugin("acme", rows), makePlugin("other", [makeRow({ id: "other-1" })])] });
    expect((await bench().run("models")).stdout).not.toContain("Prices are what");
    await made.json("markup", "create", "--markup-percent", "10");
    await made.json("markup", "create", "--provider", "acme", "--markup-percent", "20");
    const { stdout } = await made.run("models");
    expect(stdout).toContain("inputToken $0.12/M, outputToken $0.48/M (with 20 % markup)");
    expect(stdout).toContain("inputToken $1.5/M (with 50 % markup)");
    expect(stdout).toContain("inputToken $0.11/M, outputToken $0.44/M (with 10 % markup)");
    expect(stdout).toContain("\n\nPrices are what accounts without a markup of their own pay");
    const [sold] = await made.json<object[]>("models");
    expect(sold).toMatchObject({
      price: { inputToken: { usd: "0.12", per: 1_000_000 } },
      provider_price: { inputToken: { usd: "0.10", per: 1_000_000 } },
      markup_percent: "20",
    });
  });

  test("shows the price with its unit", async () => {
    const { stdout } = await bench({ plugins }).run("models");
    expect(stdout).toContain("inputToken $0.1/M, outputToken $0.4/M");
  });
});

describe("catalogue check", () => {
  const check = (changes: Parameters<typeof makeRow>[0]) =>
    bench({ plugins: [makePlugin("acme", [makeRow(changes)])] }).json("catalogue", "check");
  const finding = { model: "acme-1", name: "acme-1", plugin: "acme", retired_on: null, successor: null };

  test.each([
    [{}, []],
    [
      { retiredOn: "2026-11-21", successor: "acme-2" },
      [{ finding: "retired", retired_on: "2026-11-21", successor: "acme-2" }],
    ],
    [{ retiredOn: "2026-11-22" }, [{ finding: "retiring", retired_on: "2026-11-22" }]],
    [{ retiredOn: "2027-01-20" }, [{ finding: "retiring", retired_on: "2027-01-20" }]],
    [{ retiredOn: "2027-01-21" }, []],
    [{ price: { inputToken: { usd: "1", per: 1 } } }, [{ finding: "unpriced" }]],
    [{ capability: "embeddings" as const, price: { inputToken: { usd: "1", per: 1 } } }, []],
  ])("of %j finds %j", async (changes, expected) => {
    expect(await check(changes)).toEqual(expected.map((found) => ({ ...finding, ...found })));
  });
});
