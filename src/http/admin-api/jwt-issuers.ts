import { Type } from "@sinclair/typebox";
import { issuerFields, issuersMax } from "../../identity/index.ts";
import { answerFields, bodyFields } from "../../lib/fields.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { issuers } from "../resources/issuers.ts";
import { toAnswers } from "../resources/resource.ts";
import { type AdminApi, adminRoutes, describeWrite } from "./guard.ts";
import { listOf, toList } from "./lists.ts";
import { toResourceDeps } from "./resource-routes.ts";

const NewIssuers = formBody({ issuers: Type.Array(formBody(bodyFields(issuerFields)), { maxItems: issuersMax }) });
const Answer = Type.Object({ id: Type.String(), ...answerFields(issuerFields), ...issuers.derived });

/** All issuers at once. {@link issuers} has the routes for one of them. */
export function jwtIssuersController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/jwt_issuers", area: "accounts" });
  return [
    route.put(
      "",
      async ({ admin, body }) => {
        const written = await deps.tokenIssuers.write(admin, () => body.issuers, deps.now());
        const rows = written.map((issuer) => ({ ...issuer, id: issuer.issuer }));
        return toList(rows, issuersMax, await toAnswers(toResourceDeps(deps), issuers, rows));
      },
      {
        body: NewIssuers,
        detail: describeWrite("Replace all issuers of the gateway, for owners", listOf(Answer), {
          description: "If JWT_ISSUERS sets the issuers, the request is a `conflict`.",
        }),
      },
    ),
  ];
}
