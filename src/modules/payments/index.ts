export { createCheckout, type Payment, type Payments } from "./payments.ts";
export {
  createVoucher,
  listVouchers,
  readVoucher,
  redeemedVouchers,
  redeemVoucher,
  statusOfVoucher,
  type Voucher,
  voidVoucher,
  voucherActions,
  voucherStatuses,
} from "./vouchers.ts";
