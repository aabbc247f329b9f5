import type { AdmissionRequest, Budget, Settlement } from "../contract/index.ts";

/** A budget that a call spends from, with the sums and the name that apply to the call. */
export interface BudgetDraw {
  readonly budget: Budget;
  /**
   * For example the name of the end user or the id of the key; empty if the call has no name, or for an account's
   * budget.
   */
  readonly name: string;
  /** The sums that count against the budget. */
  readonly sums: BudgetSums;
  readonly limitNanodollars: number;
}

/** Daily sums of the cost of calls: see the table `spending`. */
export interface BudgetSums {
  /** The number of the account, the key, or of the budget that counts calls by name. */
  readonly subjectNo: number;
  /** Empty for an account and a key, and for calls that name nobody. */
  readonly name: string;
  /** The first UTC day that counts, days since 1970, and the first that does not. */
  readonly from: number;
  readonly until: number;
  /** The current day. Amounts on later days were written while a clock was wrong: see `spending` of the schema. */
  readonly today: number;
  /**
   * Set for a session, in milliseconds since 1970: its spending up to this moment counts, unless the session was silent
   * for a day by then.
   */
  readonly sessionAt?: number | undefined;
}

/**
 * Spent and held amounts of a budget. The embedded store does not know the held amount; its process counts it in
 * memory.
 */
export interface BudgetFigures {
  readonly spentNanodollars: number;
  readonly heldNanodollars: number;
}

/** Hold of a call while it runs: of wallet and budgets, or of the free quota of a day. */
export interface HoldAmounts {
  /** Days since 1970; `null` for a premium call. */
  readonly quotaDay: number | null;
  readonly holdNanodollars: number;
  readonly holdTokens: number;
}

/** A hold that was decided about, and how large it could have been. */
export interface GrantedHold extends HoldAmounts {
  /** All that is there for it, of wallet and budgets or of the quota. */
  readonly available: number;
}

/** The fields of an admission that are stored in the row of its call. */
type AdmittedFields =
  | "callId"
  | "model"
  | "capability"
  | "premium"
  | "openedAt"
  | "priceVersion"
  | "markupBasisPoints"
  | "session"
  | "tag"
  | "endUser"
  | "agent"
  | "parentAgent";

/** A call that runs, with its hold: the row of an open call. */
export interface OpenCall extends HoldAmounts, Readonly<Pick<AdmissionRequest, AdmittedFields>> {
  readonly kind: "open";
  readonly accountId: string;
  readonly keyId: string;
  /**
   * Lets a shared store decide about the hold by the writes of all processes. The amounts are then a request, and its
   * day is the earliest that may pay. `quotaLimit` is the account's tokens a day, `draws` the budgets that pay,
   * `minHold` the minimum in tokens or nanodollars that the call must be able to hold. Absent if Redis has decided
   * already, and ignored by the embedded store.
   */
  readonly guard?:
    | {
        readonly quotaLimit: number;
        readonly draws: readonly BudgetDraw[];
        readonly minHold: number;
        /** The budgets bound the call alone, and not the wallet. */
        readonly isBilledAfterwards?: true | undefined;
      }
    | undefined;
}

/** The decision of a shared store about a hold: the amounts granted and written, or the amount that is insufficient. */
export type HoldDecision = GrantedHold | RefusedHold;

export interface RefusedHold {
  readonly refused: "balance" | "budget" | "quota";
  /** The balance of the wallet, the spending of the budget, or the used part of the quota. */
  readonly there: number;
  /** Held of it by running calls. */
  readonly openHolds: number;
  /** The day of the quota. */
  readonly day: number | null;
  /** The scarcest of the call's budgets; undefined without one. */
  readonly draw: BudgetDraw | undefined;
}

/**
 * The end of a call: its row written, its charge entered, wallet, quota and roll-ups moved. A call that has already
 * ended is left as it is, so writing one twice is harmless.
 */
export interface EndedCall extends Readonly<Omit<Settlement, "callId">> {
  readonly kind: "end";
  /** With its hold as it was last extended. */
  readonly open: OpenCall;
  /** Set for a refused call: it is written only if its hold was, and whether the hold was written is unknown. */
  readonly unmade?: true | undefined;
  readonly settledAt: number;
  readonly chargedNanodollars: number;
}

/**
 * A larger hold in place of the one that an open call has. A shared store decides about it as about a new one, by the `guard`. A
 * call that has ended is left as it is.
 */
export interface ExtendedHold {
  readonly kind: "extend";
  readonly open: OpenCall;
}

/** One write to the ledger. */
export type LedgerWrite = OpenCall | ExtendedHold | EndedCall;
