import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let adminKey: string;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, Date.now())).key;
});
afterAll(() => gateway.stop());

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${gateway.baseUrl}/organization${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const toIssuer = (issuer: string) => ({ issuer, audiences: ["modelgate"], claims: { account: "email" } });
const one = toIssuer("https://id.example.com/realms/a");
const path = `/jwt_issuers/${encodeURIComponent(one.issuer)}`;

beforeEach(async () => {
  await ask("PUT", "/jwt_issuers", { issuers: [] });
});

test("an issuer is found, changed and removed by its encoded name, and others stay as they are", async () => {
  const other = toIssuer("https://other.example.com");
  await ask("PUT", "/jwt_issuers", { issuers: [other] });
  const made = await ask("POST", "/jwt_issuers", { ...one, accounts: null });
  expect(made).toMatchObject({
    status: 200,
    json: { id: one.issuer, ...one, accounts: null, from_environment: false },
  });
  expect((await ask("GET", path)).json).toEqual(made.json);
  const changed = await ask("POST", path, { onUnknown: "create", audiences: ["one", "two"] });
  expect(changed.json).toEqual({ ...made.json, onUnknown: "create", audiences: ["one", "two"] });
  expect(await ask("GET", "/jwt_issuers")).toMatchObject({
    status: 200,
    json: { object: "list", data: [other, { issuer: one.issuer, onUnknown: "create" }] },
  });
  expect((await ask("DELETE", path)).json).toEqual({
    id: one.issuer,
    object: "organization.jwt_issuer.deleted",
    deleted: true,
  });
  expect((await ask("GET", path)).status).toBe(404);
  expect((await ask("DELETE", path)).status).toBe(404);
  // As the document has it, without what is absent.
  expect((await ask("GET", "/config?sections=jwt_issuers")).json).toEqual({ jwt_issuers: [other] });
});

test("issuers that are added at once are all there", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `https://issuer-${index}.example.com`);
  const made = await Promise.all(names.map((name) => ask("POST", "/jwt_issuers", toIssuer(name))));
  expect(made.map(({ status }) => status)).toEqual(names.map(() => 200));
  const { json } = await ask("GET", "/jwt_issuers?limit=100");
  expect(json.data.map(({ issuer }: { issuer: string }) => issuer).toSorted()).toEqual(names.toSorted());
});

test.each<[string, string, string, object, string, number?]>([
  ["a second time", "POST", "/jwt_issuers", one, "issuer", 409],
  ["with a field of its own", "POST", "/jwt_issuers", { ...one, key: 1 }, "key"],
  ["with claims that pay nothing", "POST", path, { claims: { user: "sub" } }, "claims"],
  ["with both ways to its keys", "POST", path, { jwksUri: one.issuer, jwks: { keys: [] } }, "jwks"],
  ["without audiences", "POST", path, { audiences: null }, "audiences"],
])("an issuer %s is refused, and stays as it was", async (_, method, at, body, problem, refused = 400) => {
  const { json: before } = await ask("POST", "/jwt_issuers", one);
  const { status, json } = await ask(method, at, body);
  expect([status, json.error.param]).toEqual([refused, problem]);
  expect((await ask("GET", path)).json).toEqual(before);
});

test("a list of issuers may have null for what is absent, as answers do", async () => {
  const { json } = await ask("POST", "/jwt_issuers", one);
  const { id: _, object: _object, from_environment: _given, ...answered } = json;
  expect((await ask("PUT", "/jwt_issuers", { issuers: [answered] })).json.data).toEqual([json]);
});
