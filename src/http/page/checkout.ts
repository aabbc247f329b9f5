import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { HttpDeps } from "../deps.ts";
import { signedIn } from "../session.ts";
import { formBody } from "../validation-errors.ts";
import { readUsd } from "./read-fields.ts";

const Order = formBody({ usd: Type.String({ minLength: 1, maxLength: 30 }) });

/** POST /checkout: where the browser goes to pay. The money is credited when its provider says that it is there. */
export function checkoutController(deps: HttpDeps) {
  return new Elysia()
    .use(signedIn(deps))
    .post(
      "/checkout",
      ({ visitor: { accountId, email }, body: { usd } }) =>
        deps.beginPayment({ accountId, email, nanodollars: readUsd(usd) }),
      { detail: { hide: true }, body: Order },
    );
}
