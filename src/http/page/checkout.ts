import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type DeskGround, signedIn } from "../session.ts";
import { formBody } from "../validation-errors.ts";
import { readUsd } from "./read-fields.ts";

const Order = formBody({ usd: Type.String({ minLength: 1, maxLength: 30 }) });

/** POST /checkout: where the browser goes to pay. The money is credited when its provider says that it is there. */
export function checkoutController(ground: DeskGround) {
  return new Elysia()
    .use(signedIn(ground))
    .post(
      "/checkout",
      ({ visitor: { accountId, email }, body: { usd } }) =>
        ground.desk.beginPayment({ accountId, email, nanodollars: readUsd(usd) }),
      { detail: { hide: true }, body: Order },
    );
}
