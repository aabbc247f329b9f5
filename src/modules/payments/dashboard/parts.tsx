import { formatDay, formatUsd } from "../../../dashboard/format.ts";
import type { AuditDetail, ModuleParts } from "../../../dashboard/kit/modules.tsx";
import { PayForm, RedeemForm } from "./credit-forms.tsx";
import { CreditHelp } from "./credit-help.tsx";
import { RedeemedVouchers } from "./redeemed-vouchers.tsx";

export const parts: ModuleParts = {
  places: {
    "billing-balance": RedeemForm,
    "billing-top": PayForm,
    "billing-end": RedeemedVouchers,
    "credit-help": CreditHelp,
  },
  audit: {
    actors: { stripe: "Stripe" },
    sentences: {
      "payment.refund": describeReversal,
      "payment.dispute": describeReversal,
      "payment.dispute_won": ({ usd, note }) => `Put ${toUsd(usd)} back: ${note}`,
      "voucher.create": ({ usd, expires_at: at }) =>
        `Created a voucher worth ${toUsd(usd)}${typeof at === "string" ? `, valid until ${formatDay(at)}` : ""}`,
      "voucher.void": () => "Voided the voucher",
    },
    groups: [
      {
        name: "voucher",
        after: "role_limit",
        label: "Vouchers",
        actions: { create: "Voucher created", void: "Voucher voided" },
      },
      {
        name: "payment",
        after: "voucher",
        label: "Payments",
        actions: { refund: "Refund", dispute: "Dispute", dispute_won: "Dispute won" },
      },
    ],
  },
};

function describeReversal({ usd, note }: AuditDetail): string {
  return `Took ${toUsd(String(usd).replace("-", ""))} back: ${note}`;
}

function toUsd(value: AuditDetail[string] | undefined): string {
  return formatUsd(String(value));
}
