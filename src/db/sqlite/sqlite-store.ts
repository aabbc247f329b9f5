import type { DatabaseSync } from "node:sqlite";
import { type Kysely, sql } from "kysely";
import { createBlobs } from "../blobs.ts";
import { fromCallKey } from "../call-key.ts";
import { createIdempotencyKeys } from "../idempotency-keys.ts";
import type { LedgerWrite } from "../ledger-write.ts";
import { insertAbandoned } from "../open-calls.ts";
import type { Database } from "../schema.ts";
import { type AbandonedCall, readSetting, type Store } from "../store.ts";
import { prepareUsageWriter } from "../usage.ts";
import type { KyselyConnection } from "./kysely-connection.ts";
import type { LogFile } from "./log-file.ts";
import { prepareBalanceReader, prepareBudgetsReader, prepareKeyReader, prepareSpentReader } from "./readers.ts";
import { prepareLedgerStatements, writeBatch } from "./write-batch.ts";

/** What an embedded store is made of. */
interface Parts {
  /** Takes the lock of the process that serves; undefined when another process has it. */
  readonly takeLock: () => { release(): void } | undefined;
  readonly database: DatabaseSync;
  readonly connection: KyselyConnection;
  readonly db: Kysely<Database>;
  readonly now: () => number;
  /** Absent: SQLite syncs each commit, or none. */
  readonly log?: LogFile | undefined;
}

/** The embedded store over an open database whose schema is up to date. */
export function createSqliteStore({ database, connection, db, now, takeLock, log }: Parts): Store {
  const statements = prepareLedgerStatements(database);
  const writeUsage = prepareUsageWriter(database);
  const dataVersion = database.prepare("pragma data_version");
  const readVersion = () => (dataVersion.get() as { data_version: number }).data_version;
  let version = readVersion();
  let revision = 0;
  let lock: { release(): void } | undefined;
  const bumpRevision = () => {
    revision += 1;
  };
  const keyListeners: ((keyId: string) => void)[] = [];
  return {
    db,
    shared: false,
    nodeId: null,
    blobs: createBlobs(db, now),
    idempotencyKeys: createIdempotencyKeys({ db, now }),
    get revision() {
      return revision;
    },
    async writeLedger(batch: readonly LedgerWrite[], onCommitted?: () => void) {
      // Between the end of one transaction of Kysely's and this turn the next may have begun.
      while (database.isOpen && database.isTransaction) await connection.free();
      if (log === undefined) {
        writeBatch(database, statements, batch);
        return undefined;
      }
      log.leaveUnsynced(() => writeBatch(database, statements, batch));
      if (batch.some(({ kind }) => kind === "end")) {
        onCommitted?.();
        await log.sync(batch.length === 1);
      }
      return undefined;
    },
    async addUsage(rows, step) {
      while (database.isOpen && database.isTransaction) await connection.free();
      let isWritten = false;
      const write = () => {
        isWritten = writeUsage(rows, step);
      };
      if (log === undefined) write();
      else log.leaveUnsynced(write);
      return isWritten;
    },
    abandonCalls: (at) => abandonAll(db, at),
    async change(work, keyId) {
      try {
        return await db.transaction().execute(work);
      } finally {
        // Also when it failed: an account that was read meanwhile shows what was rolled back.
        if (keyId === undefined) bumpRevision();
        else for (const listener of keyListeners) listener(keyId);
      }
    },
    onKeyChange: (listener) => void keyListeners.push(listener),
    async ask(query) {
      return (await db.executeQuery(query)).rows;
    },
    readBalance: prepareBalanceReader(database),
    readSpent: prepareSpentReader(database),
    readBudgets: prepareBudgetsReader(database),
    readKey: prepareKeyReader(db, database),
    readForeignKey: prepareKeyReader(db, database, "foreign_hash"),
    bumpRevision,
    pollExternalChange() {
      if (!database.isOpen) return false;
      const found = readVersion();
      if (found === version) return false;
      version = found;
      revision += 1;
      return true;
    },
    setting: (name, make) => readSetting(db, name, make),
    lockForServing() {
      lock ??= takeLock();
      return lock !== undefined;
    },
    async close() {
      await connection.free();
      await log?.close();
      connection.close();
      lock?.release();
      lock = undefined;
    },
  };
}

/** One process alone writes calls, so at its start every open one is a dead process's. */
function abandonAll(db: Kysely<Database>, now: number): Promise<AbandonedCall[]> {
  return db.transaction().execute(async (transaction) => {
    await insertAbandoned(sql`open_call_rows`, now).execute(transaction);
    const gone = await transaction
      .deleteFrom("open_call_rows")
      .returning(["id", "hold_nanodollars", "hold_tokens"])
      .execute();
    return gone.map((call) => ({ ...call, id: fromCallKey(call.id) }));
  });
}
