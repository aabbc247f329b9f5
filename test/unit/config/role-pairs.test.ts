import { expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import { parseRolePairs } from "../../../src/config/settings.ts";

test.each([
  ["gateway-admins=admin,auditors=viewer", ["gateway-admins=admin", "auditors=viewer"]],
  ["cn=admins,ou=it=admin, x=owner", ["cn=admins,ou=it=admin", "x=owner"]],
  ["a=root", undefined],
  ["a=admin,b", undefined],
  ["=admin", undefined],
  ["", undefined],
])("%p is read as %p", (text, pairs) => {
  expect(parseRolePairs(text)).toEqual(pairs);
});

test("a claim needs its values and an issuer", () => {
  const issuer = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "id", OIDC_CLIENT_SECRET: "secret" };
  const roles = { OIDC_ROLE_CLAIM: "groups", OIDC_ROLES: "a=admin" };
  expect(readConfig({ ...issuer, ...roles }).oidcRoles).toEqual(["a=admin"]);
  expect(() => readConfig({ ...issuer, OIDC_ROLE_CLAIM: "groups" })).toThrow("OIDC_ROLES");
  expect(() => readConfig(roles)).toThrow("OIDC_ISSUER");
  expect(() => readConfig({ ...issuer, ...roles, OIDC_ROLES: "a=root" })).toThrow("OIDC_ROLES");
});
