import type { CacheEffect } from "./cache-miss.ts";
import type { Capability } from "./capability.ts";
import type { Meters, UsageSource } from "./meters.ts";
import type { NetworkList } from "./networks.ts";

/** Bounds of an account; one that it does not name is the configuration's. */
export interface Limits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Calls of the account that may run at once; absent means any number. */
  concurrentCalls?: number | undefined;
}

/** When a budget of a key or an account begins anew, in UTC; a week begins on Monday. */
export type BudgetPeriod = "day" | "week" | "month";

/** The subjects whose calls a budget can count. */
export const budgetSubjects = ["account", "team", "key", "end_user", "tag", "session", "model"] as const;
/** Subjects that a call names itself. */
export const namedSubjects = ["end_user", "tag", "session", "model"] as const;

export type BudgetSubject = (typeof budgetSubjects)[number];

/** Periods of budgets; `lifetime` never ends. The period of a session begins anew when it has been silent for a day. */
export const budgetPeriods = ["day", "week", "month", "lifetime", "session"] as const;

/**
 * Maximum cost of premium calls in a period, for one subject or for each subject by itself. A budget counts all calls
 * that began in the period, also calls from before it was set.
 */
export interface Budget {
  readonly id: string;
  /** `team`: an account that several people work in. */
  readonly subject: BudgetSubject;
  /** The name of the subject, such as an end user, or the id of a key; absent: each by itself. Calls that name none are one more. */
  readonly name?: string | undefined;
  /** The gateway's, over each account by itself; absent: the account's own. */
  readonly isOfGateway?: true | undefined;
  /** The key whose calls it counts; absent: it counts the calls of all keys of the account. */
  readonly keyId?: string | undefined;
  readonly limitNanodollars: number;
  readonly period: (typeof budgetPeriods)[number];
  /** An addition to the limit until a time, in milliseconds since 1970. */
  readonly raise?: { readonly nanodollars: number; readonly until: number } | undefined;
}

/** A budget in its running period, as it binds one subject. */
export interface BudgetState {
  readonly budget: Budget;
  /** With the raise that is in force. */
  readonly limitNanodollars: number;
  readonly spentNanodollars: number;
  readonly heldNanodollars: number;
  /** The begin of the next period, milliseconds since 1970; absent: never. */
  readonly resetsAt: number | undefined;
}

/** Limits on calls per minute and on concurrent calls; an absent one does not bind. */
export interface RateLimits {
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /** Calls that may run at once. */
  concurrentCalls?: number | undefined;
}

/** Limits on the calls of one model, in addition to the limits on all models together. */
export interface ModelLimits {
  readonly account?: RateLimits | undefined;
  readonly key?: RateLimits | undefined;
}

/** Limits of a key, in addition to the limits of its account; an absent one does not bind. */
export interface KeyLimits extends RateLimits {
  /** Maximum cost of premium calls of the key in a period: the view of the {@link Budget} of this key. */
  budgetNanodollars?: number | undefined;
  /** Period of the budget; absent: `month`. */
  budgetPeriod?: BudgetPeriod | undefined;
}

/** Caller as a token names it. */
export interface CallerToken {
  /** The claims `iss` and `sub`. */
  readonly issuer: string;
  readonly subject: string;
  /** Names of the person, and of a customer of theirs, as claims give them. */
  readonly user?: string | undefined;
  readonly endUser?: string | undefined;
}

/** The caller that a checked API key stands for. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Models the key may use, by id; absent means all. */
  allowedModels?: ReadonlySet<string> | undefined;
  /** Models that its account may use; a call needs both lists. */
  accountModels?: ReadonlySet<string> | undefined;
  limits: Limits;
  /** Absent for a key without limits of its own, as most keys are. */
  keyLimits?: RateLimits | undefined;
  /** Limits of single models by their ids; absent if no model is limited. */
  modelLimits?: ReadonlyMap<string, ModelLimits> | undefined;
  /**
   * Budgets that its calls may draw on: of the account, its keys, and the names of calls. Absent without such budgets.
   */
  budgets?: readonly Budget[] | undefined;
  /** The markup of its account on all prices; absent: the model's, its provider's or the gateway's. */
  markupBasisPoints?: number | undefined;
  /** Its account has a budget in place of a wallet, which may be overdrawn; absent: the wallet pays. */
  isBilledAfterwards?: true;
  /** Tokens of the daily free quota (UTC day). */
  freeTokensPerDay: number;
  /** The account of the person who made the key, or `cli`; absent: unknown. */
  createdBy?: string;
  /** The operator keeps the prompts and answers of its calls, where the gateway keeps any; absent: not. */
  keepsContent?: true;
  /** The gateway marks no prompts of its calls for caches; absent: it may. */
  cacheMarks?: "off";
  /** Where the key may be used from; absent: anywhere. */
  allowedNetworks?: NetworkList;
  /** The token (JWT) that came in place of an API key; absent: an API key came. */
  token?: CallerToken | undefined;
}

/** A call's request to the ledger before it may reach a provider. */
export interface AdmissionRequest {
  callId: string;
  caller: Caller;
  /** The id of the model. */
  model: string;
  /** Name that the caller uses for the model, for errors; absent: its id. */
  modelName?: string | undefined;
  capability: Capability;
  premium: boolean;
  /**
   * Maximum cost of a premium call, or, if its hold can be extended, the cost of its prompt and a first part of its
   * output. The hold on the wallet is this amount, or what is left if that is less.
   */
  holdNanodollars: number;
  /** The least that it must be able to hold: its prompt and a first piece of output, or all if nothing can be lowered. */
  minNanodollars: number;
  /** Tokens of the free quota that a non-premium call holds, and the least that it must be able to hold. */
  holdTokens: number;
  minTokens: number;
  /** Tokens counted against the minute at once: the tokens of the hold. The difference is corrected at settle. */
  limitTokens: number;
  priceVersion: string | undefined;
  /** The markup of the price, which stays with the call; absent: none. */
  markupBasisPoints?: number | undefined;
  /** The client's own name of its session, at most 128 characters. */
  session?: string | undefined;
  /** The client's names of the requests' kind, and of the person that they are made for, at most 128 characters each. Budgets count by them. */
  tag?: string | undefined;
  endUser?: string | undefined;
  /** The agent of its session and the one that started it, at most 64 characters each. */
  agent?: string | undefined;
  parentAgent?: string | undefined;
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

/** The ledger's answer for an admitted call. */
export interface Hold {
  callId: string;
  heldNanodollars: number;
  heldTokens: number;
  /** Available amount of wallet and budget, or of the quota: the hold and its possible extension. */
  availableNanodollars: number;
  availableTokens: number;
  limits: LimitState;
}

/** New total hold of a running call. */
export type Extension = Pick<
  AdmissionRequest,
  "callId" | "holdNanodollars" | "minNanodollars" | "holdTokens" | "minTokens" | "limitTokens"
>;

/** How a call ended, for the ledger. */
export interface Settlement {
  callId: string;
  /** `released`: nothing came out, nothing is charged. */
  outcome: "settled" | "released";
  /** The plugin that answered; absent when none did. */
  plugin: string | undefined;
  meters: Meters;
  usageSource: UsageSource;
  /**
   * Cost of the meters at the price of the account; absent when the model has no known price. Charged to the wallet of a
   * premium call.
   */
  costNanodollars: number | undefined;
  /** The amount that the provider is owed: the cost without the markup, or at the price of its own row. Absent: the cost itself. */
  providerCostNanodollars?: number | undefined;
  /** The price of the provider's own row, where what it is owed follows from that. Absent: from the price of the call. */
  providerPriceVersion?: string | undefined;
  /** Tokens that a non-premium call takes from the quota. */
  quotaTokens: number;
  /** HTTP status the caller got, or 499 when it left first. */
  status: number;
  /** Code of the error the call ended with. */
  errorCode?: string | undefined;
  firstByteMs?: number | undefined;
  durationMs: number;
  /** The effect of prompt caches on its cost; absent: none that is known. */
  cache?: CacheEffect | undefined;
  /** For the request log: what the client spoke, its own id of the request, and JSON of how the call went. */
  protocol?: string | undefined;
  clientRequestId?: string | undefined;
  detail?: string | undefined;
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

/** How many calls run, of how many that may; of a key that has a bound of its own whichever has fewer left. */
export interface CallsState {
  /** Absent: any number. */
  limit: number | undefined;
  running: number;
}

/** A caller's use of the limits that no header reports. */
export interface LimitsUsage {
  calls: CallsState;
  /** States of the budgets whose subject needs no call: the account, the key, and subjects that a budget names. */
  budgets: readonly BudgetState[];
}

/**
 * Holds, wallets, quota and limits. A call is admitted once, then settled once. Both promises resolve only once the
 * fact is recorded: no call reaches a provider before its hold, and no last byte is sent before its charge.
 */
export interface Ledger {
  /**
   * Admits a call in one atomic step over budgets, rate limits and quota or wallet, and holds its worst case.
   *
   * @throws {GatewayError} `budget_exceeded`, `rate_limit_exceeded`, `quota_exceeded`, `insufficient_balance` or
   * `unavailable`, naming the one limit that blocked and when it frees. Nothing is held then.
   */
  admit(admission: AdmissionRequest): Promise<Hold>;
  /**
   * Raises the hold of a running call to the requested amount, or to what is left if that is no less than its minimum.
   * The tokens count against the minute even if its limit is used up: an answer that has begun is not cut for it.
   *
   * @returns What the call holds now.
   * @throws {GatewayError} `budget_exceeded`, `quota_exceeded`, `insufficient_balance` or `unavailable`. The call then
   *   keeps its previous hold.
   */
  extend(extension: Extension): Promise<Pick<Hold, "heldNanodollars" | "heldTokens">>;
  /** Ends a call. Repeating it for the same call changes nothing. */
  settle(settlement: Settlement): Promise<void>;
  /**
   * Counts a request that needs no hold, such as a repeated one, against the limit of requests per minute.
   *
   * @param callId Of no other request.
   * @throws {GatewayError} `rate_limit_exceeded`
   */
  countRequest(callId: string, caller: Caller): Promise<LimitState>;
  /**
   * Refuses a caller whose requests of the minute are used up as far as this process knows, before any work. It counts
   * nothing, and decides nothing for those whom it lets pass.
   *
   * @throws {GatewayError} `rate_limit_exceeded`
   */
  checkRequests(caller: Caller): void;
  readWalletState(accountId: string): Promise<WalletState>;
  readQuotaState(caller: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState>;
  /** @param model One whose own limits are looked at too; absent: none. */
  readLimitState(caller: Caller, model?: string): Promise<LimitState>;
  readLimitsUsage(caller: Caller): Promise<LimitsUsage>;
}
