import { Type } from "@sinclair/typebox";
import { formatUsd } from "../../contract/index.ts";
import type { PageApiOf } from "../../http/dashboard-api/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { readUsd } from "../../http/forms/read-fields.ts";
import { toIso } from "../../http/forms/serializers.ts";
import { withSession } from "../../http/lifecycle/session.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import type { createCheckout } from "./payments.ts";
import { redeemedVouchers, redeemVoucher, type Voucher } from "./vouchers.ts";

const Redeem = formBody({ code: Type.String({ minLength: 1, maxLength: 100 }) });
const Checkout = formBody({ usd: Type.String({ minLength: 1, maxLength: 30 }) });

/** The types of these routes, and of the facts of the module, for its pages. */
export type PaymentsApi = PageApiOf<
  ReturnType<typeof voucherRoutes>[number] | ReturnType<typeof checkoutRoutes>[number],
  { payments: string | null }
>;

/** The vouchers of the user's account: list and redeem. */
export function voucherRoutes(deps: HttpDeps) {
  const { store } = deps;
  const route = withSession(deps);
  return [
    route.get("/vouchers", async ({ user }) => ({
      data: (await redeemedVouchers(store, user.accountId)).map(toVoucherJson),
    })),
    route.post(
      "/vouchers/redeem",
      async ({ user: { accountId }, body: { code } }) => {
        const { nanodollars } = await redeemVoucher(store, { accountId, code }, deps.now());
        return { usd: formatUsd(nanodollars) };
      },
      { body: Redeem },
    ),
  ];
}

/** POST /checkout: where the browser goes to pay. The wallet is credited by the webhook of the payment provider. */
export function checkoutRoutes(deps: HttpDeps, beginPayment: ReturnType<typeof createCheckout>) {
  const route = withSession(deps);
  return [
    route.post(
      "/checkout",
      ({ user: { accountId, email }, body: { usd } }) => beginPayment({ accountId, email, nanodollars: readUsd(usd) }),
      { body: Checkout },
    ),
  ];
}

function toVoucherJson(voucher: Voucher) {
  return {
    id: voucher.id,
    usd: formatUsd(voucher.nanodollars),
    created_at: toIso(voucher.createdAt),
    expires_at: toIso(voucher.expiresAt),
    voided_at: toIso(voucher.voidedAt),
    redeemed_at: toIso(voucher.redeemedAt),
    redeemed_by: voucher.redeemedBy ?? null,
  };
}
