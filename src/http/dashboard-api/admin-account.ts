import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { auditedActions, createAudited, roles } from "../../accounts/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../middleware/validation-errors.ts";
import { withAdminSession } from "./session.ts";

/** Absent fields are unchanged; `null` removes the name. */
const AccountChange = formBody({
  name: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Null()])),
  email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  role: Type.Optional(Type.Union(roles.map((role) => Type.Literal(role)))),
});

/** One account and its user, for administrators. */
export function adminAccountController(deps: HttpDeps) {
  const { store, now } = deps;
  const actions = auditedActions(createAudited(store, now), now);
  return new Elysia({ prefix: "/admin/accounts/:id" }).use(withAdminSession(deps)).patch(
    "",
    async ({ admin, params: { id }, body }) => {
      await actions.changeAccount(admin, id, body);
      return { id };
    },
    { body: AccountChange },
  );
}
