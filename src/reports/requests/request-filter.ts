import { type RawBuilder, sql } from "kysely";
import { hasColumn, isOf, type LogTable } from "./request-columns.ts";

/** Filter of requests; times in milliseconds since 1970. An absent field does not filter. */
export interface RequestFilter {
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** The plugin that answered. */
  readonly plugin?: string | undefined;
  readonly protocol?: string | undefined;
  readonly session?: string | undefined;
  readonly tag?: string | undefined;
  readonly status?: StatusFilter | undefined;
  readonly errorCode?: string | undefined;
  /** At least so long, in milliseconds. */
  readonly durationMsMin?: number | undefined;
  /** At least so dear, by list price. */
  readonly costNanodollarsMin?: number | undefined;
  /** A part of the request's id, or of the client's own. */
  readonly text?: string | undefined;
}

/** `failed` includes refused requests; a span is of HTTP statuses, both ends included. */
export type StatusFilter = "ok" | "failed" | "refused" | "running" | { readonly from: number; readonly to: number };

type Condition = RawBuilder<unknown>;

export function isTextFilter({ text }: RequestFilter): boolean {
  return text !== undefined;
}

/**
 * The conditions of a filter, beside its time. `found` are those that one index finds in the order of time, which are
 * the most selective ones; `others` are looked at row by row.
 */
export function toConditions(
  table: LogTable,
  filter: RequestFilter,
): { found: readonly Condition[]; others: readonly Condition[] } {
  const { accountId, keyId, session, tag, status } = filter;
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  const owned = (owner: "account" | "key", id: string | undefined) =>
    id === undefined ? [] : [isOf(table, owner, id)];
  const [account, key] = [owned("account", accountId), owned("key", keyId)];
  const ofSession = session === undefined ? [] : [sql`session is not null`, ...equals("session", session)];
  // Unlike a session, a tag is often that of many accounts.
  const tagged = tag === undefined ? [] : [sql`tag is not null`, ...equals("tag", tag), ...account];
  const failed = table === "calls" && isFailure(status) ? [sql`error_no is not null`, ...account] : [];
  const indexed = table === "calls" ? [ofSession, tagged, failed, account] : [account];
  const best = indexed.find((conditions) => conditions.length > 0) ?? [];
  const others = [
    // Each condition once: a page that needs no others is read without a search.
    ...[ofSession, tagged, failed, key, account].flat().filter((condition) => !best.includes(condition)),
    ...equals("model", filter.model),
    ...equals("protocol", filter.protocol),
    ...equals("plugin", filter.plugin),
    ...equals("error_code", filter.errorCode),
    ...(filter.durationMsMin === undefined ? [] : [sql`duration_ms >= ${filter.durationMsMin}`]),
    ...(filter.costNanodollarsMin === undefined ? [] : [sql`cost_nanodollars >= ${filter.costNanodollarsMin}`]),
    ...toStatus(status),
    ...toText(table, filter.text),
  ];
  return { found: best, others };
}

function isFailure(status: StatusFilter | undefined): boolean {
  return status === "failed" || (typeof status === "object" && status.from >= 400);
}

function toStatus(status: StatusFilter | undefined): Condition[] {
  if (status === "ok") return [sql`status < 400`];
  if (typeof status === "object") return [sql`status between ${status.from} and ${status.to}`];
  return [];
}

function toText(table: LogTable, text: string | undefined): Condition[] {
  if (text === undefined) return [];
  const pattern = `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const columns = ["id", "client_request_id"].filter((column) => hasColumn(table, column));
  return [
    sql`(${sql.join(
      columns.map((column) => sql`${sql.ref(column)} like ${pattern} escape '\\'`),
      sql` or `,
    )})`,
  ];
}
