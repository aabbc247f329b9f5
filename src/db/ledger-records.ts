import type { AdmissionRequest, Settlement, SubjectBudget } from "../contract/index.ts";

/** A subject in a period of its budget, on which a call draws. */
export interface BudgetDraw {
  readonly budget: SubjectBudget;
  /** The name of the end user, for example; empty: the call names none. */
  readonly name: string;
  /** The first UTC day of the period; 0 of one that never ends. */
  readonly periodStart: number;
  /** JSON of the budget's id and the two: how they stand in rows of calls. */
  readonly text: string;
  readonly limitNanodollars: number;
}

/** Amounts of a budget that are spent, and held by running calls; an embedded store knows nothing of these, as its process does. */
export interface BudgetFigures {
  readonly spentNanodollars: number;
  readonly heldNanodollars: number;
}

/** Hold of a call while it runs: of a wallet, and of the budget of its key, or of the free quota of a day. */
export interface HoldAmounts {
  /** Days since 1970; `null` for a premium call. */
  readonly quotaDay: number | null;
  /** The period whose budget of the key pays, as its first day since 1970; `null` without one. */
  readonly periodStart: number | null;
  /** The budgets of subjects that pay; undefined without one. */
  readonly draws?: readonly BudgetDraw[] | undefined;
  readonly holdNanodollars: number;
  readonly holdTokens: number;
}

/** A hold that was decided about, and how large it could have been. */
export interface GrantedHold extends HoldAmounts {
  /** All that is there for it, of wallet and budgets or of the quota. */
  readonly available: number;
}

/** The fields of an admission that stand in the row of its call. */
type AdmittedFields = "callId" | "model" | "capability" | "premium" | "openedAt" | "priceVersion" | "session";

/** A call that runs, with its hold: the row of an open call. */
export interface OpenCall extends HoldAmounts, Readonly<Pick<AdmissionRequest, AdmittedFields>> {
  readonly kind: "open";
  readonly accountId: string;
  readonly keyId: string;
  /**
   * Lets a shared store decide about the hold by what all processes wrote. The amounts are then a request, and its
   * day and period are the earliest that may pay. `quotaLimit` is the account's tokens a day, `budgetLimit` that of the key
   * in nanodollars where `periodStart` says that it pays, `accountLimit` that of the account for calls that began since the day
   * `accountFrom`, `minHold` the least in tokens or nanodollars that the call must
   * be able to hold. Absent if Redis has decided already, and ignored by the embedded store.
   */
  readonly guard?:
    | {
        readonly quotaLimit: number;
        readonly budgetLimit?: number | undefined;
        readonly accountLimit?: number | undefined;
        readonly accountFrom?: number | undefined;
        readonly minHold: number;
      }
    | undefined;
}

/** The decision of a shared store about a hold: what it grants and has written, or what does not suffice. */
export type HoldDecision = GrantedHold | RefusedHold;

export interface RefusedHold {
  readonly refused: "balance" | "budget" | "account_budget" | "subject_budget" | "quota";
  /** The balance of the wallet, or what is spent of the budget or used of the quota. */
  readonly there: number;
  /** Held of it by running calls. */
  readonly openHolds: number;
  /** The day of the quota. */
  readonly day: number | null;
  /** The first day of the period of the key's budget. */
  readonly periodStart: number | null;
  /** The scarcest of the call's budgets of subjects; undefined without one. */
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
  /** It was refused and is written only if its hold was, of which that is unknown. */
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
