import type { Module } from "../module.ts";
import { settings } from "./settings.ts";
import { vouchers } from "./voucher-resource.ts";

/** Money that account holders add to their wallets themselves: vouchers, and payments by Stripe. */
export const payments: Module = {
  name: "payments",
  settings,
  resources: [vouchers],
  async open(parts) {
    const { openPayments, loadStripe } = await import("./open.ts");
    return openPayments(parts, await loadStripe(parts.config));
  },
};
