import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database, TransactionScope } from "../db/index.ts";
import { toPageStart } from "../db/page.ts";
import type { AuditEntry } from "./record-audit.ts";

/** A stored audit entry. */
export interface AuditRow extends AuditEntry {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  /** The user of the operating system who ran a command. */
  osUser: string | undefined;
}

/** Filter of entries; times in milliseconds since 1970. An absent field does not filter. */
export interface AuditFilter {
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  /** Actor, one or any of several: the id of an account, `cli`, `file`, an admin key, `oidc` or `stripe`. */
  readonly actor?: string | readonly string[] | undefined;
  /** `key.create`, or `key` for all that is done with keys; or any of several. */
  readonly action?: string | readonly string[] | undefined;
  readonly subject?: string | readonly string[] | undefined;
}

/** A place in the log, which is sorted by time, newest first, and then by id. Without an id: before all of that time. */
export interface AuditCursor {
  readonly at: number;
  readonly id?: string | undefined;
}

/** One page of {@link readAudit}. */
export interface AuditPage {
  readonly entries: readonly AuditRow[];
  /** Where the next page begins; absent on the last page. */
  readonly next?: AuditCursor | undefined;
}

/** Rows that one page looks at: a filter that fits nearly nothing must not read the whole log at once. */
const scannedMax = 5000;

/** Audit entries that fit, newest first. A page that found little after a long search says where the next one goes on. */
export async function readAudit(
  { db }: Pick<TransactionScope, "db">,
  filter: AuditFilter = {},
  { limit = 100, before }: { readonly limit?: number; readonly before?: AuditCursor | undefined } = {},
): Promise<AuditPage> {
  const span = db
    .selectFrom("audit")
    .selectAll()
    .where(and([...toSpan(filter), ...toPlace(before)]))
    .orderBy("at", "desc")
    .orderBy("id");
  const rows = await db
    .selectFrom(span.limit(scannedMax).as("scanned"))
    .selectAll()
    .where(and(toConditions(filter)))
    .orderBy("at", "desc")
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const entries = rows.slice(0, limit).map(toAuditRow);
  if (rows.length > limit) return { entries, next: entries.at(-1) };
  return {
    entries,
    next: await span
      .limit(1)
      .offset(scannedMax - 1)
      .executeTakeFirst(),
  };
}

/** Finds the place of an entry in the log by its id. @throws {GatewayError} `invalid_request` for an unknown id. */
export async function readAuditEntry({ db }: Pick<TransactionScope, "db">, id: string): Promise<AuditCursor> {
  return toPageStart(await db.selectFrom("audit").select(["id", "at"]).where("id", "=", id).executeTakeFirst(), id);
}

function toSpan({ from, until }: AuditFilter): Condition[] {
  return [
    ...(from === undefined ? [] : [sql<boolean>`at >= ${from}`]),
    ...(until === undefined ? [] : [sql<boolean>`at < ${until}`]),
  ];
}

function toPlace(before: AuditCursor | undefined): Condition[] {
  if (before === undefined) return [];
  if (before.id === undefined) return [sql<boolean>`at < ${before.at}`];
  return [sql<boolean>`at <= ${before.at}`, sql<boolean>`(at < ${before.at} or id > ${before.id})`];
}

function toConditions({ actor, action, subject }: AuditFilter): Condition[] {
  const isAction = (name: string) =>
    sql<boolean>`(action = ${name} or substr(action, 1, ${sql.lit(name.length + 1)}) = ${`${name}.`})`;
  return [
    ...anyOf(actor, (id) => sql<boolean>`account_id = ${id}`),
    ...anyOf(subject, (id) => sql<boolean>`subject = ${id}`),
    ...anyOf(action, isAction),
  ];
}

function anyOf(values: string | readonly string[] | undefined, toCondition: (value: string) => Condition): Condition[] {
  if (values === undefined) return [];
  const conditions = [values].flat().map(toCondition);
  return [conditions.length === 0 ? sql<boolean>`false` : sql<boolean>`(${sql.join(conditions, sql` or `)})`];
}

type Condition = RawBuilder<boolean>;

function and(conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

function toAuditRow({
  id,
  at,
  account_id: accountId,
  os_user: osUser,
  action,
  subject,
  detail,
}: Selectable<Database["audit"]>): AuditRow {
  return {
    id,
    at,
    accountId,
    osUser: osUser ?? undefined,
    action,
    subject,
    detail: JSON.parse(detail) as AuditEntry["detail"],
  };
}
