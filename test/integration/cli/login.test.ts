import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { makeBench, type Outcome } from "./fixture.ts";

let gateway: InProcessGateway;
let origin: string;
let late = 0;
const now = () => Date.now() + late;
beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" }, now });
  origin = new URL(gateway.baseUrl).origin;
});
afterAll(() => gateway.stop());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "modelgate-login-"));
  return () => rmSync(folder, { recursive: true, force: true });
});

const file = () => join(folder, "modelgate/login.json");

async function newPerson() {
  const { id, email } = await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` });
  return { id, email, cookie: await enterAs(gateway.store, { accountId: id, role: "member" }, now()) };
}

/** Runs a command with the folder of this test; `seen` gets what it writes to standard error. */
async function run(argv: string[], seen: (text: string) => void = () => undefined): Promise<Outcome> {
  const bench = makeBench({ env: { XDG_CONFIG_HOME: folder }, now });
  try {
    const { runCli } = await import("../../../src/cli/index.ts");
    const outcome: Outcome = { code: -1, stdout: "", stderr: "" };
    outcome.code = await runCli(argv, {
      env: { MODELGATE_HOME: bench.home, XDG_CONFIG_HOME: folder },
      loadBuiltIns: () => Promise.reject(new Error("not needed")),
      serve: async () => undefined,
      version: { version: "1" },
      now,
      stdout: (text) => {
        outcome.stdout += text;
      },
      stderr: (text) => {
        outcome.stderr += text;
        seen(text);
      },
    });
    return outcome;
  } finally {
    bench.remove();
  }
}

/** Signs in at a base URL, as its person approves. */
async function logIn(base = origin) {
  const person = await newPerson();
  const approved = Promise.withResolvers<number>();
  const approve = async (userCode: string) => {
    const headers = { cookie: person.cookie, origin, "content-type": "application/json" };
    const body = JSON.stringify({ user_code: userCode, account: person.id });
    const response = await fetch(`${origin}/dashboard/api/programs/device/approve`, { method: "POST", headers, body });
    approved.resolve(response.status);
  };
  const outcome = await run(["login", "--url", `${base}/`], (text) => {
    const [, code] = /shows the code (\S+)/.exec(text) ?? [];
    if (code !== undefined) void approve(code);
  });
  expect(outcome).toMatchObject({ code: 0 });
  expect(await approved.promise).toBe(200);
  return { person, outcome };
}

const ask = async (token: string) =>
  (await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${token.trim()}` } })).status;

describe("modelgate login", () => {
  test("signs in below any base URL, keeps its token for this user alone, and prints and ends it", async () => {
    const { person, outcome } = await logIn(`${origin}/v1`);
    expect(outcome.stderr).toContain(`${origin}/device?user_code=`);
    expect(outcome.stdout).toContain(`as ${person.email}`);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "modelgate")).mode & 0o777).toBe(0o700);

    const first = await run(["token"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^mg-at-\w+-[0-9a-f]{64}\n$/);
    expect(await ask(first.stdout)).toBe(200);
    const [key] = await gateway.app.accounts.listKeys(person.id);
    expect(key?.name).toBe(`modelgate of ${person.email}`);

    chmodSync(file(), 0o644);
    late += 3_300_000;
    const tokens = (await Promise.all([run(["token"]), run(["token"]), run(["token"])])).map(({ stdout }) => stdout);
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).not.toBe(first.stdout);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    late += 400_000;
    expect([await ask(first.stdout), await ask(tokens[0] as string)]).toEqual([401, 200]);

    expect((await run(["logout"])).stdout).toBe(`Signed out of ${origin}/v1\n`);
    expect(existsSync(file())).toBe(false);
    expect(await ask(tokens[0] as string)).toBe(401);
    expect((await run(["token"])).stderr).toContain("run modelgate login");
    expect((await run(["logout"])).stdout).toBe("Not signed in\n");
  }, 60_000);

  test("says that a sign-in has ended, and prints a token that is still good while the gateway is away", async () => {
    const { person } = await logIn();
    const [key] = await gateway.app.accounts.listKeys(person.id);
    late += 3_300_000;
    const signedIn = JSON.parse(readFileSync(file(), "utf8")) as { access_token: string; url: string };
    await Bun.write(file(), JSON.stringify({ ...signedIn, url: "http://127.0.0.1:1" }));
    expect(await run(["token"])).toMatchObject({ code: 0, stdout: `${signedIn.access_token}\n` });
    await Bun.write(file(), JSON.stringify(signedIn));
    await gateway.app.accounts.revokeKey(key?.id as string);
    const refused = await run(["token"]);
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: "The sign-in has ended; run modelgate login\n" });
  }, 60_000);

  test("names an address that is no gateway, or does not answer", async () => {
    const none = await run(["login", "--url", "http://127.0.0.1:1"]);
    expect(none.code).toBe(5);
    expect(none.stderr).toContain("Cannot reach the gateway at http://127.0.0.1:1");
    const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("<h1>Hi</h1>") });
    try {
      const wrong = await run(["login", "--url", `http://127.0.0.1:${other.port}`]);
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a gateway") });
    } finally {
      await other.stop(true);
    }
    expect((await run(["login", "--url", "nonsense"])).code).toBe(2);
  });
});
