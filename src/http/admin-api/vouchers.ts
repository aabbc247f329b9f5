import { type Static, Type } from "@sinclair/typebox";
import { createAudited } from "../../audit/index.ts";
import { formatUsd, nullable, optional } from "../../contract/index.ts";
import { Usd } from "../../lib/fields.ts";
import {
  listVouchers,
  readVoucher,
  statusOfVoucher,
  type Voucher,
  voucherActions,
  voucherStatuses,
} from "../../payments/index.ts";
import { emailsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { readUsd } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import { listOf, listParameters, readExpiry, readPage, toList, toSeconds, toSecondsOrNull } from "./lists.ts";

const Seconds = Type.Integer({ minimum: 1, maximum: 10_000_000_000 });
const NewVoucher = formBody({ usd: Usd, expires_in_seconds: optional(Seconds), expires_at: optional(Seconds) });
const VoucherObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.voucher"),
  usd: Usd,
  status: Type.Union(voucherStatuses.map((status) => Type.Literal(status))),
  created_at: Type.Integer(),
  expires_at: nullable(Type.Integer()),
  voided_at: nullable(Type.Integer()),
  redeemed_at: nullable(Type.Integer()),
  redeemed_by: nullable(Type.String({ description: "The project whose wallet was credited" })),
  redeemed_by_email: nullable(Type.String()),
});
const VoucherWithCode = Type.Intersect([
  VoucherObject,
  Type.Object({ code: Type.String({ description: "What is redeemed. It is shown only here" }) }),
]);

/** Vouchers: codes that add money to the wallet of the project that redeems them first. */
export function vouchersController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const actions = voucherActions(createAudited(store, now), now);
  const withEmails = async (vouchers: readonly Voucher[]) => {
    const emails = await emailsOf(
      store,
      vouchers.flatMap(({ redeemedBy }) => redeemedBy ?? []),
    );
    return (voucher: Voucher) => toVoucherObject(voucher, emails.get(voucher.redeemedBy ?? ""), now());
  };
  const answer = async (id: string) => {
    const voucher = await readVoucher(store, id);
    return (await withEmails([voucher]))(voucher);
  };
  const route = adminRoutes(deps, api, { path: "/organization/vouchers", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const vouchers = await listVouchers(store, { limit: limit + 1, after });
        return toList(vouchers, limit, await withEmails(vouchers));
      },
      {
        detail: describeRead("List the vouchers, newest first, without their codes", listOf(VoucherObject), {
          query: listParameters,
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, body }) => {
        const expiresAt = readExpiry(body, now()) ?? undefined;
        const { id, code } = await actions.createVoucher(admin, { nanodollars: readUsd(body.usd), expiresAt });
        return { ...(await answer(id)), code };
      },
      {
        body: NewVoucher,
        detail: describeWrite("Create a voucher; `code` is shown only here", VoucherWithCode, {
          description: "It adds money to the wallet of the first project that redeems it, once.",
        }),
      },
    ),
    route.get("/:voucher_id", ({ params }) => answer(params.voucher_id), {
      detail: describeRead("Retrieve a voucher", VoucherObject),
    }),
    route.post(
      "/:voucher_id/void",
      async ({ admin, params }) => {
        // A path has an id: a code that stood in it would be in the logs of proxies.
        const { id } = await readVoucher(store, params.voucher_id);
        await actions.voidVoucher(admin, id);
        return await answer(id);
      },
      {
        detail: describeWrite("Void a voucher, whose code can no longer be redeemed", VoucherObject, {
          description: "One that was redeemed is a `conflict`.",
        }),
      },
    ),
  ];
}

function toVoucherObject(
  voucher: Voucher,
  redeemedByEmail: string | undefined,
  now: number,
): Static<typeof VoucherObject> {
  return {
    id: voucher.id,
    object: "organization.voucher",
    usd: formatUsd(voucher.nanodollars),
    status: statusOfVoucher(voucher, now),
    created_at: toSeconds(voucher.createdAt),
    expires_at: toSecondsOrNull(voucher.expiresAt),
    voided_at: toSecondsOrNull(voucher.voidedAt),
    redeemed_at: toSecondsOrNull(voucher.redeemedAt),
    redeemed_by: voucher.redeemedBy ?? null,
    redeemed_by_email: redeemedByEmail ?? null,
  };
}
