import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Kysely } from "kysely";
import { type BookStatements, endColumns, openColumns } from "../../book-statements.ts";
import { BookTally } from "../../book-tally.ts";
import type { BookWrite, EndWrite, OpenWrite } from "../../book-write.ts";
import { endValues, enterCharge, openValues, writeEnd } from "../../book-writer.ts";
import type { Database } from "../../database.ts";
import type { JournalBatch } from "./journal-line.ts";

/** The setting that says which batch was applied last. */
export const appliedSetting = "journal_applied";

/** What a slice says of one call. */
interface CallFacts {
  open: OpenWrite | undefined;
  end: EndWrite | undefined;
}

/**
 * Brings batches of a journal into the tables. Which one was the last stands in the same transaction, so that each is
 * applied once, whoever does it and however often it is tried.
 */
export class Applier {
  readonly #database: DatabaseSync;
  readonly #statements: BookStatements;
  readonly #openOnce: StatementSync;
  readonly #finishOnce: StatementSync;
  readonly #readApplied: StatementSync;
  readonly #setApplied: StatementSync;

  constructor(db: Kysely<Database>, database: DatabaseSync, statements: BookStatements) {
    this.#database = database;
    this.#statements = statements;
    this.#openOnce = database.prepare(openOnce(db));
    this.#finishOnce = database.prepare(finishOnce(db));
    this.#readApplied = database.prepare(`select value from settings where name = '${appliedSetting}'`);
    this.#setApplied = database.prepare(`insert into settings (name, value) values ('${appliedSetting}', ?)
      on conflict (name) do update set value = excluded.value`);
  }

  /** The last batch that was applied; 0 before the first. */
  applied(): number {
    const row = this.#readApplied.get() as { value: string } | undefined;
    return row === undefined ? 0 : Number(row.value);
  }

  /**
   * Applies the first of these batches that are not applied yet, in one transaction, until it has `writesMax` writes.
   *
   * @returns The last batch that is applied now.
   */
  apply(batches: readonly JournalBatch[], writesMax: number): number {
    return this.transact((before) => {
      let applied = before;
      let count = 0;
      const calls = new Map<string, CallFacts>();
      for (const { sequence, writes } of batches) {
        if (sequence <= applied) continue;
        if (count >= writesMax) break;
        if (sequence !== applied + 1) {
          throw new Error(`Cannot apply batch ${sequence} of the journal after batch ${applied}: some are missing`);
        }
        for (const write of writes) collect(calls, write);
        count += writes.length;
        applied = sequence;
      }
      if (applied === before) return applied;
      this.#write(calls);
      this.#setApplied.run(String(applied));
      return applied;
    });
  }

  /** Does something while no other process writes; `work` is told the last batch that is applied. */
  transact<T>(work: (applied: number) => T): T {
    this.#statements.begin.run();
    try {
      const result = work(this.applied());
      this.#statements.commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      throw error;
    }
  }

  #write(calls: ReadonlyMap<string, CallFacts>): void {
    const tally = new BookTally();
    for (const { open, end } of calls.values()) {
      if (end === undefined) {
        if (open !== undefined) this.#openOnce.run(...openValues(open, "open"));
      } else if ((open !== undefined && this.#finish(open, end)) || writeEnd(this.#statements, end)) {
        tally.add(end);
      }
    }
    tally.write(this.#statements);
  }

  #finish(open: OpenWrite, end: EndWrite): boolean {
    const { changes } = this.#finishOnce.run(...openValues(open, end.state), ...endValues(end));
    if (changes === 0) return false;
    enterCharge(this.#statements, end);
    return true;
  }
}

/** Of several ends of a call the first stands. */
function collect(calls: Map<string, CallFacts>, write: BookWrite): void {
  const open = write.kind === "open" ? write : undefined;
  const end = write.kind === "end" ? write : undefined;
  const callId = write.kind === "open" ? write.callId : write.open.callId;
  const facts = calls.get(callId);
  if (facts === undefined) calls.set(callId, { open, end });
  else if (end !== undefined) facts.end ??= end;
}

/** Written again without harm: nobody is left who could be told that the id is taken, and the journal sees to that. */
function openOnce(db: Kysely<Database>): string {
  return db
    .insertInto("calls")
    .values(openColumns)
    .onConflict((conflict) => conflict.column("id").doNothing())
    .compile().sql;
}

function finishOnce(db: Kysely<Database>): string {
  return db
    .insertInto("calls")
    .values({ ...openColumns, ...endColumns })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .compile().sql;
}
