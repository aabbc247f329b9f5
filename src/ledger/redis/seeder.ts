import { type AbandonedCall, isOpen, type Store } from "../../store/index.ts";
import type { BooksGround } from "./books-ground.ts";
import { renewScript } from "./end-script.ts";
import { readWritten, type Written } from "./read-written.ts";
import { beginScript, seedScript } from "./seed-scripts.ts";

/** An account in use is compared with SQL this often, whatever anybody says. */
const freshMsMax = 60_000;
/** A seeding is called off by a call that begins or ends meanwhile, and tried this often. */
const triesMax = 8;
const accountsMax = 50_000;

interface Seeded {
  readonly revision: number;
  readonly at: number;
}

type Keys = [string, string, string, string];

/** Copies accounts from SQL to Redis. */
export class Seeder {
  readonly #options: BooksGround;
  readonly #keysOf: (accountId: string) => Keys;
  readonly #seeded = new Map<string, Seeded>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: BooksGround, keysOf: (accountId: string) => Keys) {
    this.#options = options;
    this.#keysOf = keysOf;
  }

  /** Seeds what this node never saw, what was changed beside the ledger (a credit), and now and then what is in use. */
  async freshen(accountId: string): Promise<void> {
    const seeded = this.#seeded.get(accountId);
    if (seeded?.revision === this.#options.store.revision) {
      if (Date.now() - seeded.at > freshMsMax) void this.seed(accountId).catch(() => undefined);
      return;
    }
    await this.#running.get(accountId);
    if (this.#seeded.get(accountId)?.revision !== this.#options.store.revision) await this.seed(accountId);
  }

  /**
   * Seeds an account, also when it is called off as often as it is tried.
   *
   * @throws {Error} When Redis or the store cannot be asked.
   */
  async seed(accountId: string): Promise<void> {
    // One that is under way may have read SQL before the change that this one is for.
    await this.#running.get(accountId);
    const running = this.#running.get(accountId) ?? this.#start(accountId);
    await running;
  }

  #start(accountId: string): Promise<void> {
    const running = this.#seed(accountId).finally(() => this.#running.delete(accountId));
    this.#running.set(accountId, running);
    return running;
  }

  async #seed(accountId: string): Promise<void> {
    const { door, store } = this.#options;
    const keys = this.#keysOf(accountId);
    for (let tries = 0; tries < triesMax; tries++) {
      const { revision } = store;
      const token = crypto.randomUUID();
      const begun = await door.run(beginScript, keys.slice(0, 3), [this.#time(), token]);
      const [expired, known] = begun as [string[], string[]];
      const dead = await this.#bury(keys, expired);
      const written = await readWritten(store, {
        accountId,
        callIds: known,
        now: this.#options.now?.() ?? Date.now(),
      });
      const args = [this.#time(), token, door.life, String(this.#options.leaseMs), ...listsOf(written, known, dead)];
      if ((await door.run(seedScript, keys, args)) === "ok") return this.#keep(accountId, revision);
    }
  }

  /** Ends in SQL the calls whose leases ran out, except those of this process, which was only slow; returns them. */
  async #bury(keys: Keys, expired: string[]): Promise<Set<string>> {
    const { door, leaseMs, isRunning, onAbandoned, store } = this.#options;
    const own = expired.filter(isRunning);
    if (own.length > 0) await door.run(renewScript, keys.slice(0, 3), [this.#time(), String(leaseMs), ...own]);
    const dead = expired.filter((callId) => !isRunning(callId));
    if (dead.length > 0) {
      const abandoned = await abandon(store, dead, this.#options.now?.() ?? Date.now());
      if (abandoned.length > 0) onAbandoned(abandoned);
    }
    return new Set(dead);
  }

  #keep(accountId: string, revision: number): void {
    this.#seeded.delete(accountId);
    this.#seeded.set(accountId, { revision, at: Date.now() });
    if (this.#seeded.size <= accountsMax) return;
    const [oldest] = this.#seeded.keys();
    this.#seeded.delete(oldest as string);
  }

  #time(): string {
    return this.#options.now === undefined ? "" : String(this.#options.now());
  }
}

/** A hold that Redis has and SQL does not is about to be written, unless its lease ran out. */
function listsOf(
  { balanceNanodollars, quotaDay, usedTokens, open, budgets, ended }: Written,
  known: string[],
  dead: Set<string>,
) {
  const held = new Set(known);
  const holds = open.flatMap(({ callId, nanodollars, tokens, day, keyId, budgetMonth }) => [
    callId,
    String(nanodollars),
    String(tokens),
    String(day ?? -1),
    String(budgetMonth ?? -1),
    keyId,
  ]);
  const paid = [...budgets].flatMap(([keyId, { month, nanodollars }]) => [keyId, String(month), String(nanodollars)]);
  const dropped = new Set([...ended.map(({ callId }) => callId), ...dead]);
  const counted = ended.filter(({ callId, charged }) => charged && held.has(callId)).map(({ callId }) => callId);
  return [
    String(balanceNanodollars),
    String(quotaDay ?? -1),
    String(usedTokens),
    String(open.length),
    ...holds,
    String(dropped.size),
    ...dropped,
    String(counted.length),
    ...counted,
    String(budgets.size),
    ...paid,
    open.find(({ partial, day }) => partial && day === null)?.callId ?? "",
    open.findLast(({ partial, day }) => partial && day !== null)?.callId ?? "",
  ];
}

async function abandon(store: Store, callIds: string[], now: number): Promise<AbandonedCall[]> {
  const query = store.db
    .updateTable("calls")
    .set({ state: "abandoned", settled_at: now })
    .where("id", "in", callIds)
    .where(isOpen)
    .returning(["id", "hold_nanodollars", "hold_tokens"])
    .compile();
  return store.ask(query);
}
