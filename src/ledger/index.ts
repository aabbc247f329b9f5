export { type Billing, type BillingOptions, createBilling } from "./billing.ts";
export type { OnCommit } from "./commit-queue.ts";
export { giveDemoCredit, takeDemoCredit } from "./demo-credit.ts";
export { openBilling, openRedisLimits } from "./open-billing.ts";
export { createPruner, nextAccount, type PrunerOptions } from "./prune-calls.ts";
export type { Recovery } from "./recover-calls.ts";
export { type RedisLimits, type RedisLimitsOptions, RedisRefused } from "./redis/redis-limits-options.ts";
export { type OpenCall, type RemoteCalls, remoteCalls, remoteCallsMax } from "./remote-calls.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export {
  type Credit,
  type CreditResult,
  creditWallet,
  type Overdrawn,
  readOverdrawn,
  readWalletState,
} from "./wallet.ts";
export { withTimeout } from "./with-timeout.ts";
