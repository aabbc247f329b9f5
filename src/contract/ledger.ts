import type { Capability } from "./capability.ts";
import type { Meters, UsageSource } from "./meters.ts";

/** Bounds of an account or a key; an absent one falls back to the next wider (key → account → configuration). */
export interface Limits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Calls of the account that may run at once; absent means any number. */
  concurrentCalls?: number | undefined;
}

/** Who is calling: what a checked API key stands for. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Models the key may use, by id; absent means all. */
  allowedModels?: ReadonlySet<string> | undefined;
  limits: Limits;
  /** Tokens of the daily free quota (UTC day). */
  freeTokensPerDay: number;
}

/** What a call asks the books before it may reach a provider. */
export interface Claim {
  callId: string;
  caller: Caller;
  model: string;
  capability: Capability;
  premium: boolean;
  /** The most the call can cost; held from the wallet of a premium call, capped at what is available. */
  holdNanodollars: number;
  /** The most quota tokens the call can draw; held from the free quota of a non-premium call, capped likewise. */
  holdTokens: number;
  /** Tokens counted against the minute at once (the prompt); the rest follows at settle. */
  limitTokens: number;
  priceVersion: string | undefined;
  /** When the call came, milliseconds since 1970. */
  openedAt: number;
}

/** How much of a minute's limits is left, for the `x-ratelimit-*` headers. */
export interface LimitState {
  limitRequests: number;
  remainingRequests: number;
  resetRequestsMs: number;
  limitTokens: number;
  remainingTokens: number;
  resetTokensMs: number;
}

/** What the books gave an admitted call. */
export interface Hold {
  callId: string;
  heldNanodollars: number;
  heldTokens: number;
  limits: LimitState;
}

/** How a call ended, for the books. */
export interface Settlement {
  callId: string;
  /** `released`: nothing came out, nothing is charged. */
  outcome: "settled" | "released";
  /** `plugin` that answered, absent when none did. */
  route: string | undefined;
  meters: Meters;
  usageSource: UsageSource;
  /** List price of the meters; absent when the model has no known price. Charged to the wallet of a premium call. */
  costNanodollars: number | undefined;
  /** What a non-premium call draws from the quota. */
  quotaTokens: number;
  /** HTTP status the caller got, or 499 when it left first. */
  status: number;
  /** Code of the error the call ended with. */
  errorCode?: string | undefined;
  firstByteMs?: number | undefined;
  durationMs: number;
}

/** A wallet in figures. `available` is what a new premium call can hold. */
export interface WalletState {
  balanceNanodollars: number;
  heldNanodollars: number;
}

/** The free quota of the running UTC day. */
export interface QuotaState {
  limitTokens: number;
  usedTokens: number;
  heldTokens: number;
  /** Milliseconds since 1970 of the next reset. */
  resetsAt: number;
}

/**
 * Holds, wallets, quota and limits. A call is admitted once, then settled once; both promises resolve when the fact
 * is written down, so that no call reaches a provider before its hold and no last byte is sent before its charge.
 */
export interface Ledger {
  /**
   * Admits a call in one atomic step over rate limits and quota or wallet, and holds its worst case.
   *
   * @throws {GatewayError} `rate_limit_exceeded`, `quota_exceeded`, `insufficient_balance` or `unavailable`, naming
   * the one limit that blocked and when it frees. Nothing is held then.
   */
  admit(claim: Claim): Promise<Hold>;
  /** Ends a call. Repeating it for the same call changes nothing. */
  settle(settlement: Settlement): Promise<void>;
  walletOf(accountId: string): Promise<WalletState>;
  quotaOf(caller: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState>;
  limitsOf(caller: Caller): Promise<LimitState>;
}
