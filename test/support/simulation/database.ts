/**
 * The database of a history: a real PostgreSQL does what it is told, one statement after another, inside of one transaction that is
 * never committed. What a gateway commits is a savepoint, so that the database can go back to any earlier commit, as a failover or a
 * restore does, and a new history begins by a rollback. What a server says of itself (its clock, its log, whether it is a standby) is said by
 * functions of a schema before the others in the search path.
 *
 * Gateways speak the protocol of PostgreSQL with it through simulated sockets, by the bytes of their real client.
 */
import pg from "pg";
import type { Listener, Peer, SimulatedSocket } from "./socket.ts";
import type { World } from "./world.ts";

/** Schema whose functions come before those of PostgreSQL. */
const setUp = `
  create schema if not exists sim;
  create or replace function sim.pg_backend_pid() returns integer language sql as $$ select current_setting('sim.pid')::integer $$;
  create or replace function sim.pg_is_in_recovery() returns boolean language sql as $$ select current_setting('sim.standby')::boolean $$;
  create or replace function sim.pg_current_wal_flush_lsn() returns pg_lsn language plpgsql as $$ begin
    if sim.pg_is_in_recovery() then raise exception using errcode = '55000', message = 'recovery is in progress'; end if;
    return '0/0'::pg_lsn + current_setting('sim.position')::numeric;
  end $$;
  create or replace function sim.pg_walfile_name(at pg_lsn) returns text language sql as
    $$ select lpad(to_hex(current_setting('sim.timeline')::integer), 8, '0') || '0000000000000001' $$;
  create or replace function sim.pg_control_system(out system_identifier bigint) language sql as $$ select 7::bigint $$;
  create or replace function sim.to_regclass(name text) returns oid language sql as $$ select current_setting('sim.tables')::oid $$;
  create or replace function sim.clock_timestamp() returns timestamptz language sql as
    $$ select to_timestamp(current_setting('sim.now')::double precision / 1000) $$;
  create or replace function sim.current_schema() returns name language sql as $$ select 'public'::name $$;
  create or replace function sim.pg_notify(channel text, payload text) returns void language plpgsql as
    $$ begin raise notice 'sim % %', channel, payload; end $$;
  set search_path = sim, pg_catalog, public;
  set client_min_messages = notice;
`;

/** A copy gives numbers away again that it does not know to be taken; a rollback leaves a sequence where it is. */
const restartSequences = `select setval('names_id_seq', greatest(100, (select max(id) + 1 from names)), false),
  setval('call_rows_seq_seq', coalesce((select max(seq) + 1 from call_rows), 1), false)`;

const letters = { query: 0x51, parse: 0x50, bind: 0x42, describe: 0x44, close: 0x43, sync: 0x53, terminate: 0x58 };

/** SQLSTATE of what a standby does not do. */
const readOnlyState = "25006";

/** Writes of calls, by whose outcome a gateway knows whether it can record any. */
const callWrites = /record_calls|try_write|insert into payers|add_names/;
const writes = /record_calls|try_write|insert into|update |delete /;
/** What a commit of is worth going back behind; heartbeats go with their neighbours. */
const commits = /record_calls|insert into payers|add_names/;

/** A statement with all that belongs to it, up to where the client waits for the answer. */
interface Request {
  readonly messages: readonly Buffer[];
  readonly text: string;
  readonly isSimple: boolean;
}

/** How the servers behind the gateways' URL fare. */
export class Database implements Listener {
  readonly world: World;
  readonly #backend: Backend;
  readonly #sessions = new Set<Session>();
  readonly #waiting: (readonly [Session, Request])[] = [];
  /** The session whose transaction is open. */
  owner: Session | undefined;
  #pids = 100;
  /** Savepoints before each commit, the last one last. */
  readonly #commits: string[] = [];
  #position = 1000;
  #timeline = 1;
  #tables = 16_000;
  /** Until when it does not answer, accepts nobody, is read-only, refuses writes, or new connections come to a standby. */
  stalledUntilMs = 0;
  downUntilMs = 0;
  readOnlyUntilMs = 0;
  refusedUntilMs = 0;
  refusal = "53100";
  standbyUntilMs = 0;
  /** How far its clock is ahead. */
  clockMs = 0;
  /** Called with each outcome of a write of calls once its gateway knows it. */
  onOutcome: (session: Session, error: string | undefined) => void = () => undefined;
  /** Loses the next request or answer of a write of this host, and its connection with it. */
  readonly losses: { host: string; what: "request" | "answer" }[] = [];

  constructor(world: World, backend: Backend) {
    this.world = world;
    this.#backend = backend;
  }

  /** Begins with what was committed when the backend was opened. */
  async begin(): Promise<void> {
    await this.#backend.run(`begin; ${restartSequences}`);
  }

  async end(): Promise<void> {
    await this.#backend.run("rollback");
  }

  /** Reads what is written now. */
  query(text: string): Promise<Record<string, string | null>[]> {
    return this.#backend.rows(text);
  }

  accept(socket: SimulatedSocket): Peer | undefined {
    if (this.world.nowMs < this.downUntilMs) return undefined;
    this.#pids += 1;
    const session = new Session(this, socket, this.#pids, this.world.nowMs < this.standbyUntilMs);
    this.#sessions.add(session);
    return session;
  }

  /** All connections break. */
  async cutAll(): Promise<void> {
    for (const session of [...this.#sessions]) await this.forget(session, true);
  }

  /** The connections of a host break at this end; those of one that vanished after the keepalives. */
  async cut(isMeant: (session: Session) => boolean): Promise<void> {
    for (const session of [...this.#sessions]) if (isMeant(session)) await this.forget(session, true);
  }

  /**
   * The database is an older state of itself: without its last commits.
   *
   * @param kind A failover promotes a copy and counts the timeline; a restore makes its tables anew. `demoted`: who was connected stays
   * connected to the old server, which is a standby now.
   */
  async goBack(count: number, kind: "failover" | "restore", connections: "cut" | "demoted" | "kept"): Promise<void> {
    if (this.owner !== undefined) this.owner.isAborted = true;
    await this.#abandon();
    const before = this.#commits.splice(Math.max(0, this.#commits.length - count))[0];
    if (before !== undefined) {
      await this.#backend.run(`rollback to savepoint ${before}; release savepoint ${before}; ${restartSequences}`);
    }
    if (kind === "failover") {
      this.#timeline += 1;
      this.#position -= count;
    } else this.#tables += 1;
    if (connections === "cut") await this.cutAll();
    else if (connections === "demoted") for (const session of this.#sessions) session.isStandby = true;
  }

  get commitCount(): number {
    return this.#commits.length;
  }

  /** Whether a gateway is connected to a standby. */
  get hasStandbySession(): boolean {
    return [...this.#sessions].some(({ isStandby }) => isStandby);
  }

  /** A request of a session, whose turn it is if no transaction is open. */
  async take(session: Session, request: Request): Promise<void> {
    if (session.isClosed) return;
    if (this.world.nowMs < this.stalledUntilMs) {
      this.world.at(this.stalledUntilMs, undefined, () => this.take(session, request));
      return;
    }
    if (this.owner !== undefined && this.owner !== session) {
      this.#waiting.push([session, request]);
      return;
    }
    await this.#serve(session, request);
    await this.#goOn();
  }

  /** A session has ended: what it left open is rolled back. */
  async forget(session: Session, tellsClient: boolean): Promise<void> {
    if (session.isClosed) return;
    session.isClosed = true;
    this.#sessions.delete(session);
    if (tellsClient) session.socket.fail();
    if (this.owner === session) await this.#abandon();
    await this.#goOn();
  }

  async #goOn(): Promise<void> {
    while (this.owner === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next[0].isClosed) await this.#serve(...next);
    }
  }

  async #abandon(): Promise<void> {
    if (this.owner === undefined) return;
    this.owner.hasFailed = false;
    this.owner = undefined;
    const name = this.#nextCommit;
    this.#backend.before(`rollback to savepoint ${name}; release savepoint ${name}`);
  }

  async #serve(session: Session, request: Request): Promise<void> {
    const { text } = request;
    const isWrite = callWrites.test(text);
    const loss = isWrite ? this.losses.findIndex(({ host }) => host === session.socket.process.host.name) : -1;
    const what = loss < 0 ? undefined : this.losses.splice(loss, 1)[0]?.what;
    if (what === "request") return this.forget(session, true);
    const answer = await this.#answer(session, request);
    if (session.isClosed) return;
    if (what === "answer") return this.forget(session, true);
    const { bytes, error, isLast } = answer;
    const tell = isWrite ? () => this.onOutcome(session, error) : undefined;
    session.socket.deliver(bytes, tell);
    if (isLast) await this.forget(session, true);
  }

  async #answer(session: Session, request: Request): Promise<Answer> {
    const { text } = request;
    if (session.isAborted) {
      session.isAborted = !/^(rollback|commit)/i.test(text);
      return session.isAborted ? failed("25P02", false, "E") : done(request, "ROLLBACK", "I");
    }
    const word = text.slice(0, 9).trimStart().toLowerCase();
    if (word.startsWith("begin") || word.startsWith("start tr")) {
      this.owner = session;
      session.hasFailed = false;
      // A transaction that has begun keeps its rights.
      session.isReadOnly = this.#isReadOnly(session);
      session.notices = [];
      this.#backend.before(`savepoint ${this.#nextCommit}`);
      return done(request, "BEGIN", "T");
    }
    if (word.startsWith("commit") || word.startsWith("rollback")) {
      const isKept = word.startsWith("commit") && !session.hasFailed;
      if (isKept && !session.isReadOnly) {
        this.owner = undefined;
        this.#commits.push(this.#nextCommit);
        this.#position += 1;
        this.#notify(session.notices);
      } else await this.#abandon();
      return done(request, isKept ? "COMMIT" : "ROLLBACK", "I");
    }
    if (word.startsWith("listen")) {
      if (session.isStandby) return failed(readOnlyState, false, "I");
      session.channel = /"(.*)"/.exec(text)?.[1] ?? "";
      return done(request, "LISTEN", "I");
    }
    if (text.includes("pg_terminate_backend")) {
      for (const other of [...this.#sessions]) {
        if (other !== session && other.name === session.name) await this.forget(other, true);
      }
    }
    const { nowMs } = this.world;
    if (nowMs < this.refusedUntilMs && writes.test(text)) {
      session.hasFailed = true;
      const isFatal = this.refusal.startsWith("57P");
      return failed(this.refusal, isFatal, this.owner === session ? "E" : "I");
    }
    const isReadOnly = this.owner === session ? session.isReadOnly : this.#isReadOnly(session);
    const facts = {
      pid: session.pid,
      now: Math.floor(nowMs) + this.clockMs + 1_767_225_600_000,
      standby: session.isStandby,
      position: this.#position,
      timeline: this.#timeline,
      tables: this.#tables,
    };
    const settings = Object.entries(facts).map(([name, value]) => `set local sim.${name} = '${value}'`);
    if (isReadOnly) settings.push("set local transaction_read_only = on");
    const isInTransaction = this.owner === session;
    const isCommit = !isInTransaction && commits.test(text);
    const savepoint = isCommit ? this.#nextCommit : "statement";
    if (!isInTransaction) settings.unshift(`savepoint ${savepoint}`);
    const { bytes, error, notices } = await this.#backend.forward(
      settings.join("; "),
      session.rename(request),
      isInTransaction ? "T" : "I",
    );
    if (isInTransaction) {
      if (error !== undefined) session.hasFailed = true;
      session.notices.push(...notices);
    } else if (error !== undefined || isReadOnly) {
      this.#backend.before(`rollback to savepoint ${savepoint}; release savepoint ${savepoint}`);
    } else {
      if (isCommit) this.#commits.push(savepoint);
      else this.#backend.before("release savepoint statement");
      this.#position += 1;
      this.#notify(notices);
    }
    return { bytes, error, isLast: false };
  }

  #isReadOnly({ isStandby }: Session): boolean {
    return isStandby || this.world.nowMs < this.readOnlyUntilMs;
  }

  /** The savepoint before the next commit. */
  get #nextCommit(): string {
    return `commit_${this.#commits.length}`;
  }

  #notify(notices: readonly string[]): void {
    for (const notice of notices) {
      const [, channel, ...words] = notice.split(" ");
      const payload = words.join(" ");
      for (const session of this.#sessions) {
        if (session.channel !== channel) continue;
        session.socket.deliver(message("A", int32(session.pid), text0(channel ?? ""), text0(payload)));
      }
    }
  }
}

interface Answer {
  readonly bytes: Buffer;
  /** SQLSTATE. */
  readonly error: string | undefined;
  /** The server closes the connection behind it. */
  readonly isLast: boolean;
}

/** One connection of a gateway, from the server's side. */
export class Session implements Peer {
  readonly #database: Database;
  readonly socket: SimulatedSocket;
  readonly pid: number;
  isStandby: boolean;
  isClosed = false;
  /** `application_name` */
  name = "";
  channel: string | undefined;
  /** A statement of its transaction has failed. */
  hasFailed = false;
  /** Its transaction was ended by the server, and it does not know yet. */
  isAborted = false;
  /** Its transaction may write nothing. */
  isReadOnly = false;
  notices: string[] = [];
  #unread: Buffer = Buffer.alloc(0);
  #isStarted = false;
  #messages: Buffer[] = [];
  /** Texts of prepared statements. */
  readonly #prepared = new Map<string, string>();

  constructor(database: Database, socket: SimulatedSocket, pid: number, isStandby: boolean) {
    this.#database = database;
    this.socket = socket;
    this.pid = pid;
    this.isStandby = isStandby;
  }

  async receive(bytes: Buffer): Promise<void> {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    if (!this.#isStarted) {
      const length = this.#unread.readInt32BE(0);
      const words = this.#unread.subarray(8, length).toString().split("\0");
      this.name = words[words.indexOf("application_name") + 1] ?? "";
      this.#unread = this.#unread.subarray(length);
      this.#isStarted = true;
      this.socket.deliver(greeting(this.pid));
    }
    while (this.#unread.length >= 5) {
      const length = this.#unread.readInt32BE(1) + 1;
      if (this.#unread.length < length) return;
      const next = this.#unread.subarray(0, length);
      this.#unread = this.#unread.subarray(length);
      const [letter] = next;
      if (letter === letters.terminate) return this.#database.forget(this, false);
      this.#messages.push(next);
      if (letter !== letters.sync && letter !== letters.query) continue;
      const messages = this.#messages;
      this.#messages = [];
      await this.#database.take(this, { messages, text: this.#textOf(messages), isSimple: letter === letters.query });
    }
  }

  closed(): Promise<void> {
    return this.#database.forget(this, false);
  }

  #textOf(messages: readonly Buffer[]): string {
    let text = "";
    for (const each of messages) {
      const [letter] = each;
      if (letter === letters.query) return read0(each, 5)[0];
      if (letter === letters.parse) {
        const [name, at] = read0(each, 5);
        [text] = read0(each, at);
        this.#prepared.set(name, text);
      } else if (letter === letters.bind) {
        const [, at] = read0(each, 5);
        text = this.#prepared.get(read0(each, at)[0]) ?? text;
      }
    }
    return text;
  }

  /** The request with the names that the backend has for the statements of all sessions. */
  rename({ messages }: Request): { messages: Buffer[]; parsed: readonly string[] } {
    const renamed: Buffer[] = [];
    const parsed: string[] = [];
    for (const each of messages) {
      const [letter] = each;
      if (letter === letters.parse) {
        const [name, at] = read0(each, 5);
        if (name === "") renamed.push(each);
        else {
          parsed.push(read0(each, at)[0]);
          renamed.push(message("P", text0(nameOf(read0(each, at)[0])), each.subarray(at)));
        }
      } else if (letter === letters.bind) {
        const [portal, at] = read0(each, 5);
        const [name, rest] = read0(each, at);
        const own = name === "" ? "" : nameOf(this.#prepared.get(name) ?? "");
        renamed.push(message("B", text0(portal), text0(own), each.subarray(rest)));
      } else renamed.push(each);
    }
    return { messages: renamed, parsed };
  }
}

const names = new Map<string, string>();

/** Name of a prepared statement of the backend, which serves all sessions. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return name;
}

/** The one connection to the real PostgreSQL. */
export class Backend {
  readonly #socket: import("node:net").Socket;
  readonly #prepared = new Set<string>();
  /** What is to be run before anything else; it goes with the next statement, because each round trip counts. */
  #first = "";
  #unread: Buffer = Buffer.alloc(0);
  #messages: Buffer[] = [];
  #readies = 0;
  #done: (() => void) | undefined;

  private constructor(client: pg.Client) {
    this.#socket = client.connection.stream as unknown as import("node:net").Socket;
  }

  static async open(url: string): Promise<Backend> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(setUp);
    const backend = new Backend(client);
    // From here on its bytes are read here.
    backend.#socket.removeAllListeners("data");
    backend.#socket.on("data", (bytes: Buffer) => backend.#read(bytes));
    return backend;
  }

  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.destroy();
  }

  before(text: string): void {
    this.#first += `${text}; `;
  }

  #takeFirst(): string {
    const first = this.#first;
    this.#first = "";
    return first;
  }

  /** @throws {Error} When PostgreSQL refuses it, which is an error of the simulation. */
  async run(text: string): Promise<Buffer[]> {
    const answer = await this.#exchange([message("Q", text0(this.#takeFirst() + text))], 1);
    const error = answer.find((each) => each[0] === 0x45);
    if (error !== undefined) throw new Error(`${text}: ${fieldsOf(error).M}`);
    return answer;
  }

  async rows(text: string): Promise<Record<string, string | null>[]> {
    let columns: string[] = [];
    const rows: Record<string, string | null>[] = [];
    for (const each of await this.run(text)) {
      if (each[0] === 0x54) columns = columnsOf(each);
      if (each[0] !== 0x44) continue;
      const row: Record<string, string | null> = {};
      let at = 7;
      for (const column of columns) {
        const length = each.readInt32BE(at);
        row[column] = length < 0 ? null : each.subarray(at + 4, at + 4 + length).toString();
        at += 4 + Math.max(0, length);
      }
      rows.push(row);
    }
    return rows;
  }

  /** Runs settings, and then what a session has sent. */
  async forward(
    settings: string,
    { messages, parsed }: { messages: readonly Buffer[]; parsed: readonly string[] },
    state: "I" | "T",
  ): Promise<{ bytes: Buffer; error: string | undefined; notices: string[] }> {
    const isParsed = parsed.length > 0 && parsed.every((text) => this.#prepared.has(text));
    const sent = isParsed ? messages.filter(([letter]) => letter !== letters.parse) : messages;
    const answer = await this.#exchange([message("Q", text0(this.#takeFirst() + settings)), ...sent], 2);
    const first = answer.findIndex((each) => each[0] === 0x5a);
    const isBroken = answer.slice(0, first).find((each) => each[0] === 0x45);
    if (isBroken !== undefined && fieldsOf(isBroken).C !== "25P02")
      throw new Error(`${settings}: ${fieldsOf(isBroken).M}`);
    const own = answer.slice(first + 1);
    const notices: string[] = [];
    const passed: Buffer[] = isParsed ? [message("1")] : [];
    let error: string | undefined;
    for (const each of own) {
      if (each[0] === 0x4e) {
        const { M } = fieldsOf(each);
        if (M?.startsWith("sim ")) notices.push(M);
        continue;
      }
      if (each[0] === 0x45) error = fieldsOf(each).C;
      passed.push(
        each[0] === 0x5a ? message("Z", Buffer.from(error === undefined || state === "I" ? state : "E")) : each,
      );
    }
    const wasParsed = own.some((each) => each[0] === 0x31);
    if (wasParsed) for (const text of parsed) this.#prepared.add(text);
    return { bytes: Buffer.concat(passed), error, notices };
  }

  async #exchange(messages: readonly Buffer[], readies: number): Promise<Buffer[]> {
    if (this.#done !== undefined) throw new Error("The backend does one thing at a time");
    this.#messages = [];
    this.#readies = readies;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#done = resolve;
    this.#socket.write(Buffer.concat(messages));
    await promise;
    this.#done = undefined;
    return this.#messages;
  }

  #read(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= 5) {
      const length = this.#unread.readInt32BE(1) + 1;
      if (this.#unread.length < length) return;
      this.#messages.push(this.#unread.subarray(0, length));
      if (this.#unread[0] === 0x5a) this.#readies -= 1;
      this.#unread = this.#unread.subarray(length);
    }
    if (this.#readies === 0) this.#done?.();
  }
}

function read0(bytes: Buffer, from: number): [text: string, next: number] {
  const end = bytes.indexOf(0, from);
  return [bytes.subarray(from, end).toString(), end + 1];
}

function text0(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function message(letter: string, ...parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  return Buffer.concat([Buffer.from(letter), int32(length), ...parts]);
}

function fieldsOf(error: Buffer): Record<string, string> {
  const fields: Record<string, string> = {};
  let at = 5;
  while (error[at] !== 0) {
    const [text, next] = read0(error, at + 1);
    fields[String.fromCharCode(error[at] as number)] = text;
    at = next;
  }
  return fields;
}

function columnsOf(description: Buffer): string[] {
  const columns: string[] = [];
  let at = 7;
  for (let left = description.readInt16BE(5); left > 0; left -= 1) {
    const [name, next] = read0(description, at);
    columns.push(name);
    at = next + 18;
  }
  return columns;
}

function greeting(pid: number): Buffer {
  const status = Object.entries({ server_version: "15.0", client_encoding: "UTF8", DateStyle: "ISO, MDY" });
  return Buffer.concat([
    message("R", int32(0)),
    ...status.map(([name, value]) => message("S", text0(name), text0(value))),
    message("K", int32(pid), int32(1)),
    message("Z", Buffer.from("I")),
  ]);
}

/** What comes before the outcome of a statement that was prepared. */
function preamble({ isSimple }: Request): Buffer {
  return isSimple ? Buffer.alloc(0) : Buffer.concat([message("1"), message("2"), message("n")]);
}

function done(request: Request, tag: string, state: string): Answer {
  const bytes = Buffer.concat([preamble(request), message("C", text0(tag)), message("Z", Buffer.from(state))]);
  return { bytes, error: undefined, isLast: false };
}

function failed(code: string, isFatal: boolean, state: string): Answer {
  const severity = isFatal ? "FATAL" : "ERROR";
  const fields = Object.entries({ S: severity, V: severity, C: code, M: `simulated ${code}` });
  const error = message(
    "E",
    ...fields.map(([field, value]) => Buffer.concat([Buffer.from(field), text0(value)])),
    Buffer.alloc(1),
  );
  const bytes = isFatal ? error : Buffer.concat([error, message("Z", Buffer.from(state))]);
  return { bytes, error: code, isLast: isFatal };
}
