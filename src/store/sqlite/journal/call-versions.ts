import { randomBytes } from "node:crypto";
import type { JournalBatch } from "./journal-line.ts";

/** Accounts that are told apart; those whose calls changed longest ago share a version beyond that. */
const accountsMax = 20_000;

/** Tells one state of an account's calls in the tables from another, without a question to the database. */
export class CallVersions {
  /** Of this process: another one counts anew. */
  readonly #epoch = randomBytes(6).toString("base64url");
  readonly #versions = new Map<string, number>();
  readonly #accountsMax: number;
  #last = 0;
  /** Of all accounts that are not known: the latest of those that were forgotten. */
  #forgotten = 0;

  constructor(max = accountsMax) {
    this.#accountsMax = max;
  }

  /** Takes note that batches are applied. */
  applied(batches: readonly JournalBatch[]): void {
    for (const { writes } of batches) {
      this.#last += 1;
      for (const write of writes) {
        this.#versions.set((write.kind === "open" ? write : write.open).accountId, this.#last);
      }
    }
    for (const [accountId, version] of this.#versions) {
      if (this.#versions.size <= this.#accountsMax) return;
      this.#versions.delete(accountId);
      this.#forgotten = Math.max(this.#forgotten, version);
    }
  }

  of(accountId: string): string {
    const version = this.#versions.get(accountId);
    return `${this.#epoch}-${version === undefined ? this.#forgotten : version}`;
  }
}
