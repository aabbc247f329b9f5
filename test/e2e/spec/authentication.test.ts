import { beforeAll, describe, expect, test } from "bun:test";
import { changeCharacter } from "../../support/change-character.ts";
import { expectError } from "../../support/expect-error.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { endpoints } from "./asking.ts";

type Headers = Record<string, string>;

const shared = useSandboxGateway();
let cookie: string;
let revoked: string;
beforeAll(async () => {
  const { cli } = shared.gateway;
  cookie = await ownerCookie(shared.gateway);
  const made = await cli<{ id: string; key: string }>("key", "create", "--account", ownerEmail, "--name", "old");
  await cli("key", "revoke", made.id);
  revoked = made.key;
});

const get = (path: string) => (headers: Headers) => shared.gateway.ask(path, { headers });
/** Every endpoint but `GET /usage`, with a request that is right but for its key. */
const requests: readonly [string, (headers: Headers) => Promise<Response>][] = [
  ...endpoints.map(({ path, models, ask }): [string, (headers: Headers) => Promise<Response>] => [
    `POST ${path}`,
    (headers) => ask(shared.gateway, models[0]?.id as string, headers),
  ]),
  ["GET /models", get("/models")],
  ["GET /v1/models", get("/v1/models")],
];

describe.each(requests)("%s", (_, send) => {
  const wrong: [string, () => Headers][] = [
    ["no header", () => ({ authorization: "" })],
    ["a key that does not exist", () => ({ authorization: `Bearer ${changeCharacter(shared.gateway.key, -1)}` })],
    ["a key that was revoked", () => ({ authorization: `Bearer ${revoked}` })],
    ["a text that is no key", () => ({ authorization: "Bearer secret" })],
    ["the scheme Basic", () => ({ authorization: `Basic ${btoa(`user:${shared.gateway.key}`)}` })],
    ["a session in place of a key", () => ({ authorization: "", cookie })],
  ];

  test.each(wrong)("is 401 with %s", async (__, headersOf) => {
    const before = shared.ledger.counts();
    await expectError(await send(headersOf()), { status: 401, code: "invalid_api_key" });
    expect(shared.ledger.counts()).toEqual(before);
  });

  test("is 200 with a key", async () => {
    const response = await send({});
    await response.arrayBuffer();
    expect(response.status).toBe(200);
  });
});

describe("GET /usage", () => {
  const usage = (headers: Headers) => shared.gateway.ask("/usage", { headers });

  test("is 200 with the session of a user, sent as the cookie session", async () => {
    expect(cookie).toStartWith("session=");
    expect((await usage({ authorization: "", cookie })).status).toBe(200);
  });

  const wrong: [string, () => Headers][] = [
    ["nothing", () => ({ authorization: "" })],
    ["an API key", () => ({})],
    ["a forged session", () => ({ authorization: "", cookie: "session=forged.AAAA" })],
    ["the session under another name", () => ({ authorization: "", cookie: cookie.replace("session=", "sid=") })],
  ];
  test.each(wrong)("is 401 with %s", async (_, headersOf) => {
    await expectError(await usage(headersOf()), { status: 401, code: "invalid_session" });
  });
});

test("a key that its account holder makes in the dashboard works at once, and is shown this one time", async () => {
  const { origin } = shared.gateway;
  const headers = { origin, "content-type": "application/json", cookie };
  const path = `${origin}/dashboard/api/keys`;
  const made = await fetch(path, { method: "POST", headers, body: JSON.stringify({ name: "laptop" }) });
  expect(made.status).toBe(200);
  const { id, key } = (await made.json()) as { id: string; key: string };
  const body = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hello" }] };
  const answer = await shared.gateway.post("/chat/completions", body, { authorization: `Bearer ${key}` });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
  expect(shared.ledger.callOf(answer)).toMatchObject({ key_id: id });
  const listed = await (await fetch(path, { headers })).text();
  expect(listed).toContain(id);
  expect(listed).not.toContain(key);
});
