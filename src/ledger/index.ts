export { createLocalLedger, type LocalLedger, type LocalLedgerOptions } from "./local-ledger.ts";
export type { Recovery } from "./recover.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export { type Credit, type CreditResult, creditWallet, walletOf } from "./wallet.ts";
