export type { OnCommit } from "./commit-queue.ts";
export { type LedgerOptions, openLedger, openRedisTurns, ProcessLedger, type Recovery } from "./ledger.ts";
export { RedisRefused } from "./limit-errors.ts";
export { createPruner, nextAccount, type PrunerOptions } from "./prune-calls.ts";
export { type RemoteCall, type RemoteCalls, remoteCalls, remoteCallsMax } from "./remote-calls.ts";
export {
  type CreditToReverse,
  irreversibleReasons,
  type Reversal,
  readReversed,
  reverseCredit,
  reversedBy,
  whyIrreversible,
} from "./reversals.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export {
  type Credit,
  type CreditResult,
  creditWallet,
  giveDemoCredit,
  type Overdrawn,
  readOverdrawn,
  readWalletState,
  takeDemoCredit,
} from "./wallet.ts";
export { withTimeout } from "./with-timeout.ts";
