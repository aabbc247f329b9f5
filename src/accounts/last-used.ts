import type { Store } from "../db/index.ts";

/** Bounds memory; beyond it, last-used times of some keys are late. */
const notedMax = 100_000;
const writeChunkMax = 500;

/** Collects which keys were used and saves them in batches, so that no call waits for a write. */
export class LastUsedTracker {
  #noted = new Set<string>();

  note(keyId: string): void {
    if (this.#noted.size < notedMax) this.#noted.add(keyId);
  }

  /** Keys that are noted meanwhile or could not be saved are saved the next time. */
  async save(store: Store, now: number): Promise<void> {
    const ids = [...this.#noted].sort();
    this.#noted = new Set();
    try {
      while (ids.length > 0) {
        // Not by `store.change`, which would invalidate cached keys for a field that they do not have.
        await store.db
          .updateTable("keys")
          .set({ last_used_at: now })
          .where("id", "in", ids.slice(0, writeChunkMax))
          .where((where) => where.or([where("last_used_at", "is", null), where("last_used_at", "<", now)]))
          .execute();
        ids.splice(0, writeChunkMax);
      }
    } catch (error) {
      for (const id of ids) this.note(id);
      throw error;
    }
  }
}
