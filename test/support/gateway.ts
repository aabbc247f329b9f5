import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { binaryVariable } from "./binary.ts";
import { freePort } from "./free-port.ts";
import { runOptimization } from "./late-optimization.ts";
import { expectNoSecret } from "./leaks.ts";
import { prepareOnce } from "./prepare-once.ts";
import { runFolder } from "./run-folder.ts";

const projectRoot = join(import.meta.dir, "../..");

/** How long a start and an orderly end may take before the test fails with what the gateway said. */
const startMsMax = 60_000;
const stopMsMax = 60_000;

/** The key every started gateway knows, made by `MODELGATE_BOOTSTRAP_KEY`. */
const bootstrapKey = "sk-mg-e2etest1-0123456789abcdef0123456789abcdef";

export interface GatewayOptions {
  /** Variables beside `PATH` and those set here; nothing else of this process's environment gets through. */
  env?: Record<string, string>;
  /**
   * A home folder, which is then left in place at the end; absent: a new one, removed at the end. In a run that one is a copy of
   * a home that a first start has made, so a test of a first start, or of gateways that share no secret, gives an empty one.
   */
  home?: string | undefined;
  /** Whether the wallet of its key's account is filled as by {@link fillWallet}; default false. */
  isFunded?: boolean | undefined;
  /**
   * Whether the owner has a session and a password of their own, where the home is a copy; default false. `gateway.ownerSession`
   * says whether it is so.
   */
  isOwnerSignedIn?: boolean | undefined;
  /** Whether it need not be ready, only serve; default false. */
  isUnready?: boolean | undefined;
  /**
   * Whether its engine has the settings that it has with a user, because the test measures its CPU time or looks at them;
   * default false.
   */
  isEngineOwn?: boolean | undefined;
}

/** What a command said. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** A gateway in a process of its own, as a user runs it. */
export interface Gateway {
  /** Such as `http://127.0.0.1:40000`. */
  origin: string;
  /** What an SDK is given: the origin with `/api/v1`. */
  baseUrl: string;
  key: string;
  home: string;
  /** Id of the process, for tests that end it in other ways than `stop`. */
  pid: number;
  /** Its exit code, once it has ended. */
  ended: Promise<number>;
  /** All that was printed so far. */
  stdout(): string;
  stderr(): string;
  /** What the first start on its home printed, with the owner's password. */
  firstStdout(): string;
  /** The cookie of a session of the owner, such as `session=…`, whose password is {@link ownerPassword}; see `isOwnerSignedIn`. */
  ownerSession: string | undefined;
  /** Asks a path below the base URL with the gateway's key; a header given as "" is left out. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** POSTs JSON with the key. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Runs a command on the same home, and says how it ended. */
  run(...args: string[]): Promise<CliResult>;
  /**
   * Does with `--json` what a command does, and reads its one value. Commands that read and write rows alone run in this process,
   * which takes a tenth of what a process of their own does. @throws When it fails, with what it said.
   */
  cli<T = unknown>(...args: string[]): Promise<T>;
  /** Ends the process in an orderly way and removes a home made here. Returns its exit code. */
  stop(): Promise<number>;
}

/** The command line of the gateway: from source, or the binary that `MODELGATE_BINARY` names. */
export function commandLine(): string[] {
  const binary = process.env[binaryVariable];
  return binary ? [binary] : [process.execPath, join(projectRoot, "src/main.ts")];
}

/** Starts a gateway on a free loopback port and waits until it is ready. Limits are set wide unless `env` says otherwise. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { env = {}, home, isUnready = false, isEngineOwn = false } = options;
  const prepared = home === undefined ? await prepareHome(options) : undefined;
  const start = async (port: string) => {
    if (prepared === undefined) return await startOnPort(port, env, { home, isUnready, isEngineOwn });
    const copy = newHome();
    cpSync(prepared.home, copy, { recursive: true });
    const { stdout: firstStdout, ownerSession } = prepared;
    return await startOnPort(port, env, { home: copy, isUnready, isEngineOwn, isOwn: true, firstStdout, ownerSession });
  };
  const gateway = await tryPorts(env.PORT, start);
  if (options.isFunded === true && prepared === undefined) await fillWallet(gateway);
  return gateway;
}

async function tryPorts(given: string | undefined, start: (port: string) => Promise<Gateway>): Promise<Gateway> {
  for (let triesLeft = 3; ; triesLeft--) {
    try {
      return await start(given ?? String(await freePort()));
    } catch (error) {
      // Somebody else listens there since it was found free.
      const isLost = given === undefined && (error as Error).message.includes("the port is in use; set PORT");
      if (!isLost || triesLeft === 1) throw error;
    }
  }
}

/** Settings that change what a first start writes into its home: a gateway with one of them makes its own. */
const firstStartSettings = ["MODELGATE_HOME", "MODELGATE_BOOTSTRAP_KEY", "DATABASE_URL", "SECRETS_KEY"];

/**
 * Makes the home that gateways of a run begin with, once, by a first start; its schema and the hash of the owner's password
 * are a quarter of what a start takes. `undefined`: this gateway makes its own, or the file runs by itself.
 */
async function prepareHome({
  env = {},
  isFunded = false,
  isOwnerSignedIn = false,
}: GatewayOptions): Promise<PreparedHome | undefined> {
  if (runFolder === undefined || firstStartSettings.some((name) => name in env)) return undefined;
  const empty = await prepareOnce(
    "first-start",
    async (folder) => {
      mkdirSync(homeOf(folder), { recursive: true, mode: 0o700 });
      const first = await tryPorts(undefined, (port) => startOnPort(port, {}, { home: homeOf(folder) }));
      await first.stop();
      await Bun.write(join(folder, "stdout"), first.stdout());
      return undefined;
    },
    runFolder,
  );
  if (empty.folder === undefined) throw new Error(empty.missing);
  let prepared: PreparedHome = {
    home: homeOf(empty.folder),
    stdout: readFileSync(join(empty.folder, "stdout"), "utf8"),
  };
  if (isOwnerSignedIn) prepared = await prepareSignedIn(prepared, runFolder);
  return isFunded ? await prepareFunded(prepared, runFolder) : prepared;
}

const homeOf = (folder: string) => join(folder, "home");

/** A home that gateways of a run are given copies of. */
interface PreparedHome {
  readonly home: string;
  /** What its first start printed. */
  readonly stdout: string;
  readonly ownerSession?: string;
}

/** Signs its owner in and replaces the first password: three hashes, which are slow on purpose, and the first calls of a start. */
async function prepareSignedIn(from: PreparedHome, parent: string): Promise<PreparedHome> {
  const { folder, missing } = await prepareOnce(
    "first-start-signed-in",
    async (folder) => {
      const home = homeOf(folder);
      cpSync(from.home, home, { recursive: true });
      const start = (port: string) => startOnPort(port, {}, { home, firstStdout: from.stdout });
      const gateway = await tryPorts(undefined, start);
      await Bun.write(join(folder, "session"), await replaceFirstPassword(gateway));
      await gateway.stop();
      return undefined;
    },
    parent,
  );
  if (folder === undefined) throw new Error(missing);
  return { ...from, home: homeOf(folder), ownerSession: readFileSync(join(folder, "session"), "utf8") };
}

async function prepareFunded(from: PreparedHome, parent: string): Promise<PreparedHome> {
  const { folder, missing } = await prepareOnce(
    from.ownerSession === undefined ? "first-start-funded" : "first-start-signed-in-funded",
    async (folder) => {
      const home = homeOf(folder);
      cpSync(from.home, home, { recursive: true });
      const { code, stderr } = await runCommand(credit(fullUsd), {
        HOME: home,
        MODELGATE_HOME: home,
        ...runOptimization,
      });
      return code === 0 ? undefined : stderr;
    },
    parent,
  );
  if (folder === undefined) throw new Error(missing);
  return { ...from, home: homeOf(folder) };
}

/** The password that the owner chooses in place of the first one. */
export const ownerPassword = "correct horse battery";

/** The password that the first start printed. */
export function firstPassword({ firstStdout }: Pick<Gateway, "firstStdout">): string {
  const [, password] = /Sign in {2,}\S+ with (\S+)/.exec(firstStdout()) ?? [];
  if (password === undefined) throw new Error(`The start printed no password:\n${firstStdout()}`);
  return password;
}

/** Signs the owner in for the first time, by HTTP, and replaces the password. Returns the cookie of the session. */
export async function replaceFirstPassword(gateway: Pick<Gateway, "firstStdout" | "origin">): Promise<string> {
  const { origin } = gateway;
  const currentPassword = firstPassword(gateway);
  const post = async (path: string, body: object, cookie = "") => {
    const headers = { origin, "content-type": "application/json", cookie };
    const response = await fetch(`${origin}/api/auth/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} is answered with ${response.status}: ${await response.text()}`);
    return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  };
  const session = await post("sign-in/email", { email: ownerEmail, password: currentPassword });
  const replaced = await post("change-password", { currentPassword, newPassword: ownerPassword }, session);
  return replaced || session;
}

const newHome = () => mkdtempSync(join(tmpdir(), "modelgate-test-"));

interface Start {
  readonly home?: string | undefined;
  readonly isUnready?: boolean;
  readonly isEngineOwn?: boolean;
  /** Whether the home that is given was made for this gateway alone, and goes with it. */
  readonly isOwn?: boolean;
  /** What an earlier first start on the home printed. */
  readonly firstStdout?: string;
  readonly ownerSession?: string | undefined;
}

async function startOnPort(port: string, env: Record<string, string>, start: Start): Promise<Gateway> {
  const { home: given, isUnready = false, isEngineOwn = false, isOwn = given === undefined } = start;
  const home = given ?? newHome();
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    MODELGATE_HOME: home,
    HOST: "127.0.0.1",
    PORT: port,
    MODELGATE_BOOTSTRAP_KEY: bootstrapKey,
    REQUESTS_PER_MINUTE: "1000000",
    TOKENS_PER_MINUTE: "1000000000",
    FREE_TOKENS_PER_DAY: "1000000000",
    ...(!isEngineOwn && runOptimization),
    ...env,
  };
  const child = Bun.spawn([...commandLine(), "serve"], { cwd: home, env: environment, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = [keep(child.stdout), keep(child.stderr)];
  const origin = `http://127.0.0.1:${port}`;
  const said = () => `stdout:\n${stdout()}\nstderr:\n${stderr()}`;
  const baseUrl = `${origin}${environment.BASE_PATH ?? "/api/v1"}`;
  const run = (...args: string[]) => runCommand(args, { ...runOptimization, ...environment });
  const ask: Gateway["ask"] = (path, init = {}) => fetch(`${baseUrl}${path}`, { ...init, headers: headersOf(init) });

  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => {
      // No test waits for this long without a reason, so somebody should look.
      console.warn(`A gateway did not end within ${stopMsMax} ms, and was killed`);
      child.kill("SIGKILL");
    }, stopMsMax);
    const code = await child.exited;
    clearTimeout(timer);
    if (isOwn) rmSync(home, { recursive: true, force: true });
    expectNoSecret(environment, stdout() + stderr());
    return code;
  };
  try {
    await untilReady(origin, { exitCode: () => child.exitCode, stdout, isUnready });
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${said()}`);
  }
  return {
    origin,
    baseUrl,
    key: environment.MODELGATE_BOOTSTRAP_KEY ?? bootstrapKey,
    home,
    pid: child.pid,
    ended: child.exited,
    stdout,
    stderr,
    firstStdout: () => start.firstStdout ?? stdout(),
    ownerSession: start.ownerSession,
    ask,
    post: (path, body, headers = {}) =>
      ask(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    run,
    async cli<T>(...args: string[]) {
      const ofRows = rowCommands.has(args[0] as string);
      const {
        code,
        stdout: text,
        stderr: complaint,
      } = await (ofRows ? runHere([...args, "--json"], environment) : run(...args, "--json"));
      if (code !== 0) throw new Error(`modelgate ${args.join(" ")} ended with ${code}: ${complaint}${text}`);
      return JSON.parse(text) as T;
    },
    stop,
  };
}

/** The account that the bootstrap key belongs to. */
export const ownerEmail = "owner@localhost";

/** Credits the wallet of the bootstrap key's account. */
export async function fillWallet(gateway: Gateway, usd = fullUsd): Promise<void> {
  await gateway.cli(...credit(usd));
}

const fullUsd = "1000.00";
const credit = (usd: string) => ["wallet", "credit", "--account", ownerEmail, "--usd", usd, "--note", "test"];

/** First words of commands that know no files, no programs and no plugins. */
const rowCommands = new Set([
  "account",
  "admin-key",
  "budget",
  "key",
  "ledger",
  "node",
  "quota",
  "team",
  "voucher",
  "wallet",
]);

/** Runs a command as the program does, in this process. */
async function runHere(args: string[], env: Record<string, string>): Promise<CliResult> {
  const [{ runCli }, { builtIns, manifests, sandbox }] = await Promise.all([
    import("../../src/cli/index.ts"),
    import("../../plugins/index.ts"),
  ]);
  const result: CliResult = { code: -1, stdout: "", stderr: "" };
  result.code = await runCli(args, {
    env,
    stdout: (text) => {
      result.stdout += text;
    },
    stderr: (text) => {
      result.stderr += text;
    },
    loadBuiltIns: async () => ({ plugins: builtIns, manifests, createSandbox: sandbox }),
    serve: () => Promise.reject(new Error("A gateway is a process of its own")),
    version: { version },
  });
  expectNoSecret(env, result.stdout + result.stderr);
  return result;
}

async function runCommand(args: string[], env: Record<string, string>): Promise<CliResult> {
  const child = Bun.spawn([...commandLine(), ...args], {
    cwd: env.HOME as string,
    env,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expectNoSecret(env, stdout + stderr);
  return { code, stdout, stderr };
}

function headersOf(init: RequestInit): Headers {
  const headers = new Headers(init.headers);
  if (!headers.has("authorization")) headers.set("authorization", `Bearer ${bootstrapKey}`);
  if (headers.get("authorization") === "") headers.delete("authorization");
  return headers;
}

/** Reads a pipe to its end in the background, so that the child never waits for us. */
function keep(pipe: ReadableStream<Uint8Array>): () => string {
  let text = "";
  const decoder = new TextDecoder();
  void (async () => {
    for await (const piece of pipe) text += decoder.decode(piece, { stream: true });
  })();
  return () => text;
}

/** Ready is who says so itself: on a port that is taken already, another may answer. */
async function untilReady(
  origin: string,
  { exitCode, stdout, isUnready }: { exitCode(): number | null; stdout(): string; isUnready: boolean },
): Promise<void> {
  const deadline = Date.now() + startMsMax;
  while (Date.now() < deadline) {
    if (exitCode() !== null) throw new Error(`The gateway ended with ${exitCode()} at its start`);
    const ready = await fetch(`${origin}/readyz`).then(
      (response) => response.ok || isUnready,
      () => false,
    );
    if (ready && stdout().includes("modelgate is serving")) return;
    await Bun.sleep(20);
  }
  throw new Error(`The gateway was not ready after ${startMsMax} ms`);
}

/** A streamed call of the sandbox that runs for a minute, or until its caller leaves. Resolves when it is over. */
export function slowStream(gateway: Gateway, signal: AbortSignal): Promise<string | undefined> {
  const request = {
    model: "famA-4.1",
    stream: true,
    messages: [{ role: "user", content: "[[fault: pace=60000]] one two" }],
  };
  return gateway
    .ask("/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
      signal,
    })
    .then((response) => response.text())
    .catch(() => undefined);
}
