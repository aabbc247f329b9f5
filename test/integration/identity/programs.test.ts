import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { creditWallet } from "../../../src/ledger/index.ts";
import { setOwnBudget, teamActions } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { joinTeam } from "../security/team-rows.ts";

let gateway: InProcessGateway;
let origin: string;
let late = 0;
const now = () => Date.now() + late;
beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on", TRUSTED_PROXIES: "127.0.0.1" }, now });
  origin = new URL(gateway.baseUrl).origin;
});
afterAll(() => gateway.stop());

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const callback = "http://127.0.0.1:34567/callback";
let clients = 0;
/** An address for each test: the limits are by address. */
function newAddress(): string {
  clients += 1;
  return `198.51.100.${clients}`;
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

async function post(path: string, form: Record<string, string>, address = "198.51.100.200"): Promise<Answer> {
  const response = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { "x-forwarded-for": address },
    body: new URLSearchParams(form),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"], headers: response.headers };
}

const poll = (code: unknown) => post("/oauth/token", { grant_type: deviceGrant, device_code: String(code) });
const refresh = (token: unknown) =>
  post("/oauth/token", { grant_type: "refresh_token", refresh_token: String(token), client_id: "codex" });

interface Person {
  id: string;
  email: string;
  cookie: string;
}

async function newPerson(): Promise<Person> {
  const { id, email } = await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` });
  return { id, email, cookie: await enterAs(gateway.store, { accountId: id, role: "member" }, now()) };
}

async function act(
  { cookie }: { cookie: string },
  path: string,
  body: object,
  address = "198.51.100.201",
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { cookie, origin, "content-type": "application/json", "x-forwarded-for": address };
  const response = await fetch(`${origin}/dashboard/api/programs${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function ask(token: unknown, header = "authorization"): Promise<number> {
  const value = header === "authorization" ? `Bearer ${token}` : String(token);
  return (await fetch(`${gateway.baseUrl}/models`, { headers: { [header]: value } })).status;
}

/** The device grant from the beginning to its tokens. */
async function signIn(person: Person, account = person.id): Promise<Record<string, unknown>> {
  const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
  const approved = await act(person, "/device/approve", { user_code: device.body.user_code, account });
  expect(approved.status).toBe(200);
  const { status, body } = await poll(device.body.device_code);
  expect(status).toBe(200);
  return body;
}

describe("the metadata of the authorization server", () => {
  test.each(["", "/api/v1", "/v1", "/api"])(
    "is below the base URL %p, with endpoints of the same origin",
    async (base) => {
      const response = await fetch(`${origin}${base}/.well-known/oauth-authorization-server`);
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await response.json()).toMatchObject({
        issuer: `${origin}${base}`,
        authorization_endpoint: `${origin}/authorize`,
        device_authorization_endpoint: `${origin}${base}/oauth/device_authorization`,
        token_endpoint: `${origin}${base}/oauth/token`,
        revocation_endpoint: `${origin}${base}/oauth/revoke`,
        gateway_protocol_version: 1,
      });
      const device = await post(`${base}/oauth/device_authorization`, { surface: "claude_code" }, newAddress());
      expect(device.status).toBe(200);
    },
  );
});

describe("the device grant", () => {
  test("signs in Claude Code as it was recorded: a form with its surface alone, polls, and tokens", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, "203.0.113.7");
    expect(device).toMatchObject({ status: 200, body: { expires_in: 600, interval: 5 } });
    expect(device.headers.get("cache-control")).toBe("no-store");
    expect(device.headers.get("pragma")).toBe("no-cache");
    const { device_code: code, user_code: userCode } = device.body;
    expect(code).toMatch(/^[\w-]{43}$/);
    expect(userCode).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
    expect(device.body.verification_uri_complete).toBe(`${origin}/device?user_code=${userCode}`);

    expect(await poll(code)).toMatchObject({ status: 400, body: { error: "authorization_pending" } });
    expect(await poll(code)).toMatchObject({ status: 429, body: { error: "slow_down" } });

    const typed = String(userCode).toLowerCase().replace("-", " ");
    const shown = await act(ada, "/device", { user_code: typed });
    expect(shown).toMatchObject({ status: 200, body: { title: "Claude Code", address: "203.0.113.7" } });
    expect(await act(ada, "/device/approve", { user_code: typed, account: ada.id })).toMatchObject({ status: 200 });

    const tokens = await poll(code);
    expect(tokens).toMatchObject({ status: 200, body: { token_type: "Bearer", expires_in: 3600, email: ada.email } });
    expect(tokens.headers.get("cache-control")).toBe("no-store");
    const token = tokens.body.access_token;
    expect(token).toMatch(/^mg-at-/);
    expect([await ask(token), await ask(token, "x-api-key")]).toEqual([200, 200]);
    const chat = await fetch(`${gateway.baseUrl}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "famA-4o-mini", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }),
    });
    expect(chat.status).toBe(200);
    await chat.text();
    const [key] = await gateway.app.accounts.listKeys(ada.id);
    expect(key).toMatchObject({ name: `Claude Code of ${ada.email}`, createdBy: ada.id });
    const calls = await gateway.store.db
      .selectFrom("calls")
      .select("key_id")
      .where("account_id", "=", ada.id)
      .execute();
    expect(calls).toEqual([{ key_id: key?.id as string }]);
  });

  test("stores no code and no token as it is", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
    const tokens = await signIn(ada);
    const rows = JSON.stringify([
      await gateway.store.db.selectFrom("oauth_requests").selectAll().execute(),
      await gateway.store.db.selectFrom("oauth_grants").selectAll().execute(),
    ]);
    const secrets = [device.body.device_code, device.body.user_code, tokens.access_token, tokens.refresh_token];
    for (const secret of secrets) {
      expect(rows).not.toContain(String(secret));
      expect(rows).not.toContain(String(secret).slice(-40).replace("-", ""));
    }
  });

  test("answers a code that was used, is unknown or has expired in the same way", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { client_id: "modelgate" }, newAddress());
    await act(ada, "/device/approve", { user_code: device.body.user_code, account: ada.id });
    expect((await poll(device.body.device_code)).status).toBe(200);
    const later = await post("/oauth/device_authorization", { client_id: "modelgate" }, newAddress());
    late += 601_000;
    for (const code of [device.body.device_code, "unknown", later.body.device_code]) {
      expect(await poll(code)).toMatchObject({ status: 400, body: { error: "expired_token" } });
    }
    expect(await act(ada, "/device/approve", { user_code: later.body.user_code, account: ada.id })).toMatchObject({
      status: 404,
    });
  });

  test("tells the program that the person has refused", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
    expect((await act(ada, "/device/deny", { user_code: device.body.user_code })).status).toBe(200);
    expect(await poll(device.body.device_code)).toMatchObject({ status: 400, body: { error: "access_denied" } });
    expect((await act(ada, "/device/approve", { user_code: device.body.user_code, account: ada.id })).status).toBe(404);
  });

  test("names what is wrong in a request for tokens", async () => {
    const missing = await post("/oauth/token", { grant_type: deviceGrant });
    expect(missing).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    const other = await post("/oauth/token", { grant_type: "password" });
    expect(other).toMatchObject({ status: 400, body: { error: "unsupported_grant_type" } });
    const hostile = await post("/oauth/device_authorization", { client_id: "<b>a bank</b>" }, newAddress());
    expect(hostile).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });

  test("gives one of two polls at once the tokens", async () => {
    const ada = await newPerson();
    for (let round = 0; round < 5; round++) {
      const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
      await act(ada, "/device/approve", { user_code: device.body.user_code, account: ada.id });
      const answers = await Promise.all(Array.from({ length: 6 }, () => poll(device.body.device_code)));
      expect(answers.filter(({ status }) => status === 200).length).toBe(1);
      expect(answers.filter(({ body }) => body.error === "expired_token").length).toBe(5);
    }
    expect((await gateway.app.accounts.listKeys(ada.id)).length).toBe(1);
  });

  test("approves only for an account that the person belongs to", async () => {
    const [ada, ben] = [await newPerson(), await newPerson()];
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
    const refused = await act(ada, "/device/approve", { user_code: device.body.user_code, account: ben.id });
    expect(refused.status).toBe(404);
    expect(await gateway.app.accounts.listKeys(ben.id)).toEqual([]);
    await joinTeam(gateway.store, ben.id, ada.id);
    expect((await act(ada, "/device/approve", { user_code: device.body.user_code, account: ben.id })).status).toBe(200);
    const [key] = await gateway.app.accounts.listKeys(ben.id);
    expect(key).toMatchObject({ createdBy: ada.id, accountId: ben.id });
  });

  test("refuses a page of another site, and a request without a session", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
    const body = JSON.stringify({ user_code: device.body.user_code, account: ada.id });
    const send = (headers: Record<string, string>) =>
      fetch(`${origin}/dashboard/api/programs/device/approve`, { method: "POST", headers, body });
    expect((await send({ cookie: ada.cookie, origin: "https://evil.example" })).status).toBe(403);
    expect((await send({ cookie: ada.cookie })).status).toBe(403);
    expect((await send({ origin })).status).toBe(401);
    expect(await poll(device.body.device_code)).toMatchObject({ body: { error: "authorization_pending" } });
  });
});

describe("guesses", () => {
  test("of a person end after ten wrong codes in ten minutes, also for the right one", async () => {
    const ada = await newPerson();
    const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
    const guess = (user_code: unknown, index: number) => act(ada, "/device", { user_code }, `203.0.113.${index}`);
    const answers = await Promise.all(
      Array.from({ length: 14 }, (_, index) => guess(`BCDF-BCD${"FGHJ"[index % 4]}`, index)),
    );
    expect(answers.filter(({ status }) => status === 404).length).toBe(10);
    expect(answers.filter(({ status }) => status === 429).length).toBe(4);
    expect((await guess(device.body.user_code, 20)).status).toBe(429);
    late += 601_000;
  });

  test("of many people at one address end after thirty", async () => {
    const people = await Promise.all(Array.from({ length: 4 }, newPerson));
    const address = "203.0.113.99";
    const answers = await Promise.all(
      people.flatMap((person) =>
        Array.from({ length: 9 }, () => act(person, "/device/deny", { user_code: "x" }, address)),
      ),
    );
    expect(answers.filter(({ status }) => status === 404).length).toBe(30);
    expect(answers.filter(({ status }) => status === 429).length).toBe(6);
  });

  test("are not counted when the code was right", async () => {
    const ada = await newPerson();
    for (let round = 0; round < 12; round++) {
      const device = await post("/oauth/device_authorization", { surface: "claude_code" }, newAddress());
      expect((await act(ada, "/device", { user_code: device.body.user_code }, "203.0.113.150")).status).toBe(200);
    }
  });

  test("need requests of programs, of which an address has thirty in ten minutes", async () => {
    const address = newAddress();
    const begin = () => post("/oauth/device_authorization", { surface: "claude_code" }, address);
    const answers = await Promise.all(Array.from({ length: 33 }, begin));
    expect(answers.filter(({ status }) => status === 200).length).toBe(30);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.map(({ body }) => body.error)).toEqual(["slow_down", "slow_down", "slow_down"]);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("a refresh token", () => {
  test("works once, and brings the next with an access token of an hour", async () => {
    const ada = await newPerson();
    const first = await signIn(ada);
    late += 3_601_000;
    expect(await ask(first.access_token)).toBe(401);
    const second = await refresh(first.refresh_token);
    expect(second).toMatchObject({ status: 200, body: { expires_in: 3600, email: ada.email } });
    expect(second.body.refresh_token).not.toBe(first.refresh_token);
    expect(await ask(second.body.access_token)).toBe(200);
    expect((await refresh(second.body.refresh_token)).status).toBe(200);
  });

  test("ends the whole family when it is used again", async () => {
    const first = await signIn(await newPerson());
    const second = await refresh(first.refresh_token);
    expect(await ask(second.body.access_token)).toBe(200);
    late += 31_000;
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 401, body: { error: "invalid_grant" } });
    expect([await ask(first.access_token), await ask(second.body.access_token)]).toEqual([401, 401]);
    expect((await refresh(second.body.refresh_token)).status).toBe(401);
  });

  test("ends the family at once when its successor was used already", async () => {
    const first = await signIn(await newPerson());
    const second = await refresh(first.refresh_token);
    const third = await refresh(second.body.refresh_token);
    expect((await refresh(first.refresh_token)).status).toBe(401);
    expect(await ask(third.body.access_token)).toBe(401);
  });

  test("gets the same answer within half a minute, however often and at once it is sent: one answer may be lost", async () => {
    const first = await signIn(await newPerson());
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(first.refresh_token)));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
    expect(await ask(answers[4]?.body.access_token)).toBe(200);
    expect((await refresh(answers[0]?.body.refresh_token)).status).toBe(200);
  });

  test("of another family, or with a changed secret, ends nothing", async () => {
    const tokens = await signIn(await newPerson());
    const token = String(tokens.refresh_token);
    const [, id] = /^mg-rt-(\w+)-/.exec(token) ?? [];
    for (const text of [`mg-rt-${id}-${"0".repeat(96)}`, "mg-rt-AAAAAAAAAAAAAAAAAA-".padEnd(119, "0"), "x"]) {
      expect(await refresh(text)).toMatchObject({ status: 401, body: { error: "invalid_grant" } });
    }
    expect(await ask(token)).toBe(401);
    expect(await ask(tokens.access_token)).toBe(200);
    expect((await refresh(token)).status).toBe(200);
  });

  test("is silent for at most thirty days", async () => {
    const tokens = await signIn(await newPerson());
    late += 30 * 86_400_000 + 1000;
    expect((await refresh(tokens.refresh_token)).status).toBe(401);
  });
});

describe("a sign-in ends at once", () => {
  /** Ends it, and expects that neither of the tokens works any more. */
  async function expectEnd(person: Person, account: string, end: (keyId: string) => Promise<unknown>): Promise<void> {
    const tokens = await signIn(person, account);
    expect(await ask(tokens.access_token)).toBe(200);
    const keys = await gateway.app.accounts.listKeys(account);
    await end(keys.find(({ createdBy }) => createdBy === person.id)?.id as string);
    expect(await ask(tokens.access_token)).toBe(401);
    expect((await refresh(tokens.refresh_token)).status).toBe(401);
  }

  test("with its key, and the next sign-in has a new one", async () => {
    const ada = await newPerson();
    await expectEnd(ada, ada.id, (keyId) => gateway.app.accounts.revokeKey(keyId));
    expect(await ask((await signIn(ada)).access_token)).toBe(200);
    expect((await gateway.app.accounts.listKeys(ada.id)).length).toBe(2);
  });

  test("with the account of the person, wherever the key is", async () => {
    const [ada, ben] = [await newPerson(), await newPerson()];
    await joinTeam(gateway.store, ben.id, ada.id);
    await expectEnd(ada, ben.id, () => gateway.app.accounts.setDisabled(ada.id, true));
  });

  test("with the account that pays", async () => {
    const [ada, ben] = [await newPerson(), await newPerson()];
    await joinTeam(gateway.store, ben.id, ada.id);
    await expectEnd(ada, ben.id, () => gateway.app.accounts.setDisabled(ben.id, true));
  });

  test("with the place in the team, also where keys are kept", async () => {
    const [ada, ben] = [await newPerson(), await newPerson()];
    await joinTeam(gateway.store, ben.id, ada.id);
    const by = { accountId: "cli", role: "owner", isOperator: true } as const;
    const removal = { accountId: ben.id, personId: ada.id, revokesKeys: false };
    await expectEnd(ada, ben.id, () => teamActions(gateway.store, now).remove(by, removal));
  });

  test("with /oauth/revoke, which answers 200 to anything and ends the sign-in of either token", async () => {
    const ada = await newPerson();
    await expectEnd(ada, ada.id, async () => {
      const [grant] = await gateway.store.db
        .selectFrom("oauth_grants")
        .select("id")
        .orderBy("created_at", "desc")
        .execute();
      expect((await post("/oauth/revoke", { token: `mg-at-${grant?.id}-${"0".repeat(64)}` })).status).toBe(200);
      expect(
        await gateway.store.db
          .selectFrom("oauth_grants")
          .select("id")
          .where("id", "=", grant?.id as string)
          .execute(),
      ).toHaveLength(1);
      await gateway.app.accounts.revokeKey((await gateway.app.accounts.listKeys(ada.id))[0]?.id as string);
    });
    for (const name of ["access_token", "refresh_token"] as const) {
      const tokens = await signIn(ada);
      const revoked = await post("/oauth/revoke", { token: String(tokens[name]), token_type_hint: name });
      expect(revoked.status).toBe(200);
      expect(await ask(tokens.access_token)).toBe(401);
      expect((await refresh(tokens.refresh_token)).status).toBe(401);
    }
    for (const form of [{}, { token: "nonsense" }, { token: gateway.key }]) {
      expect((await post("/oauth/revoke", form as Record<string, string>)).status).toBe(200);
    }
    expect(await ask(gateway.key)).toBe(200);
  });
});

describe("the code grant of Codex", () => {
  const verifier = "a-verifier-of-at-least-forty-three-characters-0123";
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const request = { client_id: "codex", redirect_uri: callback, code_challenge: challenge };
  const exchange = (code: unknown, changes: Record<string, string> = {}) =>
    post("/oauth/token", {
      grant_type: "authorization_code",
      client_id: "codex",
      code: String(code),
      redirect_uri: callback,
      code_verifier: verifier,
      ...changes,
    });
  const approve = async (person: Person) =>
    (await act(person, "/authorize/approve", { ...request, account: person.id })).body.code;

  test("exchanges a code once, with the verifier of its request", async () => {
    const ada = await newPerson();
    expect(await act(ada, "/authorize", request)).toMatchObject({ status: 200, body: { title: "Codex" } });
    const code = await approve(ada);
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    const tokens = answers.find(({ status }) => status === 200)?.body;
    expect(await ask(tokens?.access_token)).toBe(200);
    expect((await refresh(tokens?.refresh_token)).status).toBe(200);
  });

  test.each([
    { code_verifier: "another-verifier-of-forty-three-characters-000000" },
    { redirect_uri: "http://127.0.0.1:1/callback" },
    { client_id: "another" },
  ])("refuses a code with %p, which is used up", async (changes) => {
    const code = await approve(await newPerson());
    expect(await exchange(code, changes)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect((await exchange(code)).status).toBe(400);
  });

  test("refuses a code after ten minutes, and one of the other grant", async () => {
    const ada = await newPerson();
    const code = await approve(ada);
    expect((await poll(code)).body.error).toBe("expired_token");
    late += 601_000;
    expect((await exchange(code)).status).toBe(400);
    const device = await post("/oauth/device_authorization", { client_id: "codex" }, newAddress());
    await act(ada, "/device/approve", { user_code: device.body.user_code, account: ada.id });
    expect((await exchange(device.body.device_code)).status).toBe(400);
    expect((await poll(device.body.device_code)).status).toBe(200);
  });

  test.each([
    "https://evil.example/callback",
    "http://127.0.0.1.evil.example:80/callback",
    "http://127.0.0.1:8080@evil.example/callback",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1:8080/other",
    "http://localhost:8080/callback",
  ])("sends no code to %p", async (redirect_uri) => {
    const ada = await newPerson();
    for (const path of ["/authorize", "/authorize/approve"]) {
      const body = { ...request, redirect_uri, ...(path.endsWith("approve") && { account: ada.id }) };
      expect((await act(ada, path, body)).status).toBe(400);
    }
  });

  test("needs a challenge of SHA-256", async () => {
    expect((await act(await newPerson(), "/authorize", { ...request, code_challenge: verifier })).status).toBe(400);
  });
});

describe("a person's budget, as Claude Code reads it", () => {
  const prefix = "anthropic-ratelimit-unified-";
  const unified = (headers: Headers) => {
    const own = [...headers].filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
  };
  const message = (bearer: unknown, stream = false) =>
    fetch(`${gateway.baseUrl}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "claude-sonnet-4-5",
        max_tokens: 1000,
        stream,
        messages: [{ role: "user", content: "Hello" }],
      }),
    });
  const setBudget = (accountId: string, nanodollars: number, period: "day" | "week" | "month") =>
    gateway.store.change((db) => setOwnBudget(db, { accountId }, { limitNanodollars: nanodollars, period }, now()));
  async function newPayer(): Promise<Person> {
    const person = await newPerson();
    await creditWallet(gateway.store, { accountId: person.id, nanodollars: 10_000_000_000, note: "test" });
    return person;
  }
  const seconds = expect.stringMatching(/^\d{10}$/);

  test("is in the headers of each answer to a program, also of streams", async () => {
    const ada = await newPayer();
    const { access_token: token } = await signIn(ada);
    expect(unified((await message(token)).headers)).toEqual({});
    await setBudget(ada.id, 50_000_000_000, "month");
    for (const stream of [false, true]) {
      const response = await message(token, stream);
      expect(response.status).toBe(200);
      expect(unified(response.headers)).toEqual({
        status: "allowed",
        "representative-claim": "overage",
        "overage-status": "allowed",
        "overage-utilization": "0",
        reset: seconds,
        "overage-reset": seconds,
      });
      await response.text();
    }
  });

  test.each([
    ["day", "daily"],
    ["week", "weekly"],
    ["month", "monthly"],
  ] as const)("ends the tries of a program when that of a %s is spent, with our words", async (period, name) => {
    const ada = await newPayer();
    const { access_token: token } = await signIn(ada);
    await setBudget(ada.id, 1000, period);
    for (const stream of [false, true]) {
      const refused = await message(token, stream);
      expect(refused.status).toBe(429);
      expect(refused.headers.get("x-should-retry")).toBe("false");
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      const { reset, ...rest } = unified(refused.headers);
      expect(rest).toEqual({
        status: "rejected",
        "overage-reset": reset as string,
        "overage-utilization": "1",
        "overage-surpassed-threshold": "1",
        "overage-period": name,
        "overage-disabled-reason": "org_spend_cap_reached",
      });
      expect(reset).toEqual(seconds);
      expect(await refused.json()).toMatchObject({
        type: "error",
        error: {
          type: "billing_error",
          message: expect.stringMatching(/budget of this account reached: 0\.000001 USD/),
        },
      });
    }
  });

  test("is a 402 for an API key", async () => {
    const ada = await newPayer();
    const { key } = await gateway.app.accounts.createKey({ accountId: ada.id, name: "script" });
    await setBudget(ada.id, 1000, "month");
    const byKey = await message(key);
    expect([byKey.status, unified(byKey.headers)]).toEqual([402, {}]);
  });
});
