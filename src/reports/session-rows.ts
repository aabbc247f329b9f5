/**
 * The calls of one session in sums by agent. Sums over all sessions do not know agents: a client names as many as it likes. So the
 * calls are read, a part of the session at a time, and other work goes on in between.
 */
import { type RawBuilder, sql } from "kysely";
import { usageColumns } from "../contract/index.ts";
import { type Store, sumsOf, toPayerNumber } from "../db/index.ts";
import { pause } from "./pause.ts";

/** A session of an account, or with `keyId` the calls of one key in it. The same name in another account is another session. */
export interface SessionQuery {
  readonly accountId: string;
  readonly session: string;
  readonly keyId?: string | undefined;
}

/** Summed up under the same name as in `calls`. */
export const sessionSums = [
  ...usageColumns,
  "cost_nanodollars",
  "provider_cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
  "duration_ms",
  "cache_saved_nanodollars",
  "cache_lost_nanodollars",
] as const;

/** Calls of a part of the session that are alike. */
export interface SessionRow extends Record<(typeof sessionSums)[number], number> {
  readonly agent: string | null;
  readonly parent_agent: string | null;
  readonly key_id: string;
  readonly model: string;
  /** When they began, hours since 1970; 0 where hours are not told apart. */
  readonly hour: number;
  readonly calls: number;
  /** Calls with usage, and calls without. */
  readonly requests: number;
  readonly failures: number;
  /** Calls that ended with an error. */
  readonly errors: number;
  readonly first_at: number;
  readonly last_at: number;
}

/** Calls of an agent that run. */
export interface RunningRow {
  readonly agent: string | null;
  readonly parent_agent: string | null;
  readonly calls: number;
  readonly first_at: number;
}

/** Calls that are summed up at once: a hundredth of a second. */
const callsAtOnce = 5000;
/** Calls of a session that are read; the sums of a longer session are not complete. */
const callsMax = 200_000;
const hourMs = 3_600_000;

type ReadStore = Pick<Store, "db">;

/** The running calls. Read them before the ended calls: a call that ends in between is then not missed. */
export async function readRunningCalls({ db }: ReadStore, query: SessionQuery): Promise<readonly RunningRow[]> {
  const { rows } = await sql<RunningRow>`select agent, parent_agent, cast(count(*) as bigint) as calls,
      min(opened_at) as first_at
    from open_call_rows where ${ownedBy(query)} group by agent, parent_agent order by first_at`.execute(db);
  return rows;
}

/**
 * Reads the calls that have ended, the oldest part first, and in it the agent that came first.
 *
 * @returns Whether these are all calls of the session.
 */
export async function readSessionRows(
  { db }: ReadStore,
  query: SessionQuery,
  { byHour = false, take }: { byHour?: boolean; take: (row: SessionRow) => void },
): Promise<boolean> {
  const hour = byHour ? sql`opened_at / ${sql.lit(hourMs)}` : sql`0`;
  const sums = sql.raw(sumsOf(sessionSums));
  let after: Place | undefined;
  for (let read = 0; read < callsMax; read += callsAtOnce) {
    if (after !== undefined) await pause();
    const last: Place | undefined = await findPlace(db, query.session, after);
    const { rows } = await sql<SessionRow>`select alike.*, (select name from names where names.id = model_no) as model,
        (select id from payers where payers.no = key_no) as key_id
      from (select agent, parent_agent, key_id as key_no, model as model_no, ${hour} as hour,
          cast(count(*) as bigint) as calls, min(opened_at) as first_at, max(settled_at) as last_at,
          cast(sum(case when state = ${stateNo("settled")} then 1 else 0 end) as bigint) as requests,
          cast(sum(case when state = ${stateNo("released")} then 1 else 0 end) as bigint) as failures,
          cast(count(error_code) as bigint) as errors, ${sums}
        from call_rows where ${ownedBy(query)} ${behind(after)} ${upTo(last)}
        group by 1, 2, 3, 4, 5) as alike
      order by first_at, agent, parent_agent, model_no, key_no, hour`.execute(db);
    for (const row of rows) take(row);
    if (last === undefined) return true;
    after = last;
  }
  return false;
}

/** A place in the order of the calls of a session. */
interface Place {
  readonly at: number;
  readonly seq: number;
}

/** The last call of the next part; `undefined` where fewer are left. */
async function findPlace(db: Store["db"], session: string, after: Place | undefined): Promise<Place | undefined> {
  const { rows } = await sql<Place>`select opened_at as at, seq from call_rows
    where session is not null and session = ${session} ${behind(after)}
    order by opened_at, seq limit 1 offset ${sql.lit(callsAtOnce - 1)}`.execute(db);
  return rows[0];
}

function behind(place: Place | undefined): RawBuilder<unknown> {
  if (place === undefined) return sql``;
  const { at, seq } = place;
  return sql`and opened_at >= ${sql.lit(at)} and (opened_at > ${sql.lit(at)} or seq > ${sql.lit(seq)})`;
}

function upTo(place: Place | undefined): RawBuilder<unknown> {
  if (place === undefined) return sql``;
  const { at, seq } = place;
  return sql`and opened_at <= ${sql.lit(at)} and (opened_at < ${sql.lit(at)} or seq <= ${sql.lit(seq)})`;
}

function ownedBy({ accountId, session, keyId }: SessionQuery): RawBuilder<unknown> {
  const ofKey = keyId === undefined ? sql`` : sql`and key_id = ${toPayerNumber(keyId)}`;
  return sql`session is not null and session = ${session} and account_id = ${toPayerNumber(accountId)} ${ofKey}`;
}

function stateNo(state: "settled" | "released"): RawBuilder<unknown> {
  return sql`(select id from names where name = ${sql.lit(state)})`;
}
