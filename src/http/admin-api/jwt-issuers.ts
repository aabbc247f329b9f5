import { type Static, Type } from "@sinclair/typebox";
import { GatewayError } from "../../contract/index.ts";
import type { TokenIssuer } from "../../identity/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";

const Text = Type.String({ minLength: 1, maxLength: 500 });
const Texts = Type.Array(Text, { minItems: 1, maxItems: 200 });
/** The form of JWT_ISSUERS, whose own check says more than this schema: addresses, and which fields go together. */
const Issuer = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2000 }),
    jwksUri: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 })),
    jwks: Type.Optional(Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })),
    audiences: Texts,
    algorithms: Type.Optional(Texts),
    claims: Type.Record(Type.String(), Text, {
      description: "Names of the claims for the paying account and the attributes of its calls",
    }),
    accounts: Type.Optional(Type.Record(Type.String(), Text)),
    require: Type.Optional(Type.Record(Type.String(), Texts)),
    onUnknown: Type.Optional(Type.Union([Type.Literal("reject"), Type.Literal("create")])),
  },
  { additionalProperties: false },
);
const NewIssuers = formBody({ issuers: Type.Array(Issuer, { maxItems: 50 }) });
const IssuersObject = Type.Object({
  object: Type.Literal("organization.jwt_issuers"),
  issuers: Type.Array(Issuer),
  from_environment: Type.Boolean({ description: "Whether JWT_ISSUERS sets them; they cannot be changed here then" }),
});
type IssuersObject = Omit<Static<typeof IssuersObject>, "issuers"> & { issuers: TokenIssuer[] };

/** The issuers whose tokens (JWT) are accepted in place of API keys. Owners change them, since it opens every account. */
export function jwtIssuersController(deps: HttpDeps, api: AdminApi) {
  const { tokenIssuers, now } = deps;
  const answer = async (): Promise<IssuersObject> => ({
    object: "organization.jwt_issuers",
    issuers: [...(await tokenIssuers.read())],
    from_environment: tokenIssuers.isFromEnvironment,
  });
  const route = adminRoutes(deps, api, { path: "/organization/jwt_issuers", area: "accounts" });
  return [
    route.get("", answer, { detail: describeRead("List the issuers whose tokens (JWT) are accepted", IssuersObject) }),
    route.put(
      "",
      async ({ admin, body }) => {
        if (admin.role !== "owner") {
          throw new GatewayError("forbidden", "Only owners and their admin keys can change issuers");
        }
        await tokenIssuers.write(admin, JSON.stringify(body.issuers), now());
        return await answer();
      },
      {
        body: NewIssuers,
        detail: describeWrite("Set the issuers whose tokens (JWT) are accepted", IssuersObject, {
          description: "Replaces all issuers; for owners. If JWT_ISSUERS sets them, the request is a `conflict`.",
        }),
      },
    ),
  ];
}
