import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { acceptInvitation } from "../../accounts/index.ts";
import type { HttpDeps } from "../deps.ts";
import { publicRoutes } from "../session.ts";
import { expectStore } from "../store-timeout.ts";
import { formBody } from "../validation-errors.ts";
import { accountController, checkoutController, meController, sessionsController } from "./account.ts";
import { adminAccountsController, adminVouchersController } from "./admin.ts";
import { keysController } from "./keys.ts";
import { systemStatusController } from "./system-status.ts";

const Invitation = formBody({
  token: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ maxLength: 1000 }),
});

/**
 * The page's own API below /dashboard/api. Each request is of a person who is signed in, but two: what the page says
 * before that, and the one that takes up an invitation, whose token is its permission.
 */
export function dashboardApi(deps: HttpDeps) {
  return new Elysia({ prefix: "/dashboard/api" })
    .use(meController(deps))
    .use(accountController(deps))
    .use(keysController(deps))
    .use(sessionsController(deps))
    .use(checkoutController(deps))
    .use(adminAccountsController(deps))
    .use(adminVouchersController(deps))
    .use(systemStatusController(deps))
    .use(anybodyController(deps));
}

function anybodyController(deps: HttpDeps) {
  const detail = { hide: true };
  return new Elysia()
    .use(publicRoutes(deps))
    .get("/gateway", () => toGatewayJson(deps), { detail })
    .post(
      "/invitations/accept",
      async ({ body }) => {
        await expectStore(deps);
        return await acceptInvitation(deps.store, body, deps.now());
      },
      { detail, body: Invitation },
    );
}

/** What a page shows of the gateway to anybody. */
function toGatewayJson({ version, shelf, config, payments }: HttpDeps) {
  return {
    version,
    sandbox: shelf().sandbox,
    base_path: config.basePath,
    sign_up: config.signUp,
    oidc: config.oidcIssuer !== undefined,
    payments: payments?.name ?? null,
  };
}

/** What the page knows of its API: types alone, the rest goes over the wire. */
export type PageApi = ReturnType<typeof dashboardApi>;
