import type { Caller, Claim, LimitState } from "../../contract/index.ts";
import { AccountLimits } from "../account-limits.ts";
import { KeyLimits } from "../key-limits.ts";
import type { Backlogs } from "./redis-books.ts";

const keptMax = 20_000;

/** What this node last saw of each account's limits and its keys', by which it goes when Redis cannot be asked. */
export class LimitsByAccount {
  readonly #accounts = new Map<string, AccountLimits>();
  readonly #keys = new Map<string, KeyLimits>();

  /** Takes over what Redis keeps. */
  restore({ accountId, keyId }: Caller, { requestsMs, tokensMs, key }: Backlogs, now: number): void {
    this.#of(accountId).restore(requestsMs, tokensMs, now);
    if (key !== undefined) this.#ofKey(keyId).restore(key.requestsMs, key.tokensMs, now);
  }

  /** @throws {GatewayError} Naming the limit into which the call does not fit now. */
  check(claim: Claim, now: number): void {
    const { own, keyId, accountId } = claim.caller;
    if (own !== undefined) this.#ofKey(keyId).check(claim, own, now);
    this.#of(accountId).check(claim, now);
  }

  /** Counts a call; negative numbers give it back. */
  add(requests: number, tokens: number, { accountId, keyId, limits, own }: Caller, now: number): void {
    this.#of(accountId).add(requests, tokens, limits, now);
    if (own !== undefined) this.#ofKey(keyId).add(requests, tokens, own, now);
  }

  state({ accountId, keyId, limits, own }: Caller, now: number): LimitState {
    const state = this.#of(accountId).state(limits, now);
    return own === undefined ? state : this.#ofKey(keyId).narrow(state, own, now);
  }

  #of(accountId: string): AccountLimits {
    return find(this.#accounts, accountId, () => new AccountLimits());
  }

  #ofKey(keyId: string): KeyLimits {
    return find(this.#keys, keyId, () => new KeyLimits());
  }
}

function find<Kept>(kept: Map<string, Kept>, id: string, make: () => Kept): Kept {
  const found = kept.get(id);
  if (found !== undefined) return found;
  const made = make();
  kept.set(id, made);
  if (kept.size > keptMax) {
    const [oldest] = kept.keys();
    kept.delete(oldest as string);
  }
  return made;
}
