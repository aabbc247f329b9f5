import { userInfo } from "node:os";
import {
  inQuietTransaction,
  inTransaction,
  type OpenTransaction,
  type Store,
  type TransactionScope,
} from "../db/index.ts";
import { commandLine } from "./administrator.ts";

/** An action of an administrator, of a command, of the identity provider, of a token, or of a payment provider with money. */
export interface AuditEntry {
  /** The administrator's account, `cli`, `file`, `oidc`, `jwt` or `stripe`. */
  accountId: string;
  /** `account.credit` */
  action: string;
  /** The id of the account or voucher that was changed. */
  subject: string;
  detail: Readonly<Record<string, string | number | boolean | null>>;
}

/** Writes an entry in the transaction of its change: either both are stored, or neither. */
export async function recordAudit({ db }: Pick<OpenTransaction, "db">, entry: AuditEntry, at: number): Promise<void> {
  const row = { account_id: entry.accountId, action: entry.action, subject: entry.subject };
  const detail = JSON.stringify(entry.detail);
  const osUser = entry.accountId === commandLine.accountId ? readOsUser() : null;
  await db
    .insertInto("audit")
    .values({ ...row, id: crypto.randomUUID(), at, os_user: osUser, detail })
    .execute();
}

/** Writes the entry of an act that changes nothing in the database, such as ending a call. Call it before the act. */
export function recordAct(store: Pick<Store, "db" | "shared">, entry: AuditEntry, at: number): Promise<void> {
  return inQuietTransaction(store, (transaction) => recordAudit(transaction, entry, at));
}

/** The user who runs this process, and who became it by `sudo`. The user of a container may have no name. */
function readOsUser(): string | null {
  try {
    const { username } = userInfo();
    const { SUDO_USER: caller = username } = process.env;
    return (caller === username ? username : `${caller} as ${username}`).slice(0, osUserLengthMax);
  } catch {
    return null;
  }
}

const osUserLengthMax = 100;

/** Makes a change and writes its audit entry, unless there is nothing to write, in the same transaction. */
export type Audited = <T>(
  work: (scope: OpenTransaction) => Promise<T>,
  toEntry: (result: T) => AuditEntry | undefined,
) => Promise<T>;

export function createAudited(store: TransactionScope, now: () => number): Audited {
  return (work, toEntry) => inTransaction(store, (scope) => runAudited(scope, { work, toEntry, now }));
}

/** Like {@link createAudited}, for rows that no process keeps a copy of, such as alert rules. */
export function createQuietlyAudited(store: Pick<Store, "db" | "shared">, now: () => number): Audited {
  return (work, toEntry) => inQuietTransaction(store, (scope) => runAudited(scope, { work, toEntry, now }));
}

interface AuditedWork<T> {
  readonly work: (scope: OpenTransaction) => Promise<T>;
  readonly toEntry: (result: T) => AuditEntry | undefined;
  readonly now: () => number;
}

async function runAudited<T>(scope: OpenTransaction, { work, toEntry, now }: AuditedWork<T>): Promise<T> {
  const result = await work(scope);
  const entry = toEntry(result);
  if (entry !== undefined) await recordAudit(scope, entry, now());
  return result;
}
