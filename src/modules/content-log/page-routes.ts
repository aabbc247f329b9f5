import { Type } from "@sinclair/typebox";
import { GatewayError } from "../../contract/index.ts";
import type { PageApiOf } from "../../http/dashboard-api/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { toIso } from "../../http/forms/serializers.ts";
import { withAdminSession, withTeamSession } from "../../http/lifecycle/session.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import { mayAdminister } from "../../tenants/index.ts";
import type { ContentLog } from "./content-log.ts";

/** The types of these routes, and of the facts of the module about a request, for its pages. */
export type ContentApi = PageApiOf<
  ReturnType<typeof contentRoutes>[number] | ReturnType<typeof accountContentRoutes>[number],
  unknown,
  { has_content: boolean }
>;

const Switch = formBody({ on: Type.Boolean(), key: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) });

/**
 * Prompts and answers that the operator keeps. Looking at them is a POST, because somebody else's is written to the audit
 * log, which another site must not be able to cause; viewers therefore may not. Of a team's, only its admins see the
 * prompts: everybody's are among them.
 */
export function contentRoutes(deps: HttpDeps, contentLog: ContentLog) {
  const route = withTeamSession(deps);
  return [
    route.get("/content", async ({ user }) => toContentLogJson(await contentLog.describe(user.accountId))),
    route.delete("/content", async ({ user: { accountId, ownAccountId, role } }) => ({
      deleted: await contentLog.deleteAll(accountId, mayAdminister(role) ? ownAccountId : accountId),
    })),
    route.post("/requests/:id/content", async ({ user: { accountId, ownAccountId, role }, params: { id } }) => {
      const viewer = { accountId, personId: ownAccountId, seesAll: mayAdminister(role) };
      const { at, request, answer } = await contentLog.view(viewer, id);
      return { at: toIso(at), request, answer };
    }),
    route.delete("/requests/:id/content", async ({ user: { accountId }, params: { id } }) => {
      await contentLog.delete(accountId, id);
      return { id };
    }),
  ];
}

/** For administrators: whose prompts and answers are kept, and the deletion of what an account has. */
export function accountContentRoutes(deps: HttpDeps, contentLog: ContentLog) {
  const { accounts } = deps;
  const expectAccount = async (id: string) => {
    if ((await accounts.find(id))?.id !== id) throw new GatewayError("not_found", "There is no account with this id");
  };
  const route = withAdminSession(deps, "/admin/accounts/:id/content");
  return [
    route.get("", async ({ params: { id } }) => {
      await expectAccount(id);
      return toContentLogJson(await contentLog.describe(id));
    }),
    route.post(
      "",
      async ({ admin, params: { id }, body: { on, key } }) => {
        await contentLog.setSwitch({ accountId: id, keyId: key, on, by: admin.accountId });
        return { id, on };
      },
      { body: Switch },
    ),
    route.delete("", async ({ admin, params: { id } }) => {
      await expectAccount(id);
      return { deleted: await contentLog.deleteAll(id, admin.accountId) };
    }),
  ];
}

type Described = Awaited<ReturnType<ContentLog["describe"]>>;

/** `keys` are those that are switched on by themselves; `all` keeps the content of every call. */
function toContentLogJson({ mode, days, maxMb, account, keyIds, records, bytes }: Described) {
  return { mode, days, max_mb: maxMb, account, keys: [...keyIds], records, bytes };
}
