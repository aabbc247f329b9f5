import { type CallColumn, callColumns, namesIn, openColumns, toCallKey } from "../call-columns.ts";
import type { EndedCall, ExtendedHold, HoldDecision, LedgerWrite, OpenCall, RefusedHold } from "../ledger-records.ts";
import type { NameNumbers, PostgresNames } from "../names.ts";
import type { OrderedConnection } from "./ordered-connection.ts";

/** Deadlock (40P01) and serialization failure (40001): nothing was written, and a retry helps. */
const transient = /^40/;

/** A decision about a hold. */
interface DecisionRow extends Pick<RefusedHold, "there" | "day"> {
  id: string;
  refused: RefusedHold["refused"] | null;
  held: number;
  /** The hold of the call if it is not refused. */
  hold: number;
  /** The most that it could have been. */
  available: number;
  period_start: number | null;
  /** The place of the scarcest of the call's budgets of subjects, from 1 on; null without one. */
  place: number | null;
}

/** Where a batch is written, and as which node. */
export interface BatchTarget {
  readonly connection: OrderedConnection;
  readonly names: PostgresNames;
  readonly nodeId: string;
}

/**
 * Writes a batch in one round trip and one transaction; returns the decisions about its holds. The statements are the
 * functions of `migrations/0001-ledger-functions.postgres.sql`.
 */
export async function writeLedger(
  target: BatchTarget,
  batch: readonly LedgerWrite[],
): Promise<ReadonlyMap<OpenCall, HoldDecision> | undefined> {
  try {
    return await write(target, batch);
  } catch (error) {
    target.names.forget();
    throw error;
  }
}

async function write({ connection, names, nodeId }: BatchTarget, batch: readonly LedgerWrite[]) {
  const { ends, decided, undecided, late } = sort(batch);
  await names.learn(namesOf(nodeId, batch));
  const [toHold, toEnd] = [
    (write: HoldWrite) => holdRow(write, names),
    (end: EndedCall) => ({ ...toRow(callColumns, end, names), id: jsonKey(end.open.callId), unmade: end.unmade }),
  ];
  const rows = [toJson(ends, toEnd), toJson(decided, toHold), toJson(undecided, toHold), toJson(late, toEnd)];
  const statement = {
    name: "record_calls",
    text: "select record_calls($1, $2, $3, $4, $5) as decisions",
    values: [names.of(nodeId), ...rows],
  };
  const answer = await connection.query<{ decisions: DecisionRow[] | null }>(statement).catch((error) => {
    if (!transient.test(String((error as { code?: unknown }).code))) throw error;
    return connection.query<{ decisions: DecisionRow[] | null }>(statement);
  });
  const decisions = answer.rows[0]?.decisions;
  if (decisions === null || decisions === undefined) return undefined;
  const byId = new Map(decisions.map((row) => [row.id, row]));
  return new Map(undecided.map(toOpen).map((open) => [open, toDecision(open, byId.get(jsonKey(open.callId)))]));
}

function* namesOf(nodeId: string, batch: readonly LedgerWrite[]): Generator<string> {
  yield nodeId;
  for (const write of batch) {
    if (write.kind === "end") yield* namesIn(callColumns, write);
    else yield* namesIn(openColumns, toOpen(write));
  }
}

/** The id of a call as PostgreSQL reads and writes bytes in JSON. */
function jsonKey(callId: string): string {
  return `\\x${toCallKey(callId).toString("hex")}`;
}

function toDecision({ callId, premium, draws }: OpenCall, row: DecisionRow | undefined): HoldDecision {
  if (row === undefined) throw new Error(`PostgreSQL did not decide about the hold of call ${callId}`);
  const { refused, there, held: openHolds, hold, available, day, period_start: periodStart, place } = row;
  if (refused !== null) {
    return { refused, there, openHolds, day, periodStart, draw: place === null ? undefined : draws?.[place - 1] };
  }
  return premium
    ? { quotaDay: null, periodStart, holdNanodollars: hold, holdTokens: 0, available }
    : { quotaDay: day, periodStart: null, holdNanodollars: 0, holdTokens: hold, available };
}

type HoldWrite = OpenCall | ExtendedHold;

function toOpen(write: HoldWrite): OpenCall {
  return write.kind === "open" ? write : write.open;
}

/** The writes of a batch, in the order in which they are executed. */
interface Sorted {
  /** First, because they free what the holds may need. */
  ends: EndedCall[];
  /** Holds that Redis has already decided. */
  decided: HoldWrite[];
  undecided: HoldWrite[];
  /** Ends of calls that begin in the same batch. */
  late: EndedCall[];
}

/** If a call ends more than once, the first end counts. */
function sort(batch: readonly LedgerWrite[]): Sorted {
  const holds = batch.filter((write) => write.kind !== "end");
  const opened = new Set(holds.flatMap((write) => (write.kind === "open" ? [write.callId] : [])));
  const ended = new Set<string>();
  const ends: EndedCall[] = [];
  const late: EndedCall[] = [];
  for (const write of batch) {
    if (write.kind !== "end" || ended.has(write.open.callId)) continue;
    ended.add(write.open.callId);
    (opened.has(write.open.callId) ? late : ends).push(write);
  }
  const isUndecided = (write: HoldWrite) => toOpen(write).guard !== undefined;
  return { ends, decided: holds.filter((write) => !isUndecided(write)), undecided: holds.filter(isUndecided), late };
}

function toJson<Write>(writes: readonly Write[], toRow: (write: Write) => unknown): string | null {
  return writes.length === 0 ? null : JSON.stringify(writes.map(toRow));
}

/** With what the guard of the hold says, and the names of what it counts. */
function holdRow(write: HoldWrite, names: NameNumbers) {
  const open = toOpen(write);
  const { guard } = open;
  return {
    ...toRow(openColumns, open, names),
    id: jsonKey(open.callId),
    ...(write.kind === "extend" && { is_extension: true }),
    ...(guard !== undefined && {
      account_name: open.accountId,
      key_name: open.keyId,
      quota_limit: guard.quotaLimit,
      budget_limit: guard.budgetLimit,
      account_limit: guard.accountLimit,
      account_from: guard.accountFrom,
      draw_limits: open.draws?.map(({ limitNanodollars }) => limitNanodollars),
      min_hold: guard.minHold,
    }),
  };
}

/** Nulls are left out of the JSON: a function takes an absent field for one. */
function toRow<Of>(columns: Readonly<Record<string, CallColumn<Of>>>, record: Of, names: NameNumbers) {
  const row: Record<string, unknown> = {};
  for (const column in columns) {
    const { type, read } = columns[column] as CallColumn<Of>;
    const value = read(record);
    if (value !== null) row[column] = type === "name" ? names.of(value as string) : value;
  }
  return row;
}
