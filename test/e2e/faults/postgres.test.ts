import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { commandLine, type Gateway, ownerEmail, startGateway } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { newDatabase, type PostgresServer, startPostgres, whyNoPostgres } from "../../support/postgres.ts";

const body = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hello" }], max_tokens: 5 };
const untilMsMax = 60_000;
/** What a page asks for, or sends: for those who are signed in, and for those who are not yet. */
const pageRequests: [string, object?][] = [
  ["/dashboard/api/me"],
  ["/api/auth/get-session"],
  ["/api/auth/sign-in/email", { email: ownerEmail, password: "any password" }],
  ["/dashboard/api/invitations/accept", { token: "any", password: "any password" }],
];

if (whyNoPostgres !== undefined) console.warn(`Gateways over PostgreSQL are not tested: ${whyNoPostgres}`);

describe.skipIf(whyNoPostgres !== undefined)("two gateways on one PostgreSQL", () => {
  let server: PostgresServer;
  let one: Gateway;
  let other: Gateway;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = await newDatabase(server);
    const env = { DATABASE_URL: url, SANDBOX: "on" };
    one = await startGateway({ env });
    other = await startGateway({ env });
  });
  afterAll(async () => {
    await one.stop();
    await other.stop();
    await server.remove();
  });

  const answered = async (gateway: Gateway) => (await gateway.post("/chat/completions", body)).status;

  async function untilBothAnswer(): Promise<void> {
    const deadline = Date.now() + untilMsMax;
    while ((await answered(one)) !== 200 || (await answered(other)) !== 200) {
      if (Date.now() > deadline) throw new Error(`They do not answer again after ${untilMsMax} ms`);
    }
  }

  test("share their accounts and keys: what a command makes on one, the other knows, and revokes", async () => {
    expect(one.stdout()).toContain("Store      PostgreSQL");
    await one.cli("account", "create", "--email", "ada@example.org");
    const { id, key } = await one.cli<{ id: string; key: string }>(
      "key",
      "create",
      "--account",
      "ada@example.org",
      "--name",
      "n",
    );
    const ask = (gateway: Gateway) =>
      gateway.ask("/models", { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);
    expect([await ask(one), await ask(other)]).toEqual([200, 200]);
    await other.cli("key", "revoke", id);
    const deadline = Date.now() + untilMsMax;
    while ((await ask(one)) !== 401 || (await ask(other)) !== 401) expect(Date.now()).toBeLessThan(deadline);
  });

  test.each([
    ["frozen", () => server.freeze(true), () => server.freeze(false)],
    ["killed", () => server.kill(), () => server.start()],
  ])(
    "answer 503 with retry-after while it is %s, serve again after it, and the ledger is true",
    async (_how, begin, end) => {
      await untilBothAnswer();
      const cookie = await ownerCookie(one);
      await begin();
      // Nobody who looks at the page is left waiting, nor told of a fault that is none of the gateway's.
      for (const [path, sent] of pageRequests) {
        const body = sent === undefined ? null : JSON.stringify(sent);
        const headers = { cookie, origin: one.origin, ...(body && { "content-type": "application/json" }) };
        const seen = await fetch(`${one.origin}${path}`, { method: body ? "POST" : "GET", headers, body });
        expect([path, seen.headers.get("retry-after")]).toEqual([path, "1"]);
        await expectError(seen, { status: 503, code: "unavailable" });
      }
      for (const gateway of [one, other]) {
        const refusals = await Promise.all(Array.from({ length: 8 }, () => gateway.post("/chat/completions", body)));
        for (const response of refusals) {
          expect(response.headers.get("retry-after")).toBe("1");
          await expectError(response, { status: 503, code: "unavailable" });
        }
      }
      await end();
      await untilBothAnswer();
      const { ok, counts } = await one.cli<{ ok: boolean; counts: { open: number } }>("ledger", "verify");
      expect([ok, counts.open]).toEqual([true, 0]);
    },
  );

  test("a command whose database cannot be reached says so in one sentence and exits 5", async () => {
    const stranger = await startCommand({ ...process.env, DATABASE_URL: "postgres://ada:hunter2@127.0.0.1:1/books" });
    expect(stranger).toEqual({
      code: 5,
      stdout: "",
      stderr:
        "Cannot open the database postgres://ada@127.0.0.1:1/books: connect ECONNREFUSED 127.0.0.1:1; see that PostgreSQL runs there and that DATABASE_URL is right\n",
    });
  });

  async function startCommand(env: Record<string, string | undefined>) {
    const child = Bun.spawn([...commandLine(), "account", "list"], {
      env: { ...env, MODELGATE_HOME: one.home },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()));
    return { code: await child.exited, stdout, stderr };
  }
});
