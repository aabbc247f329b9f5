import { inTransaction, type TransactionScope } from "../db/index.ts";
import { type AuditEntry, recordAudit } from "./record-audit.ts";

/** Makes a change and writes its audit entry, unless there is nothing to write, in the same transaction. */
export type Audited = <T>(
  work: (scope: TransactionScope) => Promise<T>,
  toEntry: (result: T) => AuditEntry | undefined,
) => Promise<T>;

export function createAudited(store: TransactionScope, now: () => number): Audited {
  return (work, toEntry) =>
    inTransaction(store, async (scope) => {
      const result = await work(scope);
      const entry = toEntry(result);
      if (entry !== undefined) await recordAudit(scope, entry, now());
      return result;
    });
}
