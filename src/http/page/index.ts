import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type DeskGround, ofAnybody } from "../session.ts";
import { storeInTime } from "../store-in-time.ts";
import { formBody } from "../validation-errors.ts";
import { adminAccountsController, adminVouchersController } from "./admin.ts";
import { checkoutController } from "./checkout.ts";
import { keysController } from "./keys.ts";
import { meController } from "./me.ts";
import { adminOperationController } from "./operation.ts";
import { ownController } from "./own.ts";
import { sessionsController } from "./sessions.ts";

const Invitation = formBody({
  token: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ maxLength: 1000 }),
});

/**
 * The page's own API below /dashboard/api. Each request is of a person who is signed in, but two: what the page says
 * before that, and the one that takes up an invitation, whose token is its permission.
 */
export function pageController(ground: DeskGround) {
  return new Elysia({ prefix: "/dashboard/api" })
    .use(meController(ground))
    .use(ownController(ground))
    .use(keysController(ground))
    .use(sessionsController(ground))
    .use(checkoutController(ground))
    .use(adminAccountsController(ground))
    .use(adminVouchersController(ground))
    .use(adminOperationController(ground))
    .use(anybodyController(ground));
}

function anybodyController(ground: DeskGround) {
  const detail = { hide: true };
  return new Elysia()
    .use(ofAnybody(ground))
    .get("/gateway", () => gatewayFigures(ground), { detail })
    .post(
      "/invitations/accept",
      async ({ body }) => {
        await storeInTime(ground, ground.desk.storeAnswers());
        return ground.desk.acceptInvitation(body);
      },
      { detail, body: Invitation },
    );
}

/** What a page shows of the gateway to anybody. */
function gatewayFigures({ version, sandbox, basePath, desk }: DeskGround) {
  return {
    version,
    sandbox,
    base_path: basePath,
    sign_up: desk.signUp,
    oidc: desk.oidc,
    payments: desk.payments?.name ?? null,
  };
}

/** What the page knows of its API: types alone, the rest goes over the wire. */
export type PageApi = ReturnType<typeof pageController>;
