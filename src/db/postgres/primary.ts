import pg, { type ClientConfig } from "pg";
import { parsePostgresUrl } from "../../contract/index.ts";
import { NotWritableError } from "../errors.ts";
import { type MissingPartsRow, missingPartsText } from "./schema-parts.ts";

/** SQLSTATE of a statement that writes on a server that takes no writes: `read_only_sql_transaction`. */
const readOnlyState = "25006";
/**
 * SQLSTATEs that mean that a server cannot serve any statement: it takes no writes, shuts down or starts (57P), is out
 * of disk, memory or connections (53), or has lost the connection (08).
 */
const endsConnection = /^(25006|57P|53|08)/;

/** Whether a connection is useless after this error of a statement. */
export function isEndOfConnection(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && endsConnection.test(error.code);
}

const undefinedTable = "42P01";

/** SQLSTATE of a server without a free connection: `too_many_connections`. */
const outOfConnections = "53300";

/** Whether no connection was free, on any of the servers that were tried. */
export function isOutOfConnections(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isOutOfConnections);
  return error instanceof pg.DatabaseError && error.code === outOfConnections;
}

/**
 * Facts that distinguish databases, by their names. The system identifier stays for the life of a cluster and of its
 * copies, the timeline counts promotions and restores, and the oids differ in a database that was created again. Facts
 * that the user may not read are absent.
 */
type Identity = ReadonlyMap<string, string | number>;

interface StateRow {
  pid: number;
  in_recovery: boolean;
  read_only: boolean;
  database_oid: number;
  tables_oid: number | null;
}

/** Columns that a statement reads for {@link Primary.observe}. */
export interface ObservedRow {
  readonly tables_oid: number | null;
  readonly position: number | null;
}

interface PositionRow {
  segment: string;
  position: number;
}

/** The end of the log that is on the disk of the server, where a crash leaves it. */
const position = "(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint";
const positionText = `select pg_walfile_name(pg_current_wal_flush_lsn()) as segment, ${position} as position`;
const systemText = "select system_identifier::text as system from pg_control_system()";
const tablesOid = "to_regclass('call_rows')::oid";
/**
 * A vanished peer is detected within half a minute instead of two hours, and the locks of its session are released: by
 * keepalives on an idle connection, and a time limit on unacknowledged data.
 */
const keepalives = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
};
/**
 * Settings of each session. Compiling a query takes longer than running it. While a backup is being restored and an index is
 * missing, the estimated cost of a query is so high that PostgreSQL would compile it for seconds.
 */
const sessionSettings = { ...keepalives, jit: "off" };
const settingsText = Object.entries(sessionSettings)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(", ");
const stateText = `select pg_backend_pid() as pid, ${settingsText}, pg_is_in_recovery() as in_recovery, current_setting('transaction_read_only') = 'on' as read_only,
  (select oid from pg_database where datname = current_database()) as database_oid,
  ${tablesOid} as tables_oid`;

/** Called with the differences between the database and the previous one, one clause each. */
export type OnDatabaseChanged = (differences: readonly string[]) => void;

/**
 * The server that takes writes, among the servers that the URL names: which server it is, and which database it has.
 * Each new connection checks both ({@link Primary.prove}). Data read from a database is valid only while it is the same
 * database: a restored backup or a promoted standby may lack the last commits, and assigns their numbers again.
 */
export class Primary {
  readonly shownUrl: string;
  readonly #servers: readonly string[];
  readonly #onChanged: OnDatabaseChanged;
  /** The server that took writes last. */
  #current = 0;
  #identity: Identity = new Map();
  /** Last position in the log of the database; it only grows as long as the database is the same. */
  #position: number | undefined;
  /** The oid of the tables that were last seen whole. The start has checked the first ones. */
  #wholeOid: number | undefined;
  /** Statements that this user may not run. */
  readonly #denied = new Set<string>();
  /** Counts how often all connections had to be checked again. */
  epoch = 0;

  /** @throws {RangeError} For a URL that cannot be used. */
  constructor(url: string, onChanged: OnDatabaseChanged) {
    const { servers, shown } = parsePostgresUrl(url);
    this.#servers = servers;
    this.shownUrl = shown;
    this.#onChanged = onChanged;
  }

  /** The servers to try, the one that took writes last first. */
  candidates(): Server[] {
    return this.#servers.map((_, at) => {
      const index = (this.#current + at) % this.#servers.length;
      return { index, url: this.#servers[index] as string };
    });
  }

  /**
   * Asks a new connection whether its server takes writes, and which database it has.
   *
   * @returns The id of the process that serves the connection. Behind a pooler the client was given another id.
   * @throws {NotWritableError} When it takes none, or its database is not whole.
   */
  async prove(client: pg.Client, { index }: Server): Promise<number> {
    const before = this.#position;
    const { rows } = await client.query<StateRow>(stateText);
    const [state] = rows as [StateRow];
    if (state.in_recovery) throw new NotWritableError("standby");
    if (state.read_only) throw new NotWritableError("readOnly");
    await this.#expectWhole(client, state.tables_oid ?? undefined);
    const place = await this.#ask<PositionRow>(client, positionText);
    const system = await this.#ask<{ system: string }>(client, systemText);
    this.#current = index;
    const timeline = place && Number.parseInt(place.segment.slice(0, 8), 16);
    const facts = [
      ["system identifier", system?.system],
      ["timeline", timeline],
      ["oid of the database", state.database_oid],
      ["oid of its tables", state.tables_oid],
    ] as const;
    this.#compare(facts, { before, now: place?.position });
    return state.pid;
  }

  /** The columns that {@link Primary.observe} reads, for a statement that runs often. */
  get observed(): string {
    return `${tablesOid} as tables_oid, ${this.#denied.has(positionText) ? "null::bigint" : position} as position`;
  }

  /**
   * Begins a check whether the database is still the same; call the returned function with the row that a statement has
   * read.
   */
  observe(): (row: ObservedRow) => void {
    const before = this.#position;
    return ({ tables_oid, position: now }) =>
      this.#compare([["oid of its tables", tables_oid]], { before, now: now ?? undefined });
  }

  /** Notes that a server, which had proved to take writes, no longer does: no connection to it is of use. */
  refuse(error: unknown, epoch: number): boolean {
    if (!(error instanceof pg.DatabaseError) || error.code !== readOnlyState || epoch !== this.epoch) return false;
    this.epoch += 1;
    return true;
  }

  /**
   * New oids of the tables mean a restore. Until all constraints exist again, rows may be written twice, and such
   * duplicates would then prevent the constraints from being created.
   */
  async #expectWhole(client: pg.Client, tablesOid: number | undefined): Promise<void> {
    if (tablesOid === this.#wholeOid) return;
    if (this.#wholeOid !== undefined && !(await isWhole(client))) throw new NotWritableError("incomplete");
    this.#wholeOid = tablesOid;
  }

  #compare(
    facts: readonly (readonly [name: string, value: string | number | null | undefined])[],
    { before, now }: { before: number | undefined; now: number | undefined },
  ): void {
    const differences: string[] = [];
    const identity = new Map(this.#identity);
    for (const [name, value] of facts) {
      if (value === null || value === undefined) continue;
      const valueBefore = identity.get(name);
      const isOther = valueBefore !== undefined && valueBefore !== value;
      if (isOther) differences.push(`its ${name} is ${value}, it was ${valueBefore}`);
      identity.set(name, value);
    }
    if (differences.length === 0 && before !== undefined && now !== undefined && now < before) {
      differences.push(`its log ends at ${now}, it had come to ${before}`);
    }
    this.#identity = identity;
    if (now !== undefined) this.#position = now;
    if (differences.length === 0) return;
    this.epoch += 1;
    this.#onChanged(differences);
  }

  /** Undefined where the user may not ask this. */
  async #ask<Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row | undefined> {
    if (this.#denied.has(text)) return undefined;
    try {
      return (await client.query<Row>(text)).rows[0];
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || isEndOfConnection(error)) throw error;
      // It may have been demoted since the query: then the error is not about privileges.
      const { rows } = await client.query<{ in_recovery: boolean }>("select pg_is_in_recovery() as in_recovery");
      if (rows[0]?.in_recovery) throw new NotWritableError("standby");
      this.#denied.add(text);
      return undefined;
    }
  }
}

async function isWhole(client: pg.Client): Promise<boolean> {
  try {
    const { rows } = await client.query<MissingPartsRow>(missingPartsText);
    return rows[0]?.missing.length === 0;
  } catch (error) {
    // The table of versions is not there yet.
    if (error instanceof pg.DatabaseError && error.code === undefinedTable) return false;
    throw error;
  }
}

/** The reasons why none of the servers can be used, as one. */
export function mergeErrors(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0];
  return new AggregateError(errors, errors.map((error) => (error as Error).message).join("; "));
}

/** One of the servers that a URL names. */
export interface Server {
  readonly index: number;
  readonly url: string;
}

const int8 = 20;
const numeric = 1700;

/** pg returns 64-bit numbers as text. All of ours fit in 2^53, so a number above that is an error. */
function readWhole(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`Cannot read ${text} from the database: expected a whole number within 2^53`);
}

const getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === int8 || oid === numeric
    ? readWhole
    : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser;

/** How every connection of a store is made; `name` is shown to the database's operator. */
export function connectionOptions({ url }: Server, name: string): ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    types: { getTypeParser },
    keepAlive: true,
    keepAliveInitialDelayMillis: keepalives.tcp_keepalives_idle * 1000,
  };
}
