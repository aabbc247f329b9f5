import { dayOf, type EmbeddedStore, startOfPeriod } from "../db/index.ts";
import { AccountState } from "./account-state.ts";
import { IdleMap } from "./idle-map.ts";
import type { BudgetsAsked } from "./key-state.ts";

/** The accounts in memory: read from the store at first use, forgotten when idle and others need the room. */
export class AccountStates {
  readonly #store: EmbeddedStore;
  readonly #states: IdleMap<AccountState>;

  constructor(store: EmbeddedStore, accountsMax: number) {
    this.#store = store;
    this.#states = new IdleMap(accountsMax, () => new AccountState());
  }

  /** The account of a call that runs. */
  find(accountId: string): AccountState | undefined {
    return this.#states.get(accountId);
  }

  /**
   * The account as it stands now. While a write is under way it cannot be told whether the store's figures have it
   * already, so that they are read at the next occasion. `asked` are the budgets that are to be known too.
   */
  get(accountId: string, now: number, isWriting: boolean, { key, account }: BudgetsAsked = {}): AccountState {
    const state = this.#get(accountId, now, isWriting, key);
    if (account === undefined) return state;
    const since = startOfPeriod(now, account);
    state.refreshSpent(since, this.#store.revision, () => this.#store.readSpent(accountId, since));
    return state;
  }

  #get(accountId: string, now: number, isWriting: boolean, key: BudgetsAsked["key"]): AccountState {
    const state = this.#states.get(accountId);
    if (state === undefined) return this.#read(accountId, now, key);
    const { revision } = this.#store;
    const isKnown = state.revision === revision && dayOf(now) <= state.day;
    if (isKnown && (key === undefined || state.knowsBudget(key, revision, now))) return state;
    if (!isWriting) return this.#read(accountId, now, key);
    state.turnTo(dayOf(now));
    if (key !== undefined) this.#turnBudget(state, accountId, key, now);
    return state;
  }

  #read(accountId: string, now: number, key: BudgetsAsked["key"]): AccountState {
    const { revision } = this.#store;
    const budgetQuery = key && { keyId: key.keyId, periodStart: startOfPeriod(now, key.period) };
    const balance = this.#store.readBalance(accountId, budgetQuery);
    const state = this.#states.getOrMake(accountId, now);
    state.refresh(balance, dayOf(now));
    state.revision = revision;
    if (key !== undefined && balance.budget !== undefined) {
      state.refreshBudget(key, balance.budget, { revision, now });
    }
    return state;
  }

  /** A budget that was never read is read also in the middle of a write: nothing of it can be on its way. */
  #turnBudget(state: AccountState, accountId: string, key: NonNullable<BudgetsAsked["key"]>, now: number): void {
    if (state.turnBudget(key, now)) return;
    const { revision } = this.#store;
    const query = { keyId: key.keyId, periodStart: startOfPeriod(now, key.period) };
    const { budget } = this.#store.readBalance(accountId, query);
    if (budget !== undefined) state.refreshBudget(key, budget, { revision, now });
  }
}
