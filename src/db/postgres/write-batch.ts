import pg from "pg";
import { type CallColumn, callColumns, namesIn, openColumns } from "../call-columns.ts";
import { toCallKey } from "../call-key.ts";
import type { EndedCall, HoldDecision, LedgerWrite, OpenCall } from "../ledger-write.ts";
import type { NameNumbers, PostgresNames } from "../names.ts";
import type { OrderedConnection } from "./ordered-connection.ts";

/** Deadlock (40P01) and serialization failure (40001): nothing was written, and a retry helps. */
const transient = /^40/;

/** A decision about a hold. */
interface DecisionRow {
  id: string;
  refused: "balance" | "budget" | "account_budget" | "quota" | null;
  /** The balance of the wallet, or what is spent of the budget or used of the quota. */
  there: number;
  /** What running calls hold of it. */
  held: number;
  /** What the call may hold if it is not refused. */
  hold: number;
  day: number | null;
  period_start: number | null;
}

/** Where a batch is written, and as which node. */
export interface BatchTarget {
  readonly connection: OrderedConnection;
  readonly names: PostgresNames;
  readonly nodeId: string;
}

/** Writes a batch in one round trip and one transaction; returns the decisions about its holds. */
export async function writeBatch(
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
  const [toOpen, toEnd] = [
    (open: OpenCall) => openRow(open, names),
    (end: EndedCall) => ({ ...toRow(callColumns, end, names), id: jsonKey(end.open.callId), unmade: end.unmade }),
  ];
  const rows = [toJson(ends, toEnd), toJson(decided, toOpen), toJson(undecided, toOpen), toJson(late, toEnd)];
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
  return new Map(undecided.map((open) => [open, toDecision(open, byId.get(jsonKey(open.callId)))]));
}

function* namesOf(nodeId: string, batch: readonly LedgerWrite[]): Generator<string> {
  yield nodeId;
  for (const write of batch) {
    if (write.kind === "end") yield* namesIn(callColumns, write);
    else yield* namesIn(openColumns, write.kind === "open" ? write : write.open);
  }
}

/** The id of a call as PostgreSQL reads and writes bytes in JSON. */
function jsonKey(callId: string): string {
  return `\\x${toCallKey(callId).toString("hex")}`;
}

function toDecision({ callId, premium, guard }: OpenCall, row: DecisionRow | undefined): HoldDecision {
  if (row === undefined) throw new Error(`PostgreSQL did not decide about the hold of call ${callId}`);
  const { refused, there, held, hold } = row;
  const [day, periodStart] = [row.day as number, row.period_start as number];
  const quotaLimit = (guard as NonNullable<typeof guard>).quotaLimit;
  if (refused === "balance") return { refused, balanceNanodollars: there, heldNanodollars: held };
  if (refused === "budget") return { refused, spentNanodollars: there, heldNanodollars: held, periodStart };
  if (refused === "account_budget") return { refused, spentNanodollars: there, heldNanodollars: held };
  if (refused === "quota") return { refused, usedTokens: there, heldTokens: held, day };
  return premium
    ? { quotaDay: null, periodStart: row.period_start, holdNanodollars: hold, holdTokens: 0, available: there - held }
    : { quotaDay: day, periodStart: null, holdNanodollars: 0, holdTokens: hold, available: quotaLimit - there - held };
}

/** The writes of a batch, in the order in which they are executed. */
interface Sorted {
  /** First, because they free what the holds may need. */
  ends: EndedCall[];
  /** Holds that Redis has already decided. */
  decided: OpenCall[];
  undecided: OpenCall[];
  /** Ends of calls that begin in the same batch. */
  late: EndedCall[];
}

/** If a call ends more than once, the first end counts. */
function sort(batch: readonly LedgerWrite[]): Sorted {
  const opens = batch.filter((write) => write.kind === "open");
  const opened = new Set(opens.map((open) => open.callId));
  const ended = new Set<string>();
  const ends: EndedCall[] = [];
  const late: EndedCall[] = [];
  for (const write of batch) {
    if (write.kind !== "end" || ended.has(write.open.callId)) continue;
    ended.add(write.open.callId);
    (opened.has(write.open.callId) ? late : ends).push(write);
  }
  const isUndecided = ({ guard }: OpenCall) => guard !== undefined;
  return { ends, decided: opens.filter((open) => !isUndecided(open)), undecided: opens.filter(isUndecided), late };
}

function toJson<Write>(writes: readonly Write[], toRow: (write: Write) => unknown): string | null {
  return writes.length === 0 ? null : JSON.stringify(writes.map(toRow));
}

/** With what the guard of the hold says, and the names of what it counts. */
function openRow(open: OpenCall, names: NameNumbers) {
  const { guard } = open;
  return {
    ...toRow(openColumns, open, names),
    id: jsonKey(open.callId),
    ...(guard !== undefined && {
      account_name: open.accountId,
      key_name: open.keyId,
      quota_limit: guard.quotaLimit,
      budget_limit: guard.budgetLimit,
      account_limit: guard.accountLimit,
      account_from: guard.accountFrom,
      min_hold: guard.minHold,
    }),
  };
}

/** What is null is left out of the JSON: a function takes it for that. */
function toRow<Of>(columns: Readonly<Record<string, CallColumn<Of>>>, record: Of, names: NameNumbers) {
  const row: Record<string, unknown> = {};
  for (const column in columns) {
    const { type, read } = columns[column] as CallColumn<Of>;
    const value = read(record);
    if (value !== null) row[column] = type === "name" ? names.of(value as string) : value;
  }
  return row;
}

/**
 * Raises the hold of an open call, by the rules of `decide_holds`. The lock of the account and the decision are two
 * statements of one message, which is one transaction, because a statement sees only what was committed before it began.
 * Such a message takes no parameters. A hold that a crash of the server has lost is taken anew.
 */
export async function extendHold(target: BatchTarget, open: OpenCall): Promise<HoldDecision> {
  const { connection } = target;
  if (open.guard === undefined) return writeHold(connection, open);
  const lock = `select pg_advisory_xact_lock(hashtextextended(${text(open.accountId)}, 0))`;
  const answers: unknown = await connection.query({
    text: `${lock}; ${open.premium ? ofWallet(open) : ofQuota(open)}`,
  });
  const [, decided] = answers as [unknown, { rows: DecisionRow[] }];
  if (decided.rows[0] !== undefined) return toDecision(open, decided.rows[0]);
  const decisions = await writeBatch(target, [open]);
  return decisions?.get(open) as HoldDecision;
}

/** Writes a hold that Redis has decided. */
async function writeHold(connection: OrderedConnection, open: OpenCall): Promise<HoldDecision> {
  const { callId, quotaDay, periodStart, holdNanodollars, holdTokens } = open;
  await connection.query({
    name: "write_hold",
    text: "update open_call_rows set hold_tokens = $2, quota_day = $3 where id = $1",
    values: [toCallKey(callId), holdTokens, quotaDay],
  });
  return { quotaDay, periodStart, holdNanodollars, holdTokens, available: holdTokens };
}

function ofWallet(open: OpenCall): string {
  const { callId, periodStart: requested, holdNanodollars, guard } = open;
  const period = {
    held: "period_start",
    table: "key_budget_usage",
    column: "period_start",
    asked: requested,
    condition: "and key_id = given.key_id",
    heldBy: "and key_id = given.key_no",
  };
  const account =
    guard?.accountLimit === undefined ? undefined : { limit: guard.accountLimit, from: guard.accountFrom };
  const ofAccount =
    account === undefined
      ? "null::bigint"
      : `coalesce((select sum(charged_nanodollars) from daily_charge_rows
          where account_id = given.account_no and daily_charge_rows.day >= ${account.from}), 0)`;
  const figures = `select given.id_bytes as id, null::bigint as day, paying.period_start, spent, reserved, held, ${ofAccount} as of_account,
      coalesce((select balance_nanodollars from wallet_rows where account_id = given.account_no), 0) as there
    from given,
    lateral (${sumOfOthers("hold_nanodollars", callId)}) as others,
    lateral (${latest(period)}) as paying,
    lateral (select coalesce(sum(spent_nanodollars), 0) as spent from key_budget_usage
      where account_id = given.account_id and key_id = given.key_id and key_budget_usage.period_start = paying.period_start) as paid,
    lateral (select coalesce(sum(hold_nanodollars), 0) as reserved from open_call_rows where account_id = given.account_no
      and id <> given.id_bytes and key_id = given.key_no and open_call_rows.period_start = paying.period_start) as running`;
  const left = {
    available: "there - held",
    budget: `${guard?.budgetLimit ?? "null::bigint"} - spent - reserved`,
    account: `${account?.limit ?? "null::bigint"} - of_account - held`,
  };
  return decide(open, { figures, left, column: "hold_nanodollars", wanted: holdNanodollars });
}

function ofQuota(open: OpenCall): string {
  const { callId, quotaDay: requested, holdTokens, guard } = open;
  const day = { held: "quota_day", table: "daily_quota_usage", column: "day", asked: requested };
  const figures = `select given.id_bytes as id, day, null::bigint as period_start, null::bigint as spent, null::bigint as reserved, held,
      null::bigint as of_account,
      coalesce((select used_tokens from daily_quota_usage as used
        where used.account_id = given.account_id and used.day = paying.day), 0) as there
    from given,
    lateral (${latest(day)}) as paying,
    lateral (${sumOfOthers("hold_tokens", callId)} and quota_day = paying.day) as others`;
  const left = { available: `${guard?.quotaLimit} - there - held`, budget: "null::bigint", account: "null::bigint" };
  return decide(open, { figures, left, column: "hold_tokens", wanted: holdTokens });
}

interface Parts {
  figures: string;
  left: { available: string; budget: string; account: string };
  column: string;
  wanted: number;
}

function decide({ callId, guard, premium }: OpenCall, { figures, left, column, wanted }: Parts): string {
  const reason = premium
    ? `case when (budget <= 0 or budget < available) and (account is null or budget <= account) then 'budget'
        when account <= 0 or account < available then 'account_budget' else 'balance' end`
    : "'quota'";
  // least() ignores nulls: without a budget the wallet alone decides. What costs nothing is admitted also where nothing is left.
  const isFree = premium && wanted === 0;
  const hold = isFree ? "0::bigint" : `least(available, budget, account, ${wanted})`;
  const isRefused = isFree ? "false" : `least(available, budget, account) <= 0 or ${hold} < ${guard?.minHold}`;
  return `with given as (select * from open_calls where id_bytes = ${bytes(callId)}),
    figures as (${figures}),
    amounts as (select *, ${left.available} as available, ${left.budget} as budget,
      ${left.account} as account from figures),
    decided as (select *, ${hold} as hold, case when ${isRefused} then ${reason} end as refused from amounts),
    extended as (update open_call_rows set ${column} = hold, quota_day = decided.day, period_start = decided.period_start
      from decided where open_call_rows.id = decided.id and refused is null)
    select id, refused, hold, day, period_start, case refused when 'budget' then spent when 'account_budget' then of_account else there end as there,
      case refused when 'budget' then reserved else held end as held from decided`;
}

const sumOfOthers = (column: string, callId: string) =>
  `select coalesce(sum(${column}), 0) as held from open_call_rows
    where account_id = given.account_no and id <> ${bytes(callId)}`;

interface Period {
  /** Column of calls. */
  held: string;
  table: string;
  column: string;
  asked: number | null;
  condition?: string;
  /** The same in the rows of open calls. */
  heldBy?: string;
}

/** The day or period that pays: never one before another that was drawn from. Null where nothing is asked. */
function latest({ held, table, column, asked: requested, condition = "", heldBy = "" }: Period): string {
  if (requested === null) return `select null::bigint as ${column}`;
  return `select greatest(${requested}::bigint,
    (select max(${column}) from ${table} where account_id = given.account_id ${condition}),
    (select max(${held}) from open_call_rows where account_id = given.account_no ${heldBy})) as ${column}`;
}

const text = (value: string) => pg.escapeLiteral(value);
const bytes = (callId: string) => `'\\x${toCallKey(callId).toString("hex")}'::bytea`;
