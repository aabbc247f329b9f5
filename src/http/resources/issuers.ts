import { Type } from "@sinclair/typebox";
import { issuerFields, parseTokenIssuers, type TokenIssuer, TokenIssuers } from "../../identity/index.ts";
import { eachAccount } from "../../tenants/index.ts";
import { defineResource, pageOf, type ResourceDeps } from "./resource.ts";

interface DerivedOfIssuer {
  readonly object: "organization.jwt_issuer";
  readonly from_environment: boolean;
}

const toRow = (issuer: TokenIssuer) => ({ ...issuer, id: issuer.issuer });

function issuersOf({ store, config: { jwtIssuers } }: Pick<ResourceDeps, "store" | "config">): TokenIssuers {
  return new TokenIssuers(store, jwtIssuers === undefined ? undefined : parseTokenIssuers(jwtIssuers));
}

/** The issuers whose tokens (JWT) are accepted in place of API keys. The document has them as one list. */
export const issuers = defineResource<ReturnType<typeof toRow>, typeof issuerFields, DerivedOfIssuer>()({
  name: "issuer",
  area: "accounts",
  idName: "issuer",
  fields: issuerFields,
  derived: {
    object: Type.Literal("organization.jwt_issuer"),
    from_environment: Type.Boolean({ description: "Whether JWT_ISSUERS sets it; it cannot be changed here then" }),
  },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.jwt_issuer.deleted",
  mounts: [
    {
      path: "/organization/jwt_issuers",
      owner: "gateway",
      lists: "Their tokens (JWT) are accepted in place of API keys.",
      creates: "For owners. If JWT_ISSUERS sets the issuers, the request is a `conflict`.",
      changes: "For owners; `null` removes a field. The issuer in the path is encoded: `https%3A%2F%2Fid.example.com`.",
      example: { issuer: "https://login.example.com", audiences: ["modelgate"], claims: { account: "email" } },
      changeExample: { onUnknown: "create" },
    },
  ],
  commands: {
    create: `--issuer https://id.example.com --audiences modelgate --claims '{"account": "email"}'`,
    change: "https://id.example.com --on-unknown create",
  },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: () => eachAccount,
  list: async (deps, _, page) => pageOf((await issuersOf(deps).read()).map(toRow), page),
  read: async (deps, _, id) => toRow(await issuersOf(deps).find(id)),
  create: async (deps, by, _, columns) => toRow(await issuersOf(deps).add(by, columns, deps.now())),
  change: async (deps, by, { id }, changes) => toRow(await issuersOf(deps).change(by, id, changes, deps.now())),
  remove: (deps, by, { id }) => issuersOf(deps).remove(by, id, deps.now()),
  async derive(deps) {
    const from_environment = issuersOf(deps).isFromEnvironment;
    return () => ({ object: "organization.jwt_issuer", from_environment });
  },
});
