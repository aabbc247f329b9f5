export { createLocalLedger, type LocalLedger, type LocalLedgerOptions } from "./local-ledger.ts";
export { createPruner, type PrunerOptions } from "./prune-calls.ts";
export type { Recovery } from "./recover.ts";
export { RedisRefused } from "./redis/redis-door.ts";
export { createRedisLedger } from "./redis/redis-ledger.ts";
export type { RedisLedger, RedisLedgerOptions } from "./redis/redis-ledger-options.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export { type Credit, type CreditResult, creditWallet, walletOf } from "./wallet.ts";
