import { AccountLimits } from "../account-limits.ts";

const accountsMax = 20_000;

/** What this node last saw of each account's limits, by which it goes when Redis cannot be asked. */
export class LimitsByAccount {
  readonly #limits = new Map<string, AccountLimits>();

  of(accountId: string): AccountLimits {
    let limits = this.#limits.get(accountId);
    if (limits !== undefined) return limits;
    limits = new AccountLimits();
    this.#limits.set(accountId, limits);
    if (this.#limits.size > accountsMax) {
      const [oldest] = this.#limits.keys();
      this.#limits.delete(oldest as string);
    }
    return limits;
  }
}
