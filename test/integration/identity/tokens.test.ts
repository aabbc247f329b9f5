import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac, randomUUID } from "node:crypto";
import { exportSPKI } from "jose";
import Provider from "oidc-provider";
import OpenAI from "openai";
import { parseTokenIssuers } from "../../../src/identity/index.ts";
import { signUp } from "../../../src/identity/sign-up.ts";
import type { Log } from "../../../src/kernel/index.ts";
import { createLog } from "../../../src/observability/log.ts";
import { errorOf } from "../../support/error-of.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { beginSession, cheapPasswords } from "../../support/session-cookie.ts";
import { startTokenIssuer, type TestIssuer } from "../../support/token-issuer.ts";

/** Premium: it is paid from the wallet. */
const chat = { model: "gpt-5-mini", messages: [{ role: "user", content: "Say hello" }], max_tokens: 20 };

let issuer: TestIssuer;
let gateway: InProcessGateway;
let late = 0;

const now = () => Date.now() + late;

async function startWith(issuers: unknown, env: Record<string, string> = {}, log?: Log): Promise<InProcessGateway> {
  return startInProcess({
    env: { SANDBOX: "on", JWT_ISSUERS: JSON.stringify(issuers), JWT_NETWORKS: "127.0.0.0/8", ...env },
    now,
    ...(log !== undefined && { log }),
  });
}

const basic = (changes: Record<string, unknown> = {}) => ({
  issuer: issuer.url,
  audiences: ["modelgate"],
  claims: { account: "email" },
  onUnknown: "create",
  ...changes,
});

beforeAll(async () => {
  issuer = await startTokenIssuer(now);
  gateway = await startWith([basic({ claims: { account: "email", user: "name", endUser: "customer" } })]);
});
afterAll(async () => {
  await gateway.stop();
  issuer.stop();
});

function ask(token: string, { baseUrl } = gateway, body: unknown = chat): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function refusalOf(token: string, at = gateway): Promise<[number, string]> {
  const response = await ask(token, at);
  const { error } = (await response.json()) as { error?: { message: string } };
  return [response.status, error?.message ?? ""];
}

async function credit(at: InProcessGateway, email: string): Promise<string> {
  const account = await at.app.accounts.find(email);
  return account?.id as string;
}

describe("a token in place of an API key", () => {
  test("is accepted by official clients, creates its account and is in ledger and request log with its subject", async () => {
    const token = await issuer.sign({ sub: "sub-of-ben", email: "Ben@Example.com", name: "Ben", customer: "acme" });
    const client = new OpenAI({ apiKey: token, baseURL: gateway.baseUrl });
    const answer = await client.chat.completions.create({
      model: "famA-4o-mini",
      messages: [{ role: "user", content: "Hi" }],
    } as never);
    expect((answer as { choices: unknown[] }).choices.length).toBe(1);
    const account = await credit(gateway, "ben@example.com");
    const [key] = await gateway.app.accounts.listKeys(account);
    expect(key).toMatchObject({
      name: "Ben",
      createdBy: "jwt",
      tokenSubject: { issuer: issuer.url, subject: "sub-of-ben" },
    });
    const rows = await gateway.store.db.selectFrom("calls").selectAll().where("account_id", "=", account).execute();
    expect(rows.map((row) => row.key_id)).toEqual([key?.id as string]);
    expect(JSON.parse(rows[0]?.detail as string)).toMatchObject({ subject: "sub-of-ben", end_user: "acme" });
  });

  test("is accepted by the endpoints of other protocols, and by the header x-api-key", async () => {
    const token = await issuer.sign();
    const messages = await fetch(`${gateway.baseUrl}/messages`, {
      method: "POST",
      headers: { "x-api-key": token, "content-type": "application/json", "anthropic-version": "2023-06-01" },
      body: JSON.stringify({ model: "famA-4o-mini", max_tokens: 10, messages: chat.messages }),
    });
    expect(messages.status).toBe(200);
    const own = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${token}` } });
    expect(await own.json()).toMatchObject({ object: "key" });
    expect((await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
      200,
    );
  });

  test("pays from the wallet of its account like a key", async () => {
    expect(await refusalOf(await issuer.sign({ email: "poor@example.com", sub: "poor" }))).toEqual([
      403,
      expect.stringContaining("balance"),
    ]);
  });

  test("stands for one key however many calls come at once", async () => {
    const tokens = await Promise.all(
      Array.from({ length: 12 }, () => issuer.sign({ email: "many@example.com", sub: "many", jti: randomUUID() })),
    );
    await Promise.all(tokens.map(async (token) => (await ask(token)).text()));
    expect((await gateway.app.accounts.listKeys(await credit(gateway, "many@example.com"))).length).toBe(1);
  });

  test("is refused at once when its key was revoked, also by another token of the subject", async () => {
    const claims = { email: "gone@example.com", sub: "gone" };
    const token = await issuer.sign(claims);
    await (await ask(token)).text();
    const [key] = await gateway.app.accounts.listKeys(await credit(gateway, "gone@example.com"));
    await gateway.app.accounts.revokeKey(key?.id as string);
    for (const one of [token, await issuer.sign({ ...claims, jti: "2" })]) {
      expect(await refusalOf(one)).toEqual([401, expect.stringContaining("was revoked")]);
    }
    expect(await gateway.app.accounts.pruneKeys(0)).toBe(0);
  });

  test("cannot be rotated, and its key opens nothing by itself", async () => {
    await (await ask(await issuer.sign())).text();
    const [key] = await gateway.app.accounts.listKeys(await credit(gateway, "ada@example.com"));
    const id = key?.id as string;
    expect((await errorOf(gateway.app.accounts.rotateKey(id, 0))) as Error).toMatchObject({ code: "conflict" });
    expect((await refusalOf(`sk-mg-${id}-0123456789abcdef0123456789abcdef`))[0]).toBe(401);
  });
});

describe("a token is refused", () => {
  const cases: [string, () => Promise<string>, string][] = [
    ["that has expired", () => issuer.sign({ exp: Math.floor(now() / 1000) - 61 }), "has expired"],
    ["that is not valid yet", () => issuer.sign({ nbf: Math.floor(now() / 1000) + 120 }), "not valid yet"],
    ["of another audience", () => issuer.sign({ aud: "others" }), "audience"],
    ["without an audience", () => issuer.sign({ aud: undefined }), "audience"],
    ["without an end", () => issuer.sign({ exp: undefined }), "exp"],
    ["without a subject", () => issuer.sign({ sub: undefined }), "sub"],
    ["of an unknown issuer", () => issuer.sign({ iss: "https://evil.example" }), "issuer"],
    ["of no issuer", () => issuer.sign({ iss: undefined }), "issuer"],
    ["without the claim of its account", () => issuer.sign({ email: undefined }), "claim email"],
    ...[false, "false", "False", "no", 0, null, {}].map((given): [string, () => Promise<string>, string] => [
      `whose e-mail its issuer has not verified (${JSON.stringify(given)})`,
      () => issuer.sign({ email_verified: given as never }),
      "not verified",
    ]),
    ...[7, ["ada"], { id: "ada" }, "", "x".repeat(301), null].map((given): [string, () => Promise<string>, string] => [
      `whose subject is ${JSON.stringify(given).slice(0, 20)}`,
      () => issuer.sign({ sub: given as never }),
      "sub",
    ]),
    ["whose claims were changed", async () => forge(await issuer.sign(), { email: "owner@localhost" }), "signature"],
    ["that has no signature", async () => unsigned(await issuer.sign(), "none"), "none"],
    ["that says NONE", async () => unsigned(await issuer.sign(), "NONE"), "NONE"],
    ["with a part that is no base64", async () => `${(await issuer.sign()).split(".")[0]}.%%%.AAAA`, "malformed"],
    ["with critical extensions", () => issuer.sign({}, { crit: ["x"], x: 1 }).catch(() => crit()), "malformed"],
  ];
  test.each(cases)("%s is refused with the reason", async (_, make, reason) => {
    const [status, message] = await refusalOf(await make());
    expect([status, message]).toEqual([401, expect.stringContaining(reason)]);
    expect(message).toStartWith("Incorrect API key provided: the token is refused, ");
  });

  async function crit(): Promise<string> {
    const [, claims, signature] = (await issuer.sign()).split(".");
    return `${encode({ alg: "ES256", kid: "first", crit: ["x"], x: 1 })}.${claims}.${signature}`;
  }

  test("that is signed with the public key as a shared secret (key confusion)", async () => {
    const other = await startTokenIssuer();
    const { publicKey } = await other.addKey("rsa", "RS256", { isAlone: true });
    const at = await startWith([{ ...basic(), issuer: other.url }]);
    try {
      expect((await ask(await other.sign(), at)).status).toBe(403);
      const spki = await exportSPKI(publicKey);
      for (const secret of [spki, spki.trim(), JSON.stringify(other.keys[0]), String(other.keys[0]?.n)]) {
        const [, claims] = (await other.sign({ email: "owner@localhost" })).split(".");
        const signed = `${encode({ alg: "HS256", kid: "rsa" })}.${claims}`;
        const token = `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
        expect(await refusalOf(token, at)).toEqual([401, expect.stringContaining('"HS256"')]);
      }
    } finally {
      await at.stop();
      other.stop();
    }
  });

  test("by a key that it brings itself, or of an algorithm that its issuer does not have", async () => {
    const other = await startTokenIssuer();
    await other.addKey("first", "ES256", { isAlone: true });
    const claims = { iss: issuer.url };
    expect((await refusalOf(await other.sign(claims, { jwk: other.keys[0] })))[1]).toContain("signature");
    expect((await refusalOf(await other.sign(claims, { jku: `${other.url}/keys`, kid: "x" })))[1]).toContain("no key");
    expect(other.asked.keys).toBe(0);
    other.stop();
    const at = await startWith([basic({ algorithms: ["RS256"] })]);
    try {
      expect((await refusalOf(await issuer.sign(), at))[1]).toContain('"ES256" is not accepted');
    } finally {
      await at.stop();
    }
  });

  test("before its body is read, and one of more than 16 kB unread", async () => {
    const token = await issuer.sign({ aud: "others" });
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{ this is no JSON",
    });
    expect(response.status).toBe(401);
    const long = await ask(`${"eyJ".padEnd(16_384, "A")}.A.A`);
    expect([401, 431]).toContain(long.status);
  });
});

describe("the account of a token", () => {
  test("has to exist where unknown ones are rejected", async () => {
    const at = await startWith([basic({ onUnknown: "reject" })]);
    try {
      expect(await refusalOf(await issuer.sign(), at)).toEqual([401, expect.stringContaining("does not exist here")]);
      expect((await ask(await issuer.sign({ email: "TEST@example.org" }), at)).status).toBe(200);
      expect(await at.app.accounts.find("ada@example.com")).toBeUndefined();
    } finally {
      await at.stop();
    }
  });

  test("is not one whose e-mail somebody only claimed", async () => {
    const at = await startWith([basic()], { SIGNUP: "open" });
    try {
      const origin = new URL(at.baseUrl).origin;
      const signUp = await fetch(`${origin}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({ email: "claimed@example.com", password: "a long password of Eve", name: "Eve" }),
      });
      expect(signUp.status).toBe(200);
      const token = await issuer.sign({ email: "claimed@example.com" });
      expect(await refusalOf(token, at)).toEqual([401, expect.stringContaining("is not verified here")]);
    } finally {
      await at.stop();
    }
  });

  test("whose e-mail a stranger claimed is taken back where its issuer says that the e-mail is verified, as by single sign-on", async () => {
    const nested = { account: "person.email" };
    for (const [index, { claims, onUnknown, token, isTaken }] of [
      { onUnknown: "create", token: { email_verified: true }, isTaken: true },
      { onUnknown: "create", token: { email_verified: "true" }, isTaken: true },
      { onUnknown: "create", token: {}, isTaken: false },
      { onUnknown: "reject", token: { email_verified: true }, isTaken: false },
      { claims: nested, onUnknown: "create", token: { email_verified: true }, isTaken: false },
      { claims: nested, onUnknown: "create", token: { person: { email_verified: true } }, isTaken: true },
    ]
      .map((one) => ({ claims: undefined, ...one }))
      .entries()) {
      const at = await startWith([basic({ onUnknown, ...(claims && { claims }) })], { SIGNUP: "open" });
      try {
        const email = `claimed${index}@example.com`;
        const fields = { email, password: "a long password of Eve", name: "Eve" };
        await signUp({ store: at.store, signUp: "open", now, passwords: cheapPasswords }, fields);
        const { id: accountId } = (await at.app.accounts.find(email)) as { id: string };
        const { key } = await at.app.accounts.createKey({ accountId, name: "of Eve", by: accountId });
        const { cookie } = await beginSession(at.store, accountId, now());
        const mine = { ...token, email, person: { ...(token as { person?: object }).person, email } };
        const free = { model: "gpt-4.1-nano", messages: chat.messages };
        const { status } = await ask(await issuer.sign(mine as never), at, free);
        const me = await fetch(new URL("/dashboard/api/me", at.baseUrl), { headers: { cookie } });
        const ofEve = await ask(key, at, free);
        const expected = isTaken ? [200, 401, 401] : [401, 200, 403];
        expect([index, status, me.status, ofEve.status]).toEqual([index, ...expected]);
        expect((await at.app.accounts.find(email))?.holder).toBe(isTaken ? "verified" : "claimed");
      } finally {
        await at.stop();
      }
    }
  });

  test("is the team of GitHub Actions' repository, found again after it was renamed, and none of that name", async () => {
    const at = await startWith([
      basic({ claims: { team: "repository" }, require: { repository_owner: ["octo"], ref: ["refs/heads/main"] } }),
    ]);
    // The claims of a token of GitHub Actions, by its documentation.
    const job = {
      sub: "repo:octo/app:ref:refs/heads/main",
      repository: "octo/app",
      repository_owner: "octo",
      ref: "refs/heads/main",
      workflow: "ci",
      run_id: "1",
      email: undefined,
      actor: "ada",
      event_name: "push",
    };
    try {
      expect((await refusalOf(await issuer.sign({ ...job, repository_owner: "evil" }), at))[1]).toContain("requires");
      expect((await refusalOf(await issuer.sign({ ...job, ref: "refs/pull/1" }), at))[1]).toContain("claim ref");
      const squatter = await at.app.accounts.create({ email: "x@example.com", name: "octo/app" });
      expect((await ask(await issuer.sign(job), at)).status).toBe(403);
      const [team] = (await at.app.accounts.list()).filter(({ name, id }) => name === "octo/app" && id !== squatter.id);
      await at.store.change((db) =>
        db
          .updateTable("accounts")
          .set({ name: "App" })
          .where("id", "=", team?.id as string)
          .execute(),
      );
      await (await ask(await issuer.sign({ ...job, jti: "2" }), at)).text();
      expect((await at.app.accounts.listKeys(team?.id)).map(({ name }) => name)).toEqual([job.sub]);
      expect(await at.app.accounts.listKeys(squatter.id)).toEqual([]);
    } finally {
      await at.stop();
    }
  });

  test("may be given by a map, for Kubernetes' service accounts, with models and a budget of claims", async () => {
    const { id } = await gateway.app.accounts.create({ email: "unused@example.com" });
    expect(id).toBeString();
    const other = await startTokenIssuer();
    const at = await startWith([
      {
        issuer: other.url,
        jwks: { keys: other.keys },
        audiences: ["modelgate"],
        claims: { team: "kubernetes.io.namespace", user: "sub", models: "models", budget: "budget" },
        accounts: { search: "test@example.org" },
      },
    ]);
    // A projected token, by Kubernetes' documentation, with two claims of a mapper.
    const pod = {
      aud: ["modelgate"],
      sub: "system:serviceaccount:search:indexer",
      email: undefined,
      "kubernetes.io": { namespace: "search", serviceaccount: { name: "indexer", uid: "1" }, pod: { name: "p" } },
      models: "gpt-5-mini famA-4o-mini",
      budget: 0.00001,
    };
    try {
      const token = await other.sign(pod);
      expect(await refusalOf(token, at)).toEqual([403, expect.stringContaining("budget")]);
      const free = { ...chat, model: "famA-4o-mini" };
      expect((await ask(token, at, free)).status).toBe(200);
      expect((await ask(token, at, { ...chat, model: "o4-mini" })).status).toBe(403);
      const own = await fetch(`${at.baseUrl}/key`, { headers: { authorization: `Bearer ${token}` } });
      expect(await own.json()).toMatchObject({
        budget: { limit_usd: "0.00001" },
        allowed_models: [
          "gpt-5-mini",
          "gpt-5-mini-2025-08-07",
          "gpt-4o-mini",
          "gpt-4o-mini-2024-07-18",
          "famA-4o-mini",
        ],
      });
      expect((await ask(await other.sign({ ...pod, budget: "12.50" }), at)).status).toBe(200);
      for (const changes of [{ models: undefined }, { budget: undefined }, { budget: "-1" }, { models: [1] }]) {
        expect((await refusalOf(await other.sign({ ...pod, ...changes }), at))[0]).toBe(401);
      }
      expect(
        (await refusalOf(await other.sign({ ...pod, "kubernetes.io": { namespace: "default" } }), at))[1],
      ).toContain("does not exist");
      expect(other.asked).toEqual({ documents: 0, keys: 0 });
    } finally {
      await at.stop();
      other.stop();
    }
  });

  test("may name models in its claim by any of their names, and those that no model has are logged once", async () => {
    const warnings: string[] = [];
    const log = createLog("warn", async (line) => void warnings.push(line));
    const claims = { account: "email", models: "models" };
    const at = await startWith([basic({ claims })], { FREE_TOKENS_PER_DAY: "100000" }, log);
    const models = ["gpt-4.1-nano", "claude-haiku-4-5", "gpt-4.1-nanoo"];
    try {
      const token = await issuer.sign({ models });
      const headers = { authorization: `Bearer ${token}` };
      const { data } = (await (await fetch(`${at.baseUrl}/models`, { headers })).json()) as { data: { id: string }[] };
      const ids = data.map(({ id }) => id);
      expect(["gpt-4.1-nano", "famA-4.1-nano", "claude-haiku-4-5"].filter((id) => !ids.includes(id))).toEqual([]);
      for (const model of ["gpt-4.1-nano", "famA-4.1-nano"]) {
        expect((await ask(token, at, { ...chat, model })).status).toBe(200);
      }
      const refused = await ask(token, at, { ...chat, model: "gpt-4o-mini" });
      const { error } = (await refused.json()) as { error: { code: string; message: string } };
      expect([refused.status, error.code]).toEqual([403, "model_not_allowed"]);
      expect(error.message).toBe(
        "This token may not use the model 'gpt-4o-mini'; it may use: gpt-4.1-nano, claude-haiku-4-5-20251001, gpt-4.1-nanoo",
      );
      await (await ask(await issuer.sign({ models, jti: "2" }), at, { ...chat, model: "gpt-4.1-nano" })).text();
      await log.close(1000);
      expect(warnings.filter((line) => line.includes("unknown_model"))).toEqual([
        expect.stringContaining("there is no model gpt-4.1-nanoo, did you mean gpt-4.1-nano?"),
      ]);
    } finally {
      await at.stop();
    }
  });

  test("takes the limits of its account and of its key as keys do", async () => {
    const at = await startWith([basic({ onUnknown: "reject" })], { REQUESTS_PER_MINUTE: "3" });
    const free = { ...chat, model: "famA-4o-mini" };
    try {
      const statuses: number[] = [];
      for (const jti of ["1", "2", "3", "4"]) {
        const token = await issuer.sign({ email: "test@example.org", jti });
        statuses.push((await ask(token, at, free)).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429]);
    } finally {
      await at.stop();
    }
  });
});

describe("the keys of an issuer", () => {
  test("are read once for many tokens, again for a new one, and not more often whatever comes", async () => {
    const own = await startTokenIssuer(now);
    const at = await startWith([{ ...basic(), issuer: own.url }]);
    try {
      for (const jti of ["1", "2", "3"]) expect((await ask(await own.sign({ jti }), at)).status).toBe(403);
      expect(own.asked).toEqual({ documents: 1, keys: 1 });
      late += 11_000;
      await own.addKey("second");
      expect((await ask(await own.sign({ jti: "4" }), at)).status).toBe(403);
      expect(own.asked.keys).toBe(2);
      await own.addKey("hidden", "ES256", { isSecret: true });
      for (const jti of ["5", "6", "7"]) {
        expect((await refusalOf(await own.sign({ jti }), at))[1]).toContain("no key that matches");
      }
      late += 11_000;
      for (const jti of ["8", "9"]) expect((await refusalOf(await own.sign({ jti }), at))[0]).toBe(401);
      expect(own.asked.keys).toBe(3);
    } finally {
      await at.stop();
      own.stop();
    }
  });

  test("are used for an hour while the issuer is away, then calls get 503, and 200 when it is back", async () => {
    const own = await startTokenIssuer(now);
    const at = await startWith([{ ...basic({ onUnknown: "reject" }), issuer: own.url }]);
    const token = (jti: string) => own.sign({ email: "test@example.org", jti });
    try {
      own.isAway = true;
      const first = await ask(await token("0"), at);
      expect([first.status, Number(first.headers.get("retry-after")) > 0]).toEqual([503, true]);
      own.isAway = false;
      late += 11_000;
      expect((await ask(await token("1"), at)).status).toBe(200);
      own.isAway = true;
      late += 50 * 60_000;
      expect((await ask(await token("2"), at)).status).toBe(200);
      late += 11 * 60_000;
      expect((await ask(await token("3"), at)).status).toBe(503);
      late += 11_000;
      own.isAway = false;
      expect((await ask(await token("4"), at)).status).toBe(200);
    } finally {
      await at.stop();
      own.stop();
    }
  });

  test("are not asked for at private addresses that the operator has not listed", async () => {
    const own = await startTokenIssuer(now);
    const at = await startWith([{ ...basic(), issuer: own.url }], { JWT_NETWORKS: "10.0.0.0/8" });
    try {
      expect((await ask(await own.sign(), at)).status).toBe(503);
      expect(own.asked).toEqual({ documents: 0, keys: 0 });
    } finally {
      await at.stop();
      own.stop();
    }
  });

  test.each(["RS256", "PS256", "ES384", "EdDSA"])("may sign with %s", async (algorithm) => {
    const own = await startTokenIssuer(now);
    await own.addKey("other", algorithm);
    const at = await startWith([{ ...basic({ onUnknown: "reject" }), issuer: own.url, jwksUri: `${own.url}/keys` }]);
    try {
      const token = await own.sign({ email: "test@example.org" });
      expect((await ask(token, at)).status).toBe(200);
      expect((await refusalOf(forge(token, { sub: "x" }), at))[1]).toContain("signature");
      expect(own.asked.documents).toBe(0);
    } finally {
      await at.stop();
      own.stop();
    }
  });

  test("are those of a true OpenID provider, whose access token of a client is accepted", async () => {
    // Its clock is the machine's.
    late = 0;
    const resource = "https://gate.example.com";
    let url = "";
    const provider = () =>
      new Provider(url, {
        clients: [
          {
            client_id: "worker",
            client_secret: "a secret of it",
            grant_types: ["client_credentials"],
            redirect_uris: [],
            response_types: [],
          },
        ],
        features: {
          clientCredentials: { enabled: true },
          devInteractions: { enabled: false },
          resourceIndicators: {
            enabled: true,
            defaultResource: () => resource,
            getResourceServerInfo: () => ({ scope: "call", audience: resource, accessTokenFormat: "jwt" }),
          },
        },
        extraTokenClaims: () => ({ email: "test@example.org" }),
      } as never);
    let answer: ReturnType<InstanceType<typeof Provider>["callback"]> | undefined;
    const { createServer } = await import("node:http");
    const server = createServer((request, response) => void answer?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    answer = provider().callback();
    const at = await startWith([
      { issuer: url, audiences: [resource], claims: { account: "email", user: "client_id" } },
    ]);
    try {
      const response = await fetch(`${url}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("worker:a secret of it")}` },
        body: new URLSearchParams({ grant_type: "client_credentials", resource, scope: "call" }),
      });
      const { access_token: token } = (await response.json()) as { access_token: string };
      expect(await refusalOf(token, at)).toEqual([200, ""]);
      const keys = await at.app.accounts.listKeys();
      expect(keys.find(({ tokenSubject }) => tokenSubject !== undefined)).toMatchObject({ name: "worker" });
    } finally {
      await at.stop();
      server.closeAllConnections();
      server.close();
    }
  });
});

test.each([
  ["{}", "not a list"],
  ["[", "not JSON"],
  ['[{"issuer":"http://id.example.com"}]', "issuers[0].issuer"],
  ['[{"issuer":"https://id.example.com","audiences":[]}]', "issuers[0].audiences"],
  ['[{"issuer":"https://id.example.com","audiences":["a"],"claims":{}}]', "account or team"],
  [
    '[{"issuer":"https://id.example.com","audiences":["a"],"claims":{"account":"email"},"algorithms":["HS256"]}]',
    "HS256",
  ],
  ['[{"issuer":"https://id.example.com","audiences":["a"],"claims":{"account":"email"},"typo":1}]', "unknown field"],
  ['[{"issuer":"https://id.example.com","jwks":{"keys":[{"kty":"EC","d":"AQ"}]}}]', "private or shared"],
  ['[{"issuer":"https://id.example.com","jwks":{"keys":[{"kty":"oct","k":"AQ"}]}}]', "private or shared"],
])("JWT_ISSUERS=%s is refused", async (text, reason) => {
  expect(() => parseTokenIssuers(text)).toThrow(reason);
});

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function forge(token: string, changes: Record<string, unknown>): string {
  const [header, claims = "", signature] = token.split(".");
  return `${header}.${encode({ ...JSON.parse(Buffer.from(claims, "base64url").toString()), ...changes })}.${signature}`;
}

function unsigned(token: string, alg: string): string {
  return `${encode({ alg, typ: "JWT" })}.${token.split(".")[1]}.`;
}
