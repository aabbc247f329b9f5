import { type Claim, GatewayError } from "../../contract/index.ts";
import type { EndWrite } from "../../store/index.ts";
import type { Taken } from "../account-book.ts";
import { startOfDay } from "../day.ts";
import { balanceExceeded, callsExceeded, quotaExceeded, requestsExceeded, tokensExceeded } from "../refusals.ts";
import { admitScript, readScript } from "./admit-script.ts";
import type { BooksGround } from "./books-ground.ts";
import { endScript, renewScript } from "./end-script.ts";
import type { Figures } from "./figures.ts";
import { Seeder } from "./seeder.ts";

const minuteMs = 60_000;
/** An account that is lost again and again as soon as it is seeded is left to SQL. */
const seedsMax = 3;

/** Backlogs of an account's limits, in milliseconds. */
export interface Backlogs {
  requestsMs: number;
  tokensMs: number;
}

/** Accounts in Redis: each method is one atomic step there, after the account was seeded where that is needed. */
export class RedisBooks {
  readonly #options: BooksGround;
  readonly #seeder: Seeder;

  constructor(options: BooksGround) {
    this.#options = options;
    this.#seeder = new Seeder(options, (accountId) => this.#keys(accountId));
  }

  /**
   * Takes a call's hold.
   *
   * @throws {GatewayError} Naming the one limit that blocks.
   * @throws {Error} When Redis or the store cannot be asked; whether the hold was taken is not known then.
   */
  async admit(claim: Claim, now: number): Promise<Taken & Backlogs> {
    const { limits, freeTokensPerDay, accountId } = claim.caller;
    const words = await this.#ask(accountId, () =>
      this.#options.door.run(admitScript, this.#keys(accountId).slice(0, 3), [
        this.#time(),
        this.#options.door.life,
        claim.callId,
        String(this.#options.leaseMs),
        String(minuteMs / limits.requestsPerMinute),
        String((claim.limitTokens * minuteMs) / limits.tokensPerMinute),
        limits.concurrentCalls === undefined ? "" : String(limits.concurrentCalls),
        claim.premium ? "1" : "0",
        String(claim.premium ? claim.holdNanodollars : claim.holdTokens),
        String(freeTokensPerDay),
      ]),
    );
    if (words[0] !== "ok") throw refusalOf(words, claim, now);
    const [hold, day, requestsMs, tokensMs] = words.slice(1).map(Number) as [number, number, number, number];
    const taken = claim.premium
      ? { quotaDay: null, holdNanodollars: hold, holdTokens: 0 }
      : { quotaDay: day, holdNanodollars: 0, holdTokens: hold };
    return { ...taken, requestsMs, tokensMs };
  }

  /** Takes the charge of a call whose end is written, and gives its hold back; `moreTokens` came beyond those counted. */
  async end(claim: Claim, end: EndWrite, moreTokens: number): Promise<void> {
    const { tokensPerMinute } = claim.caller.limits;
    await this.#end(claim, [
      String(end.chargedNanodollars),
      String(end.quotaTokens),
      "0",
      String((moreTokens * minuteMs) / tokensPerMinute),
    ]);
  }

  /** Gives back all that {@link admit} took, as if the call had never come. */
  async undo(claim: Claim): Promise<void> {
    const { requestsPerMinute, tokensPerMinute } = claim.caller.limits;
    const tokensMs = (claim.limitTokens * minuteMs) / tokensPerMinute;
    await this.#end(claim, ["0", "0", String(-minuteMs / requestsPerMinute), String(-tokensMs)]);
  }

  async read(accountId: string): Promise<Figures & Backlogs> {
    const words = await this.#ask(accountId, () =>
      this.#options.door.run(readScript, this.#keys(accountId).slice(0, 3), [this.#time(), this.#options.door.life]),
    );
    const figures = words.slice(1).map(Number) as [number, number, number, number, number, number, number];
    const [balanceNanodollars, heldNanodollars, day, usedTokens, heldTokens, requestsMs, tokensMs] = figures;
    return { balanceNanodollars, heldNanodollars, day, usedTokens, heldTokens, requestsMs, tokensMs };
  }

  /** Says that these calls are still running. */
  async renew(accountId: string, callIds: readonly string[]): Promise<void> {
    const args = [this.#time(), String(this.#options.leaseMs), ...callIds];
    await this.#options.door.run(renewScript, this.#keys(accountId).slice(0, 3), args);
  }

  /** Has the account seeded at its next use; a seeding under way read SQL too early and is called off. */
  async forget(accountId: string): Promise<void> {
    await this.#options.door.forget(this.#keys(accountId)[0], "sound", "guard");
  }

  /** Asks, and seeds first where Redis says that it must, or where SQL has changed beside it. */
  async #ask(accountId: string, ask: () => Promise<unknown>): Promise<string[]> {
    await this.#seeder.freshen(accountId);
    for (let seeds = 0; seeds <= seedsMax; seeds++) {
      const words = String(await ask()).split(" ");
      if (words[0] !== "unsound") return words;
      await this.#seeder.seed(accountId);
    }
    throw new Error(`Account ${accountId} could not be seeded in Redis`);
  }

  async #end(claim: Claim, figures: string[]): Promise<void> {
    await this.#options.door.run(endScript, this.#keys(claim.caller.accountId), [
      this.#time(),
      claim.callId,
      ...figures,
    ]);
  }

  #time(): string {
    const { now } = this.#options;
    return now === undefined ? "" : String(now());
  }

  /** Account, holds, deadlines and marks; in braces what Redis Cluster hashes, so that they stand on one node. */
  #keys(accountId: string): [string, string, string, string] {
    const base = `${this.#options.prefix}{${accountId}}`;
    return [base, `${base}:holds`, `${base}:deadlines`, `${base}:marks`];
  }
}

function refusalOf(words: string[], claim: Claim, now: number): Error {
  const { limits, freeTokensPerDay: limit } = claim.caller;
  const [first, second, third] = words.slice(1).map(Number) as [number, number, number];
  switch (words[0]) {
    case "requests":
      return requestsExceeded(limits.requestsPerMinute, first);
    case "tokens":
      return tokensExceeded(claim, first);
    case "calls":
      return callsExceeded(limits.concurrentCalls as number);
    case "balance":
      return balanceExceeded(claim.model, first, second);
    case "quota":
      return quotaExceeded({ limit, used: first, held: second }, startOfDay(third + 1), now);
    case "running":
      return new GatewayError("conflict", `Call ${claim.callId} is already running`);
    default:
      return new Error(`Redis answered ${words.join(" ")} to an admission`);
  }
}
