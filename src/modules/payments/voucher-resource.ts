import { type Static, type TObject, Type } from "@sinclair/typebox";
import { createAudited } from "../../audit/index.ts";
import { nullable, optional } from "../../contract/index.ts";
import { defineResource, type ResourceDeps } from "../../http/resources/resource.ts";
import { defineFields, expiry, Usd, usd } from "../../lib/fields.ts";
import { eachAccount, labelsOf } from "../../tenants/index.ts";
import {
  listVouchers,
  readVoucher,
  statusOfVoucher,
  type Voucher,
  voucherActions,
  voucherStatuses,
} from "./vouchers.ts";

const Time = Type.Integer({ minimum: 1, maximum: 10_000_000_000 });
const voucherFields = defineFields<Voucher>()({
  usd: { schema: Usd, column: "nanodollars", unit: usd, form: { label: "Amount (USD)", empty: "25.00" } },
  expires_at: {
    schema: optional(Time),
    column: "expiresAt",
    unit: expiry,
    flag: "expires",
    form: { label: "Valid through (UTC)", hint: "Leave empty for no expiry" },
  },
});

const derived = {
  object: Type.Literal("organization.voucher"),
  status: Type.Union(voucherStatuses.map((status) => Type.Literal(status))),
  created_at: Type.Integer(),
  voided_at: nullable(Type.Integer()),
  redeemed_at: nullable(Type.Integer()),
  redeemed_by: nullable(Type.String({ description: "The project whose wallet was credited" })),
  redeemed_by_email: nullable(Type.String()),
};

const actionsOf = ({ store, now }: ResourceDeps) => voucherActions(createAudited(store, now), now);
const toSeconds = (at: number | undefined) => (at === undefined ? null : Math.floor(at / 1000));

/** Vouchers: codes that add money to the wallet of the project that redeems them first. */
export const vouchers = defineResource<Voucher, typeof voucherFields, Static<TObject<typeof derived>>>()({
  name: "voucher",
  area: "accounts",
  idName: "voucher_id",
  fields: voucherFields,
  derived,
  secret: { code: Type.String({ description: "The code to redeem. It is shown only here" }) },
  verbs: ["list", "show", "create"],
  actions: {
    void: {
      summary: "Void a voucher; its code can no longer be redeemed",
      description: "If it was already redeemed, the request is a `conflict`.",
      argument: "CODE",
      async run(deps, by, idOrCode) {
        const { id } = await actionsOf(deps).voidVoucher(by, idOrCode);
        return await readVoucher(deps.store, id);
      },
    },
  },
  mounts: [
    {
      path: "/organization/vouchers",
      owner: "gateway",
      lists: "Newest first, without their codes.",
      creates:
        "It adds money to the wallet of the first project that redeems it, once. Only this answer has the `code`.",
      example: { usd: "25.00", expires_in_seconds: 2_592_000 },
    },
  ],
  commands: { create: "--usd 5 --expires 30d" },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: () => eachAccount,
  list: ({ store }, _, { limit, after }) => listVouchers(store, { limit, after: after?.id }),
  read: ({ store }, _, id) => readVoucher(store, id),
  async create(deps, by, _, { nanodollars = 0, expiresAt }) {
    const { id, code } = await actionsOf(deps).createVoucher(by, { nanodollars, expiresAt: expiresAt ?? undefined });
    return { ...(await readVoucher(deps.store, id)), code };
  },
  async derive({ store, now }, rows) {
    const emails = await labelsOf(
      store,
      rows.flatMap(({ redeemedBy }) => redeemedBy ?? []),
    );
    return (voucher) => ({
      object: "organization.voucher",
      status: statusOfVoucher(voucher, now()),
      created_at: Math.floor(voucher.createdAt / 1000),
      voided_at: toSeconds(voucher.voidedAt),
      redeemed_at: toSeconds(voucher.redeemedAt),
      redeemed_by: voucher.redeemedBy ?? null,
      redeemed_by_email: emails.get(voucher.redeemedBy ?? "") ?? null,
    });
  },
});
