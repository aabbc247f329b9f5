import { type CallColumn, callColumns, namesIn, openColumns, toCallKey, toStored } from "../call-columns.ts";
import { isMissingLease, isMissingName, isMissingPayer } from "../errors.ts";
import type { EndedCall, ExtendedHold, HoldDecision, LedgerWrite, OpenCall, RefusedHold } from "../ledger-records.ts";
import { type NameNumbers, PostgresNames } from "../names.ts";
import { PostgresPayers } from "../payers.ts";
import type { Lease } from "./lease.ts";
import type { OrderedConnection } from "./ordered-connection.ts";
import { toDrawRow } from "./readers.ts";

/** Deadlock (40P01) and serialization failure (40001): nothing was written, and a retry helps. */
const transient = /^40/;

/**
 * Names, the lease and payers: a batch may find these missing, one after the other, in a database reset to an older
 * state.
 */
const repairsMax = 3;

/** A decision about a hold. */
interface DecisionRow extends Pick<RefusedHold, "there" | "day"> {
  id: string;
  refused: RefusedHold["refused"] | null;
  held: number;
  /** The hold of the call if it is not refused. */
  hold: number;
  /** The most that it could have been. */
  available: number;
  /** The place of the scarcest of the call's budgets, from 1 on; null without one. */
  place: number | null;
}

/**
 * Writes batches of holds and ends over one connection. It learns the numbers of names, and which payers have rows,
 * over that connection and forgets them with it.
 */
export class LedgerWriter {
  readonly #connection: OrderedConnection;
  readonly #nodeId: string;
  readonly #lease: Lease;
  readonly #names = new PostgresNames();
  readonly #payers = new PostgresPayers();
  /** Generation of the connection that learned the names and payers. */
  #generation = 0;

  constructor(connection: OrderedConnection, nodeId: string, lease: Lease) {
    this.#connection = connection;
    this.#nodeId = nodeId;
    this.#lease = lease;
  }

  /**
   * Writes a batch in one round trip and one transaction; returns the decisions about its holds. The statements are the
   * functions of `migrations/0001-ledger-functions.postgres.sql`.
   */
  async write(batch: readonly LedgerWrite[]): Promise<ReadonlyMap<OpenCall, HoldDecision> | undefined> {
    for (let repairs = 0; ; repairs += 1) {
      try {
        return await this.#write(batch);
      } catch (error) {
        if (repairs === repairsMax || !(await this.#repair(error))) throw error;
      }
    }
  }

  /**
   * Repairs the cause of a refusal, after which nothing was written: the database may have lost rows although the
   * connection is alive. Returns whether to write again.
   */
  async #repair(error: unknown): Promise<boolean> {
    if (isMissingLease(error)) await this.#renewLease();
    else if (!isMissingPayer(error) && !isMissingName(error)) return false;
    this.forget();
    return true;
  }

  async tryWrite(): Promise<void> {
    await this.#connection.query({ name: "try_write", text: "select try_write()" });
  }

  /** Holds are taken under the next lease. */
  async #renewLease(): Promise<void> {
    const { text, values } = this.#lease.heartbeat;
    const { rows } = await this.#connection.query<{ lease: number }>({
      name: "renew_lease",
      text,
      values: [...values],
    });
    this.#lease.note((rows[0] as { lease: number }).lease);
  }

  /** The database is another one, or an older state of itself. */
  forget(): void {
    this.#names.forget();
    this.#payers.forget();
  }

  async #write(batch: readonly LedgerWrite[]) {
    const { ends, opened, extended, undecided, late } = sort(batch);
    const connection = this.#connection.pin();
    if (connection.generation !== this.#generation) {
      this.forget();
      this.#generation = connection.generation;
    }
    const names = () => namesOf(this.#nodeId, batch);
    if (!this.#names.has(names())) await this.#names.learn(connection, names());
    const payers = this.#payers.findUnknown(batch);
    if (payers !== undefined) await this.#payers.admit(connection, payers);
    const [toHold, toEnd] = [
      (write: HoldWrite) => holdRow(write, this.#names),
      (end: EndedCall) => ({
        ...toRow(callColumns, end, this.#names),
        id: jsonKey(end.open.callId),
        unmade: end.unmade,
      }),
    ];
    const holds = [opened, extended, undecided].map((writes) => toJson(writes, toHold));
    const rows = [toJson(ends, toEnd), ...holds, toJson(late, toEnd)];
    const { last } = this.#names;
    const statement = {
      name: "record_calls",
      text: "select record_calls($1, $2, $3, $4, $5, $6, $7, $8, $9) as decisions",
      values: [last.id, last.proof, this.#names.of(this.#nodeId), this.#lease.number, ...rows],
    };
    const send = () => connection.query<{ decisions: DecisionRow[] | null }>(statement);
    const answer = await send().catch((error) => {
      if (!transient.test(String((error as { code?: unknown }).code))) throw error;
      return send();
    });
    const decisions = answer.rows[0]?.decisions;
    if (decisions === null || decisions === undefined) return undefined;
    const byId = new Map(decisions.map((row) => [row.id, row]));
    return new Map(undecided.map(toOpen).map((open) => [open, toDecision(open, byId.get(jsonKey(open.callId)))]));
  }
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

function toDecision({ callId, premium, guard }: OpenCall, row: DecisionRow | undefined): HoldDecision {
  if (row === undefined) throw new Error(`PostgreSQL did not decide about the hold of call ${callId}`);
  const { refused, there, held: openHolds, hold, available, day, place } = row;
  if (refused !== null) {
    return { refused, there, openHolds, day, draw: place === null ? undefined : guard?.draws[place - 1] };
  }
  return premium
    ? { quotaDay: null, holdNanodollars: hold, holdTokens: 0, available }
    : { quotaDay: day, holdNanodollars: 0, holdTokens: hold, available };
}

type HoldWrite = OpenCall | ExtendedHold;

function toOpen(write: HoldWrite): OpenCall {
  return write.kind === "open" ? write : write.open;
}

/** The writes of a batch, in order of execution. */
interface Sorted {
  /** Executed first, because ends free amounts that holds may need. */
  ends: EndedCall[];
  /** Holds that Redis has already decided; `extended` are the larger holds that replace earlier ones. */
  opened: OpenCall[];
  extended: ExtendedHold[];
  undecided: HoldWrite[];
  /** Ends of calls that begin in the same batch. */
  late: EndedCall[];
}

/** If a call ends more than once, the first end counts. */
function sort(batch: readonly LedgerWrite[]): Sorted {
  const holds = batch.filter((write) => write.kind !== "end");
  const begun = new Set(holds.flatMap((write) => (write.kind === "open" ? [write.callId] : [])));
  const ended = new Set<string>();
  const ends: EndedCall[] = [];
  const late: EndedCall[] = [];
  for (const write of batch) {
    if (write.kind !== "end" || ended.has(write.open.callId)) continue;
    ended.add(write.open.callId);
    (begun.has(write.open.callId) ? late : ends).push(write);
  }
  const undecided: HoldWrite[] = [];
  const opened: OpenCall[] = [];
  const extended: ExtendedHold[] = [];
  for (const write of holds) {
    if (toOpen(write).guard !== undefined) undecided.push(write);
    else if (write.kind === "open") opened.push(write);
    else extended.push(write);
  }
  return { ends, opened, extended, undecided, late };
}

function toJson<Write>(writes: readonly Write[], toRow: (write: Write) => unknown): string | null {
  return writes.length === 0 ? null : JSON.stringify(writes.map(toRow));
}

/** Includes the fields of the hold's guard, and the names that budgets count it by. */
function holdRow(write: HoldWrite, names: NameNumbers) {
  const open = toOpen(write);
  const { guard } = open;
  return {
    ...toRow(openColumns, open, names),
    id: jsonKey(open.callId),
    ...(write.kind === "extend" && { is_extension: true }),
    ...(guard !== undefined && {
      account_name: open.accountId,
      quota_limit: guard.quotaLimit,
      ...(guard.isBilledAfterwards && { is_afterwards: true }),
      ...(guard.draws.length > 0 && {
        draws: guard.draws.map(toDrawRow),
        draw_limits: guard.draws.map(({ limitNanodollars }) => limitNanodollars),
      }),
      min_hold: guard.minHold,
    }),
  };
}

/** Nulls are left out of the JSON: a function takes an absent field for one. */
function toRow<Of>(columns: Readonly<Record<string, CallColumn<Of>>>, record: Of, names: NameNumbers) {
  const row: Record<string, unknown> = {};
  for (const name in columns) {
    const { type, read } = columns[name] as CallColumn<Of>;
    const value = read(record);
    if (value !== null) row[name] = typeof value === "string" ? toStored(type, value, names) : value;
  }
  return row;
}
