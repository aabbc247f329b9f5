import type { Store } from "../db/index.ts";

/** More keys at once than any gateway has at work; beyond it a key may look unused for a while. */
const notedMax = 100_000;
const writtenAtOnceMax = 500;

/** Remembers which keys were used and writes it down now and then, so that no call waits for a write of its own. */
export class LastUsedTracker {
  #noted = new Set<string>();

  note(keyId: string): void {
    if (this.#noted.size < notedMax) this.#noted.add(keyId);
  }

  /** A key noted meanwhile, or whose writing failed, is written the next time. */
  async save(store: Store, now: number): Promise<void> {
    const ids = [...this.#noted].sort();
    this.#noted = new Set();
    try {
      while (ids.length > 0) {
        // Not by `store.change`: copies of keys in memory do not hold this.
        await store.db
          .updateTable("keys")
          .set({ last_used_at: now })
          .where("id", "in", ids.slice(0, writtenAtOnceMax))
          .where((where) => where.or([where("last_used_at", "is", null), where("last_used_at", "<", now)]))
          .execute();
        ids.splice(0, writtenAtOnceMax);
      }
    } catch (error) {
      for (const id of ids) this.note(id);
      throw error;
    }
  }
}
