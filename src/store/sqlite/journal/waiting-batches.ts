import type { EndWrite } from "../../book-write.ts";
import type { Funds } from "../../funds.ts";
import type { JournalBatch } from "./journal-line.ts";

interface WaitingBatch extends JournalBatch {
  readonly bytes: number;
}

/** What an account's waiting batches will take from it. */
interface WaitingFunds {
  writes: number;
  nanodollars: number;
  /** Tokens by day. */
  readonly quota: Map<number, number>;
}

/** The batches that are in the journal and not applied yet, and what they mean for the accounts. */
export class WaitingBatches {
  #batches: WaitingBatch[] = [];
  readonly #funds = new Map<string, WaitingFunds>();
  #bytes = 0;
  #writes = 0;

  get all(): readonly JournalBatch[] {
    return this.#batches;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get writes(): number {
    return this.#writes;
  }

  add(batch: WaitingBatch): void {
    this.#batches.push(batch);
    this.#bytes += batch.bytes;
    this.#writes += batch.writes.length;
    for (const write of batch.writes) if (write.kind === "end") this.#count(write, 1);
  }

  /** Lets go of the batches up to this one, which are applied, and returns them. */
  shift(applied: number): readonly JournalBatch[] {
    const [first] = this.#batches;
    if (first === undefined) return [];
    const gone = this.#batches.splice(0, applied - first.sequence + 1);
    for (const { bytes, writes } of gone) {
      this.#bytes -= bytes;
      this.#writes -= writes.length;
      for (const write of writes) if (write.kind === "end") this.#count(write, -1);
    }
    return gone;
  }

  /** Whether one of them ends this call. Looks at all of them. */
  ends(callId: string): boolean {
    return this.#batches.some(({ writes }) =>
      writes.some((write) => write.kind === "end" && write.open.callId === callId),
    );
  }

  /** What will be written of an account when they are applied, given what is written now. */
  settle(accountId: string, written: Funds): Funds {
    const waiting = this.#funds.get(accountId);
    if (waiting === undefined) return written;
    let { quotaDay, usedTokens } = written;
    for (const [day, tokens] of waiting.quota) {
      if (tokens === 0) continue;
      if (day === quotaDay) usedTokens += tokens;
      else if (quotaDay === undefined || day > quotaDay) [quotaDay, usedTokens] = [day, tokens];
    }
    return { balanceNanodollars: written.balanceNanodollars - waiting.nanodollars, quotaDay, usedTokens };
  }

  #count({ open, chargedNanodollars, quotaTokens }: EndWrite, sign: 1 | -1): void {
    let funds = this.#funds.get(open.accountId);
    if (funds === undefined) {
      funds = { writes: 0, nanodollars: 0, quota: new Map() };
      this.#funds.set(open.accountId, funds);
    }
    funds.writes += sign;
    funds.nanodollars += sign * chargedNanodollars;
    if (open.quotaDay !== null) {
      const before = funds.quota.get(open.quotaDay);
      funds.quota.set(open.quotaDay, (before === undefined ? 0 : before) + sign * quotaTokens);
    }
    if (funds.writes === 0) this.#funds.delete(open.accountId);
  }
}
