import type { Claim, KeyBounds } from "../../contract/index.ts";
import type { EndWrite } from "../../store/index.ts";
import type { Taken } from "../account-book.ts";
import { budgetOf } from "../key-book.ts";
import { admitScript, readScript } from "./admit-script.ts";
import type { BooksGround } from "./books-ground.ts";
import { endScript, renewScript } from "./end-script.ts";
import type { Figures, KeyFigures } from "./figures.ts";
import { refusalOf } from "./refusal-of.ts";
import { Seeder } from "./seeder.ts";

const minuteMs = 60_000;
/** An account that is lost again and again as soon as it is seeded is left to SQL. */
const seedsMax = 3;

/** Backlogs of an account's limits, in milliseconds. */
export interface Backlogs {
  requestsMs: number;
  tokensMs: number;
  /** Those of the key; absent where it has no bounds of its own. */
  key?: { requestsMs: number; tokensMs: number } | undefined;
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
        ...keyWords(claim),
      ]),
    );
    if (words[0] !== "ok") throw refusalOf(words, claim, now);
    const [hold, day, requestsMs, tokensMs, month, ...key] = words.slice(1).map(Number) as FourNumbers;
    const budgetMonth = month === undefined || month === -1 ? null : month;
    const partial = hold < (claim.premium ? claim.holdNanodollars : claim.holdTokens);
    const taken = claim.premium
      ? { quotaDay: null, holdNanodollars: hold, holdTokens: 0, budgetMonth, partial }
      : { quotaDay: day, holdNanodollars: 0, holdTokens: hold, budgetMonth, partial };
    return { ...taken, ...backlogsOf(requestsMs, tokensMs, key) };
  }

  /** Takes the charge of a call whose end is written, and gives its hold back; `moreTokens` came beyond those counted. */
  async end(claim: Claim, end: EndWrite, moreTokens: number): Promise<void> {
    const charge = [String(end.chargedNanodollars), String(end.quotaTokens)];
    await this.#end(claim, [...charge, ...backlogWords(claim, 0, moreTokens)]);
  }

  /** Gives back all that {@link admit} took, as if the call had never come. */
  async undo(claim: Claim): Promise<void> {
    await this.#end(claim, ["0", "0", ...backlogWords(claim, -1, -claim.limitTokens)]);
  }

  /** The figures of an account, and of one of its keys where that is asked for. */
  async read(accountId: string, keyId?: string): Promise<Figures & Backlogs & { ofKey: KeyFigures | undefined }> {
    const args = keyId === undefined ? [] : [keyId];
    const words = await this.#ask(accountId, () =>
      this.#options.door.run(readScript, this.#keys(accountId).slice(0, 3), [
        this.#time(),
        this.#options.door.life,
        ...args,
      ]),
    );
    const figures = words.slice(1).map(Number) as number[] & EightNumbers;
    const [balanceNanodollars, heldNanodollars, day, usedTokens, heldTokens, requestsMs, tokensMs, running] = figures;
    const [month = 0, spent = 0, held = 0, keyRequestsMs = 0, keyTokensMs = 0, calls = 0] = figures.slice(8);
    return {
      ...{ balanceNanodollars, heldNanodollars, day, usedTokens, heldTokens, running },
      ...backlogsOf(requestsMs, tokensMs, keyId === undefined ? [] : [keyRequestsMs, keyTokensMs]),
      ofKey:
        keyId === undefined ? undefined : { month, spentNanodollars: spent, heldNanodollars: held, running: calls },
    };
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

type FourNumbers = [number, number, number, number, ...number[]];
type EightNumbers = [number, number, number, number, number, number, number, number];

/** What an admission says of a key with bounds of its own; nothing of any other. */
function keyWords(claim: Claim): string[] {
  const { own, keyId } = claim.caller;
  if (own === undefined) return [];
  const wordOf = (value: number | undefined) => (value === undefined ? "" : String(value));
  return [
    keyId,
    wordOf(budgetOf(claim)),
    ...keyBacklogs(own, 1, claim.limitTokens).map(wordOf),
    wordOf(own.concurrentCalls),
  ];
}

/** What requests and tokens add to the backlogs of a key; absent where it has no such limit. */
function keyBacklogs(own: KeyBounds, requests: number, tokens: number): [number | undefined, number | undefined] {
  const { requestsPerMinute, tokensPerMinute } = own;
  return [
    requestsPerMinute === undefined ? undefined : (requests * minuteMs) / requestsPerMinute,
    tokensPerMinute === undefined ? undefined : (tokens * minuteMs) / tokensPerMinute,
  ];
}

function backlogWords({ caller: { limits, own } }: Claim, requests: number, tokens: number): string[] {
  const ofAccount = [(requests * minuteMs) / limits.requestsPerMinute, (tokens * minuteMs) / limits.tokensPerMinute];
  const ofKey = own === undefined ? [] : keyBacklogs(own, requests, tokens).map((added) => added ?? 0);
  return [...ofAccount, ...ofKey].map(String);
}

function backlogsOf(requestsMs: number, tokensMs: number, ofKey: readonly number[]): Backlogs {
  const [keyRequestsMs, keyTokensMs] = ofKey;
  if (keyRequestsMs === undefined || keyTokensMs === undefined) return { requestsMs, tokensMs };
  return { requestsMs, tokensMs, key: { requestsMs: keyRequestsMs, tokensMs: keyTokensMs } };
}
