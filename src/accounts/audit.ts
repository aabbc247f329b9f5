import type { TransactionScope } from "../db/index.ts";

/** Something an administrator did. */
export interface AuditEntry {
  /** The administrator's account. */
  accountId: string;
  /** `account.credit` */
  action: string;
  /** To what: an account, a voucher. */
  subject: string;
  detail: Readonly<Record<string, string | number | boolean | null>>;
}

/** A deed on record. */
export interface AuditRow extends AuditEntry {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
}

const listedMax = 100;

export async function recordAudit({ db }: TransactionScope, deed: AuditEntry, at: number): Promise<void> {
  const row = { account_id: deed.accountId, action: deed.action, subject: deed.subject };
  const detail = JSON.stringify(deed.detail);
  await db
    .insertInto("audit")
    .values({ ...row, id: crypto.randomUUID(), at, detail })
    .execute();
}

/** Which of the deeds: those before a time, `beforeId` with it among deeds of that very millisecond; absent: all. */
export interface AuditPage {
  readonly before?: number | undefined;
  readonly beforeId?: string | undefined;
}

/** The newest hundred of these, newest first. */
export async function listAudit(
  { db }: TransactionScope,
  { before = Number.MAX_SAFE_INTEGER, beforeId }: AuditPage = {},
): Promise<AuditRow[]> {
  const rows = await db
    .selectFrom("audit")
    .selectAll()
    .where("at", "<=", before)
    .where((where) => {
      const earlier = where("at", "<", before);
      return beforeId === undefined ? earlier : where.or([earlier, where("id", ">", beforeId)]);
    })
    .orderBy("at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map(({ id, at, account_id: accountId, action, subject, detail }) => ({
    id,
    at,
    accountId,
    action,
    subject,
    detail: JSON.parse(detail) as AuditEntry["detail"],
  }));
}
