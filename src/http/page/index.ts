import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { checkOrigin } from "../origin.ts";
import type { DeskGround } from "../session.ts";
import { adminAccountsController, adminVouchersController } from "./admin.ts";
import { keysController } from "./keys.ts";
import { ownController } from "./own.ts";

const Invitation = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ maxLength: 1000 }),
});

/**
 * The page's own API below /dashboard/api. Each request is of a person who is signed in, but the one that takes up an
 * invitation; its token is its permission.
 */
export function pageController(ground: DeskGround) {
  return new Elysia({ prefix: "/dashboard/api" })
    .use(ownController(ground))
    .use(keysController(ground))
    .use(adminAccountsController(ground))
    .use(adminVouchersController(ground))
    .post(
      "/invitations/accept",
      async ({ request, body }) => {
        checkOrigin(request);
        return ground.desk.acceptInvitation(body);
      },
      { detail: { hide: true }, body: Invitation },
    );
}
