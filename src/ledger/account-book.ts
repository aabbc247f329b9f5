import type { Caller, Claim, LimitState, QuotaState, WalletState } from "../contract/index.ts";
import type { Funds, OpenWrite } from "../store/index.ts";
import { AccountLimits } from "./account-limits.ts";
import { startOfDay } from "./day.ts";
import { balanceExceeded, callsExceeded, quotaExceeded } from "./refusals.ts";

/** What a call takes from its account while it runs. */
export type Taken = Pick<OpenWrite, "quotaDay" | "holdNanodollars" | "holdTokens">;

/**
 * One account in memory: what is written of it, what is held, and what is charged but not yet written. Each method
 * runs in one go, which is what makes admission atomic.
 */
export class AccountBook {
  readonly #limits = new AccountLimits();
  #balance = 0;
  #held = 0;
  /** Never goes back, so that a clock that does mints no quota. */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  #unwritten = 0;
  #unwrittenTokens = 0;
  #openCalls = 0;
  /** Held by other processes when the store was last read; 0 where there are none. */
  #othersHeld = 0;
  #othersHeldTokens = 0;
  /** The store's revision that was last read; absent before the first. */
  revision: number | undefined;

  get day(): number {
    return this.#day;
  }

  /** Takes over what is written, beside what is still on its way there. */
  refresh(funds: Funds, today: number): void {
    this.#balance = funds.balanceNanodollars - this.#unwritten;
    this.turnTo(funds.quotaDay === undefined ? today : Math.max(today, funds.quotaDay));
    this.#usedTokens = this.#unwrittenTokens + (funds.quotaDay === this.#day ? funds.usedTokens : 0);
    if (funds.others === undefined) return;
    this.#othersHeld = funds.others.nanodollars;
    this.#othersHeldTokens = funds.others.tokens;
  }

  /** Begins a new day's quota; holds and unwritten draws of an older day no longer count. */
  turnTo(day: number): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#usedTokens = 0;
    this.#heldTokens = 0;
    this.#othersHeldTokens = 0;
    this.#unwrittenTokens = 0;
  }

  /**
   * Takes a call's holds, or nothing.
   *
   * @throws {GatewayError} Naming the one limit that blocks.
   */
  take(claim: Claim, now: number): Taken {
    const { limits } = claim.caller;
    this.#limits.check(claim, now);
    const most = limits.concurrentCalls;
    if (most !== undefined && this.#openCalls >= most) throw callsExceeded(most);
    const taken = claim.premium ? this.#takeMoney(claim) : this.#takeQuota(claim, now);
    this.#limits.add(1, claim.limitTokens, limits, now);
    this.#openCalls += 1;
    return taken;
  }

  /** Gives back all that {@link take} took, as if the call had never come. */
  undo(claim: Claim, taken: Taken, now: number): void {
    this.#limits.add(-1, -claim.limitTokens, claim.caller.limits, now);
    this.#giveBack(taken);
    this.#openCalls -= 1;
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(taken: Taken, nanodollars: number, quotaTokens: number): void {
    this.#giveBack(taken);
    this.#balance -= nanodollars;
    this.#unwritten += nanodollars;
    if (taken.quotaDay !== this.#day) return;
    this.#usedTokens += quotaTokens;
    this.#unwrittenTokens += quotaTokens;
  }

  /** The charge of a call is written. */
  written(quotaDay: number | null, nanodollars: number, quotaTokens: number): void {
    this.#unwritten -= nanodollars;
    if (quotaDay === this.#day) this.#unwrittenTokens -= quotaTokens;
    this.#openCalls -= 1;
  }

  /** Counts the tokens that came beyond those counted at admission; the account may go into debt by them. */
  countTokens(tokens: number, limits: Caller["limits"], now: number): void {
    this.#limits.add(0, tokens, limits, now);
  }

  /** Whether forgetting this account loses nothing. */
  isIdle(now: number): boolean {
    return this.#openCalls === 0 && this.#limits.isEmpty(now);
  }

  wallet(): WalletState {
    return { balanceNanodollars: this.#balance, heldNanodollars: this.#held + this.#othersHeld };
  }

  quota(limitTokens: number): QuotaState {
    const resetsAt = startOfDay(this.#day + 1);
    return {
      limitTokens,
      usedTokens: this.#usedTokens,
      heldTokens: this.#heldTokens + this.#othersHeldTokens,
      resetsAt,
    };
  }

  limitState(limits: Caller["limits"], now: number): LimitState {
    return this.#limits.state(limits, now);
  }

  #takeMoney(claim: Claim): Taken {
    const held = this.#held + this.#othersHeld;
    const available = this.#balance - held;
    if (available <= 0) throw balanceExceeded(claim.model, this.#balance, held);
    const holdNanodollars = Math.min(available, claim.holdNanodollars);
    this.#held += holdNanodollars;
    return { quotaDay: null, holdNanodollars, holdTokens: 0 };
  }

  #takeQuota(claim: Claim, now: number): Taken {
    const limit = claim.caller.freeTokensPerDay;
    const held = this.#heldTokens + this.#othersHeldTokens;
    const available = limit - this.#usedTokens - held;
    if (available <= 0) {
      throw quotaExceeded({ limit, used: this.#usedTokens, held }, startOfDay(this.#day + 1), now);
    }
    const holdTokens = Math.min(available, claim.holdTokens);
    this.#heldTokens += holdTokens;
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens };
  }

  #giveBack(taken: Taken): void {
    this.#held -= taken.holdNanodollars;
    if (taken.quotaDay === this.#day) this.#heldTokens -= taken.holdTokens;
  }
}
