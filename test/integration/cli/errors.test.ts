import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../src/cli/command.ts";
import { describeError } from "../../../src/cli/describe-error.ts";
import { exitCodes } from "../../../src/cli/exit-codes.ts";
import { UnreachableError } from "../../../src/cli/unreachable.ts";
import { ConfigError } from "../../../src/config/index.ts";
import type { ErrorBody } from "../../../src/contract/index.ts";
import { LostConnectionError, StoreError } from "../../../src/db/index.ts";
import { RedisRefused } from "../../../src/ledger/index.ts";
import { type Bench, makeBench } from "./fixture.ts";

const benches: Bench[] = [];
const bench = (options?: Parameters<typeof makeBench>[0]) => {
  const made = makeBench(options);
  benches.push(made);
  return made;
};
afterEach(() => {
  for (const made of benches.splice(0)) made.remove();
});

/** Runs a command line that fails, and reads its one line on standard error. */
async function fail({ run }: Bench, ...argv: string[]) {
  const { code, stdout, stderr } = await run(...argv);
  expect(stdout).toBe("");
  expect(stderr.trimEnd()).not.toContain("\n");
  const { error, ...rest } = JSON.parse(stderr) as ErrorBody;
  expect(rest).toEqual({});
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
  return { exit: code, ...error };
}

describe("an error of --json is one JSON object on standard error", () => {
  const usage = { exit: 2, type: "usage_error", code: "invalid_usage" };

  test.each([
    [["modles", "--json"], "Unknown command modles, did you mean models?", null],
    [["--json", "modles"], 'Unexpected "modles" after a flag, expected the command first; see modelgate --help', null],
    [["--json"], "There is no command, expected one; see modelgate --help", null],
    [["account", "--json"], "Incomplete command account, expected one of: account create", null],
    [["account", "list", "--all", "--json"], "Unknown flag --all of account list", "--all"],
    [["--port=80", "--json"], "Unknown flag --port=80, expected a command first", "--port"],
    [["account", "create", "--json"], "Missing --email E, expected modelgate account create", "--email"],
    [["account", "create", "--json", "--email"], "Flag --email of account create has no value", "--email"],
    [["account", "show", "--json"], "Missing A, expected modelgate account show", "A"],
    [["account", "set", "A", "--role", "root", "--json"], "Cannot use --role root", null],
  ])("of the command line %j", async (argv, message, param) => {
    expect(await fail(bench(), ...argv)).toEqual({ ...usage, param, message: expect.stringContaining(message) });
  });

  test("of a setting, which is its param", async () => {
    expect(await fail(bench({ env: { PORT: "many" } }), "config", "--json")).toEqual({
      exit: 2,
      type: "config_error",
      code: "invalid_configuration",
      param: "PORT",
      message: 'Cannot use PORT: it is "many", expected a whole number from 0 to 65535',
    });
  });

  test("of what there is not or is already, in the words of the HTTP API", async () => {
    const made = bench();
    const email = "ada@example.org";
    await made.json("account", "create", "--email", email);
    const refused = { type: "invalid_request_error", param: null, message: expect.any(String) };
    const absent = { ...refused, exit: 3, code: "not_found" };
    expect(await fail(made, "account", "show", "adda@example.org", "--json")).toEqual({
      ...absent,
      message: `No account has the id or e-mail "adda@example.org", and no team has this name; did you mean ${email}?`,
    });
    expect(await fail(made, "key", "revoke", "nokey", "--json")).toEqual(absent);
    expect(await fail(made, "limit", "remove", "none", "--json")).toEqual(absent);
    expect(await fail(made, "account", "create", "--email", email, "--json")).toEqual({
      ...refused,
      exit: 4,
      code: "conflict",
      param: "email",
    });
    expect(await fail(made, "account", "create", "--email", "ada", "--json")).toMatchObject({
      exit: 2,
      type: "invalid_request_error",
      code: "invalid_request",
    });
  });

  test("of a failure that has no kind of its own", async () => {
    const made = bench({ serve: () => Promise.reject(new Error("Port 3000 is taken, set PORT to another")) });
    expect(await fail(made, "serve", "--json")).toEqual({
      exit: 1,
      type: "command_error",
      code: "failed",
      param: null,
      message: "Port 3000 is taken, set PORT to another",
    });
  });

  test("with secrets hidden, in the param too", async () => {
    const secret = 'hidden"secret-0123';
    const made = bench({
      env: { ACME_API_KEY: secret },
      serve: () => Promise.reject(new Error(`The provider said: no ${secret}`)),
    });
    expect(await fail(made, "serve", "--json")).toMatchObject({ message: "The provider said: no [hidden]" });
    expect(await fail(made, `--${secret}`, "--json")).toMatchObject({ param: "--[hidden]" });
  });

  test("with control characters escaped", async () => {
    const { stderr } = await bench().run("account", "show", "a\u001b[2J\u009b", "--json");
    for (const character of ["\u001b", "\u009b"]) expect(stderr).not.toContain(character);
    expect(JSON.parse(stderr).error.message).toContain("No account has the id");
  });
});

describe("a database or server that cannot be used exits with 5", () => {
  test("a file that is no database", async () => {
    const made = bench();
    mkdirSync(made.home, { recursive: true });
    writeFileSync(join(made.home, "modelgate.db"), "This is a shopping list, not a database. ".repeat(200));
    expect(await fail(made, "account", "list", "--json")).toMatchObject({
      exit: 5,
      type: "store_error",
      code: "store_unusable",
      message: expect.stringContaining("Cannot open the database"),
    });
  });

  test("a PostgreSQL that nobody serves, without its password", async () => {
    const made = bench({ env: { DATABASE_URL: "postgres://ada:hunter2hunter2@127.0.0.1:1/db" } });
    const { exit, type, message } = await fail(made, "account", "list", "--json");
    expect({ exit, type }).toEqual({ exit: 5, type: "store_error" });
    expect(message).not.toContain("hunter2");
  });

  test("a gateway that does not answer `apply`", async () => {
    const made = bench({ env: { MODELGATE_ADMIN_KEY: "sk-mg-admin-0123456789" } });
    const file = join(made.home, "gateway.json");
    writeFileSync(file, "{}");
    expect(await fail(made, "apply", file, "--url", "http://127.0.0.1:1", "--json")).toMatchObject({
      exit: 5,
      type: "connection_error",
      code: "unreachable",
      message: expect.stringContaining("Cannot reach the gateway at http://127.0.0.1:1"),
    });
  });

  test("an author of prices who does not answer", async () => {
    expect(await fail(bench(), "catalogue", "update", "http://127.0.0.1:1/prices.json", "--json")).toMatchObject({
      exit: 5,
      type: "connection_error",
      message: expect.stringContaining("Cannot use http://127.0.0.1:1/prices.json: "),
    });
  });

  test("a Redis that is refused", async () => {
    const made = bench({ serve: () => Promise.reject(new RedisRefused("Cannot use this Redis: it is another's")) });
    expect(await fail(made, "serve", "--json")).toEqual({
      exit: 5,
      type: "redis_error",
      code: "redis_unusable",
      param: null,
      message: "Cannot use this Redis: it is another's",
    });
  });

  test.each([
    ["a connection that is lost", new LostConnectionError("PostgreSQL is late", true), "store_unusable"],
    ["a server that is out of connections", Object.assign(new Error("no"), { code: "53300" }), "store_unusable"],
    ["a file that another process locks", Object.assign(new Error("no"), { errcode: 5 }), "store_unusable"],
    ["a server that refuses connections", Object.assign(new Error("no"), { code: "ECONNREFUSED" }), "unreachable"],
  ])("%s in the middle of a command", async (_, error, code) => {
    const made = bench({ serve: () => Promise.reject(error) });
    expect(await fail(made, "serve", "--json")).toMatchObject({ exit: 5, code });
  });

  test.each([
    ["a row that is refused", Object.assign(new Error("no"), { code: "23505" })],
    ["a statement that SQLite does not take", Object.assign(new Error("no"), { errcode: 19 })],
  ])("but not %s", async (_, error) => {
    const made = bench({ serve: () => Promise.reject(error) });
    expect(await fail(made, "serve", "--json")).toMatchObject({ exit: 1, code: "failed" });
  });
});

describe("an error of the gateway that `apply` asks keeps its kind", () => {
  test.each([
    [404, { message: "No plan has this id", type: "invalid_request_error", code: "not_found", param: null }, 3],
    [409, { message: "The wallet is", type: "invalid_request_error", code: "conflict", param: "accounts[0]" }, 4],
    [503, { message: "The database is away", type: "server_error", code: "unavailable", param: null }, 5],
    [401, { message: "No such key", type: "invalid_request_error", code: "invalid_api_key", param: null }, 2],
    [500, { message: "It failed", type: "server_error", code: "internal_error", param: null }, 1],
  ])("of status %i", async (status, error, exit) => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ error }, { status }) });
    try {
      const made = bench({ env: { MODELGATE_ADMIN_KEY: "sk-mg-admin-0123456789" } });
      const file = join(made.home, "gateway.json");
      writeFileSync(file, "{}");
      expect(await fail(made, "apply", file, "--url", server.url.origin, "--json")).toEqual({ exit, ...error });
    } finally {
      await server.stop(true);
    }
  });

  test("and a proxy without a gateway is a server that cannot be reached", async () => {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("Bad Gateway", { status: 502 }),
    });
    try {
      const made = bench({ env: { MODELGATE_ADMIN_KEY: "sk-mg-admin-0123456789" } });
      expect(await fail(made, "export", "--url", server.url.origin, "--json")).toMatchObject({
        exit: 5,
        type: "connection_error",
        message: `The gateway at ${server.url.origin} answered 502`,
      });
    } finally {
      await server.stop(true);
    }
  });
});

describe("docs/command-line.md", () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/command-line.md"), "utf8");

  test("has each type of error with its code and exit code", () => {
    const samples = [
      new UsageError("no"),
      new ConfigError("PORT", "no"),
      new StoreError("no"),
      new RedisRefused("no"),
      new UnreachableError("no"),
      new Error("no"),
    ];
    const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| `([a-z_]+)` +\| (\d) /gm)].map(([, ...cells]) => cells);
    const described = samples
      .map(describeError)
      .map(({ error, exitCode }) => [error.type, String(error.code), String(exitCode)]);
    expect(rows).toEqual(described);
  });

  test("has every exit code in its order, and so has the help", async () => {
    const listed = [...page.matchAll(/^\| (\d) +\| /gm)].map(([, code]) => Number(code));
    expect(listed).toEqual(Object.values(exitCodes));
    const { stdout } = await bench().run("--help");
    const [line = ""] = /^Exit codes: .*$/m.exec(stdout) ?? [];
    expect([...line.matchAll(/\b\d\b/g)].map(([code]) => Number(code))).toEqual(listed);
  });
});
