import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "./free-port.ts";
import { runFolder } from "./run-folder.ts";

/** A real PostgreSQL of this test run alone: its own data, a free port of the loopback, fsync on. */
export interface PostgresServer {
  readonly port: number;
  readonly pid: number;
  url(database: string): string;
  /** Stops every process of it where it stands, or lets all go on. */
  freeze(isFrozen: boolean): void;
  /** Lets no file grow beyond so many bytes, as a full disk would; `undefined` ends that. */
  limitFiles(bytes: number | undefined): Promise<void>;
  /** Ends it at once, as a crash would, and leaves its data. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

const debianFolder = "/usr/lib/postgresql";

function binariesFolder(): string | undefined {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(debianFolder, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

const bin = binariesFolder();
/** PostgreSQL refuses to run as root, so root runs it as its own user. */
const isRoot = userInfo().uid === 0;
const asUser = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
/** The server ends with this process, however that ends: a test run leaves no exit event. */
const asServer = [...asUser, "setpriv", "--pdeathsig", "QUIT"];

/** Why there is no PostgreSQL to test with; `undefined` when there is. */
export const whyNoPostgres: string | undefined =
  bin === undefined
    ? `PostgreSQL is not installed here (no ${debianFolder}/*/bin/initdb): apt-get install postgresql`
    : undefined;

/** After a crash it has every file of its data written through before it answers, which a slow disk takes its time for. */
const startMsMax = 60_000;

const pids = new Set<number>();
// However the run ends, no server outlives it.
process.on("exit", () => {
  for (const pid of pids) process.kill(pid, "SIGQUIT");
});

/** Starts a server of its own, for tests that end it or stop it. */
export function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  return startServer(settings, makeData);
}

/** Starts a standby of a server, which receives what that writes until {@link promote} makes it a server of its own. */
export function startStandby(of: PostgresServer): Promise<PostgresServer> {
  const from = ["-h", "127.0.0.1", "-p", String(of.port), "-U", "modelgate", "-R", "-X", "stream", "-c", "fast"];
  return startServer([], (data) => run([...asUser, join(bin as string, "pg_basebackup"), "-D", data, ...from]));
}

/** Lets a standby receive no more, as a lag of its replication would. */
export async function cutOff(standby: PostgresServer): Promise<void> {
  const url = standby.url("postgres");
  await queryPostgres(url, "alter system set primary_conninfo = ''");
  await queryPostgres(url, "select pg_reload_conf()");
  while ((await queryPostgres(url, "select pid from pg_stat_wal_receiver")).length > 0) await Bun.sleep(20);
}

/** Makes a standby the server that takes writes, unless it is. */
export async function promote(standby: PostgresServer): Promise<void> {
  await queryPostgres(standby.url("postgres"), "select pg_promote() where pg_is_in_recovery()");
}

/** Writes a backup of the database at this URL, as `pg_dump` makes it. */
export async function backUp(url: string, file: string): Promise<void> {
  await run([join(bin as string, "pg_dump"), "-Fc", "-f", file, url]);
}

/**
 * Restores a backup into the database at this URL, whose tables it drops first, while others use it: all at once, or step by step,
 * which goes on after an error. @throws When it had one.
 */
export async function restoreInPlace(url: string, file: string, isAtOnce = true): Promise<void> {
  const options = ["--clean", "--if-exists", "--no-owner", ...(isAtOnce ? ["--single-transaction"] : [])];
  await run([join(bin as string, "pg_restore"), ...options, "-d", url, file]);
}

/** Restores a backup into a new database, and puts that in the place of the one at this URL, from which all are cut off. */
export async function restore(url: string, file: string): Promise<void> {
  const { pathname } = new URL(url);
  const name = pathname.slice(1);
  const postgres = url.replace(pathname, "/postgres");
  // What an attempt left that did not come to its end.
  await queryPostgres(postgres, `drop database if exists ${name}_restored`);
  await queryPostgres(postgres, `create database ${name}_restored`);
  await run([join(bin as string, "pg_restore"), "-d", `${url}_restored`, file]);
  const isThere = await queryPostgres(postgres, `select from pg_database where datname = '${name}'`);
  if (isThere.length > 0) {
    await queryPostgres(postgres, `alter database ${name} allow_connections false`);
    await queryPostgres(
      postgres,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
    );
    await queryPostgres(postgres, `drop database ${name}`);
  }
  await queryPostgres(postgres, `alter database ${name}_restored rename to ${name}`);
}

async function startServer(
  settings: readonly string[],
  fill: (data: string) => Promise<void>,
): Promise<PostgresServer> {
  if (bin === undefined) throw new Error(whyNoPostgres);
  const folder = mkdtempSync(join(tmpdir(), "modelgate-postgres-"));
  if (isRoot) await run(["chown", "postgres", folder]);
  const data = join(folder, "data");
  const log = join(folder, "log");
  await fill(data);
  const port = await freePort();
  let child: Bun.Subprocess | undefined;
  const start = async () => {
    const options = [
      ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=600"],
      // In its folder: what a killed server has in /dev/shm would stay there.
      "dynamic_shared_memory_type=mmap",
      ...settings,
    ];
    child = Bun.spawn(
      [
        ...asServer,
        join(bin, "postgres"),
        "-D",
        data,
        "-p",
        String(port),
        ...options.flatMap((option) => ["-c", option]),
      ],
      { stdout: "ignore", stderr: Bun.file(log) },
    );
    child.unref();
    pids.add(child.pid);
    await untilAnswers(urlOf(port, "postgres"), child).catch((error: unknown) => {
      throw new Error(`PostgreSQL did not start:\n${readFileSync(log, "utf8")}`, { cause: error });
    });
  };
  const signal = (name: NodeJS.Signals) => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    for (const pid of [child.pid, ...childrenOf(child.pid)]) sendTo(pid, name);
  };
  const limitFiles = async (bytes: number | undefined) => {
    const limit = bytes === undefined ? "unlimited" : String(bytes);
    const master = (child as Bun.Subprocess).pid;
    // The master first: who is started from now on has the limit from it.
    await run([...asUser, "prlimit", "--pid", String(master), `--fsize=${limit}:unlimited`]);
    for (const pid of childrenOf(master)) {
      // One that has just ended needs none.
      await run([...asUser, "prlimit", "--pid", String(pid), `--fsize=${limit}:unlimited`]).catch(() => undefined);
    }
  };
  const end = async () => {
    if (child === undefined) return;
    if (child.exitCode === null && child.signalCode === null) {
      // The master stands first, so that it starts no more; then all at once: a backend does not notice for a while
      // that its parent is gone, and no server starts on data that one still uses.
      sendTo(child.pid, "SIGSTOP");
      const backends = childrenOf(child.pid);
      for (const pid of [child.pid, ...backends]) sendTo(pid, "SIGKILL");
      await child.exited;
      while (backends.some(isRunning)) await Bun.sleep(1);
    }
    pids.delete(child.pid);
  };
  await start();
  return {
    port,
    get pid() {
      return child?.pid as number;
    },
    url: (database) => urlOf(port, database),
    freeze: (isFrozen) => signal(isFrozen ? "SIGSTOP" : "SIGCONT"),
    limitFiles,
    kill: end,
    start,
    async remove() {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes the data of a new server: for the first of a run by `initdb`, for the others by copying what it made. */
async function makeData(data: string): Promise<void> {
  const pristine = runFolder && join(runFolder, "postgres");
  if (pristine !== undefined && existsSync(pristine)) return run(["cp", "-a", pristine, data]);
  const initdb = [join(bin as string, "initdb"), "-D", data, "-U", "modelgate", "-A", "trust", "-E", "UTF8"];
  await run([...asUser, ...initdb, "--no-sync", "--locale=C"]);
  if (pristine === undefined) return;
  const copy = `${pristine}-${process.pid}`;
  await run(["cp", "-a", data, copy]);
  try {
    renameSync(copy, pristine);
  } catch {
    // Another file of the run was quicker.
    rmSync(copy, { recursive: true, force: true });
  }
}

let shared: Promise<PostgresServer> | undefined;
let databases = 0;
const made = new Set<string>();

/**
 * Suites that know the store by its interface alone end no server, so nothing of theirs has to outlive one: a sync of each
 * commit is most of what they would wait for.
 */
const withoutSyncs = ["fsync=off", "full_page_writes=off"];

/** The server that the tests of the run share, for those that leave it as it is. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres(process.env.MODELGATE_TEST_STORE === "postgres" ? withoutSyncs : []);
  return shared;
}

/** The URL of a database that is not made yet. */
export function newUrl(server: PostgresServer): string {
  databases += 1;
  return server.url(`test_${databases}`);
}

/**
 * Makes the database of this URL, once: empty, or a copy of one that nobody is connected to. Returns whether it was not
 * there.
 */
export async function makeDatabase(url: string, template = "template1"): Promise<boolean> {
  if (made.has(url)) return false;
  made.add(url);
  const name = new URL(url).pathname.slice(1);
  // Copying files is quicker than writing the template into the log.
  await queryPostgres(
    url.replace(`/${name}`, "/postgres"),
    `create database ${name} template ${template} strategy file_copy`,
  );
  return true;
}

/** The URL of a new, empty database. */
export async function newDatabase(server?: PostgresServer): Promise<string> {
  const url = newUrl(server ?? (await sharedPostgres()));
  await makeDatabase(url);
  return url;
}

/** Runs one statement on a connection of its own. */
export async function queryPostgres<Row extends object = object>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** One that has just ended needs no signal. */
function sendTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

/** A backend is a process of its own, in a session of its own. */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** One that nobody has asked how it ended is still listed, as a zombie. */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

function urlOf(port: number, database: string): string {
  return `postgres://modelgate@127.0.0.1:${port}/${database}`;
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe" });
  const words = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${words}`);
}

async function untilAnswers(connectionString: string, server: Bun.Subprocess): Promise<void> {
  const deadline = Date.now() + startMsMax;
  while (true) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (server.exitCode !== null) throw new Error(`it ended with ${server.exitCode}`);
      if (Date.now() > deadline) throw error;
      await Bun.sleep(20);
    }
  }
}
