import { afterEach, beforeEach, expect, test } from "bun:test";
import { issuerFields } from "../../../src/identity/index.ts";
import { type Bench, makeBench } from "./fixture.ts";

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

const id = "https://id.example.com";
const claims = '{"account": "email"}';
const create = (issuer: string, ...flags: string[]) =>
  ["issuer", "create", "--issuer", issuer, "--audiences", "modelgate", "--claims", claims, ...flags] as const;

test("an issuer is created, listed, changed field by field and removed by commands", async () => {
  const made = await bench.json<object>(...create(id, "--require", '{"hd": ["example.com"]}'));
  const absent = { accounts: null, onUnknown: null, jwksUri: null, jwks: null, algorithms: null };
  const whole = {
    issuer: id,
    audiences: ["modelgate"],
    claims: { account: "email" },
    require: { hd: ["example.com"] },
  };
  expect(made).toEqual({ id, ...whole, ...absent, object: "organization.jwt_issuer", from_environment: false });
  await bench.json(...create("https://other.example.com"));

  const changed = { ...made, require: null, onUnknown: "create" };
  expect(await bench.json("issuer", "change", id, "--require", "none", "--on-unknown", "create")).toEqual(changed);
  expect(await bench.json("issuer", "show", id)).toEqual(changed);
  const { stdout } = await bench.run("issuer", "list");
  expect(stdout).toContain('{"account":"email"}');

  expect(await bench.json("issuer", "remove", id)).toEqual({ id, deleted: true });
  expect(await bench.json("issuer", "list")).toMatchObject([{ id: "https://other.example.com" }]);
  expect((await bench.run("issuer", "show", id)).code).toBe(3);
});

test.each([
  ["claims that are no JSON", ["--claims", "account=email"], '--claims is "account=email", expected JSON'],
  ["claims without one that pays", ["--claims", '{"user": "sub"}'], "claims: account or team is missing"],
  ["an address that is none", ["--issuer", "id.example.com"], "issuer: expected an https address"],
])("an issuer with %s is refused with the reason, and nothing is made", async (_, flags, reason) => {
  const given = {
    "--issuer": id,
    "--audiences": "modelgate",
    "--claims": claims,
    [String(flags[0])]: String(flags[1]),
  };
  const { code, stderr } = await bench.run("issuer", "create", ...Object.entries(given).flat());
  expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  expect(await bench.json("issuer", "list")).toEqual([]);
});

test("issuers of the environment are shown, and commands do not change them", async () => {
  const issuers = [{ issuer: id, audiences: ["modelgate"], claims: { account: "email" } }];
  const other = makeBench({ env: { JWT_ISSUERS: JSON.stringify(issuers) } });
  try {
    expect(await other.json("issuer", "list")).toMatchObject([{ issuer: id, from_environment: true }]);
    for (const command of [
      create("https://other.example.com"),
      ["issuer", "change", id, "--on-unknown", "create"],
      ["issuer", "remove", id],
    ]) {
      expect((await other.run(...command)).stderr).toContain("JWT_ISSUERS sets the issuers; change it there");
    }
    expect(await other.json("issuer", "list")).toMatchObject(issuers);
  } finally {
    other.remove();
  }
});

test("every field of an issuer is a flag of create", async () => {
  const { stdout } = await bench.run("issuer", "create", "--help");
  for (const field of Object.keys(issuerFields)) {
    expect(stdout).toContain(`--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  }
});
