import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/db/index.ts";
import { commandLine } from "../../support/gateway.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});
useRedisServers();

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "modelgate-start-"));
  homes.push(home);
  return home;
}

/** Starts a gateway that is not to start, and says how it ended. */
async function startRefused(home: string, env: Record<string, string> = {}) {
  const child = Bun.spawn([...commandLine(), "serve"], {
    env: { PATH: process.env.PATH ?? "", HOME: home, MODELGATE_HOME: home, PORT: "0", LOG_LEVEL: "error", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearTimeout(timer);
  return { code, stdout, stderr: stderr.trimEnd() };
}

/** How many accounts and keys a home's database has; none where there is no database. */
function peopleIn(home: string): number {
  const file = join(home, "modelgate.db");
  if (!existsSync(file)) return 0;
  const database = new DatabaseSync(file, { readOnly: true });
  const { people } = database
    .prepare("select (select count(*) from accounts) + (select count(*) from keys) as people")
    .get() as { people: number };
  database.close();
  return people;
}

describe("a gateway is not started, with one sentence and an exit code of its kind, and nothing is written", () => {
  test.skipIf(whyNoPostgres !== undefined || redisProgram === null)("on the Redis of another project", async () => {
    const redis = await startRedis();
    await redis.command("SET", "modelgate:format", "somebody else's");
    const home = newHome();
    const url = await newDatabase();
    const { code, stdout, stderr } = await startRefused(home, { DATABASE_URL: url, REDIS_URL: redis.url });
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toStartWith('Cannot use this Redis: its key modelgate:format says "somebody else\'s"');
    expect(stderr).not.toContain("\n");
    expect(await redis.command("DBSIZE")).toBe(":1\r\n");
    expect(peopleIn(home)).toBe(0);
    expect(await queryPostgres(url, "select id from accounts union all select id from keys")).toEqual([]);
  });

  test("on a database of a newer schema", async () => {
    const home = newHome();
    const file = join(home, "modelgate.db");
    await (await openStore({ file })).close();
    const database = new DatabaseSync(file);
    database.exec("insert into schema_versions (version, hash, applied_at) values (99, 'x', 1)");
    const { code, stdout, stderr } = await startRefused(home);
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toStartWith("The database has schema version 99 and this modelgate knows up to ");
    expect(stderr).not.toContain("\n");
    expect(peopleIn(home)).toBe(0);
    database.close();
  });

  test.each([
    ["DATABASE_URL", "mysql://ada:hunter2@127.0.0.1/db", "Cannot use DATABASE_URL", 2],
    [
      "DATABASE_URL",
      "postgres://ada:hunter2@127.0.0.1:1/db",
      "Cannot open the database postgres://ada@127.0.0.1:1/db",
      5,
    ],
    ["REDIS_URL", "http://:hunter2@127.0.0.1", "Cannot use REDIS_URL", 2],
    ["REDIS_URL", "redis://:hunter2@127.0.0.1", "Cannot use REDIS_URL: it is set without DATABASE_URL", 2],
  ])("by %s=%s", async (variable, url, said, exitCode) => {
    const { code, stdout, stderr } = await startRefused(newHome(), { [variable]: url });
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
    expect(stderr).toStartWith(said);
    expect(stderr).not.toContain("\n");
    expect(stderr).not.toContain("hunter2");
  });
});
