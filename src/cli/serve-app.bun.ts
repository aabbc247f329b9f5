import { type App, type AppOptions, createApp } from "../app.ts";
import {
  type Config,
  type ConfigRow,
  describeConfig,
  getCatalogueFolder,
  getPluginFolders,
  getPluginStateFile,
  getStoreOptions,
  makeHome,
  toListenError,
} from "../config/index.ts";
import { openSite } from "../dashboard/open-site.bun.ts";
import { openStore, type Store } from "../db/index.ts";
import { giveDemoCredit, takeDemoCredit } from "../ledger/index.ts";
import { toTerminalText } from "../lib/terminal-text.ts";
import { type Observability, openObservability } from "../observability/index.ts";
import { createLog, type OpenLog, prettyLine } from "../observability/log.ts";
import { createRedactor } from "../observability/redact.ts";
import { type PluginSnapshot, removeStateFile, writeStateFile } from "../providers/index.ts";
import { bootstrap, ownerEmail } from "./bootstrap.ts";
import type { CliContext } from "./command.ts";
import { drain } from "./drain.bun.ts";
import { getSelfCommand, watchParent, watchSignals } from "./lib/process.bun.ts";
import { serveWorkers } from "./serve-workers.bun.ts";
import { formatStartupBanner } from "./startup-banner.ts";

/** The server reads no larger body; the limits of the endpoints are lower and have clear errors. */
const requestBytesMax = 64 * 1024 * 1024;
/** How long the last log lines may take to be written. */
const flushMsMax = 1000;
const exitMs = 1000;
/** How often the state of the providers is written for commands of the same home. */
const stateMs = 5000;

type ServeOptions = Pick<AppOptions, "plugins" | "manifests" | "createSandbox"> & Pick<CliContext, "version">;

/** Starts the gateway, prints the startup banner, and resolves when a signal has ended it. */
export async function serveApp(config: Config, { version, ...parts }: ServeOptions): Promise<void> {
  makeHome(config);
  if (config.workers > 1 && config.worker === 0) return await serveOnWorkers(config);
  makeDropFolders(config);
  const stateFile = getPluginStateFile(config);
  const storedSecrets = new Set<string>();
  const log = openLog(config, storedSecrets);
  const store = await openStore({
    ...getStoreOptions(config),
    report: (event, fields) => log.warn(event, fields),
  });
  try {
    lockStore(store, config);
    const onSandbox = watchSandbox(store, log);
    let running: App | undefined;
    let snapshot: PluginSnapshot | undefined;
    let settings: readonly ConfigRow[] = [];
    let isStateWritten = true;
    const writeState = () => {
      if (config.worker > 1 || snapshot === undefined) return;
      const { states: plugins, warnings } = snapshot;
      const policies = [...snapshot.policies.keys()];
      const providers = running?.describeProviders();
      const sandboxModels = running?.listSandboxModels();
      try {
        const served = { plugins, warnings, providers, sandboxModels, policies };
        writeStateFile(stateFile, { pid: process.pid, settings, ...served });
        isStateWritten = true;
      } catch (error) {
        // A full disk, or too many open files. Only commands on this home read it.
        if (isStateWritten) log.warn("state_file_not_written", { error });
        isStateWritten = false;
      }
    };
    const onPluginsChanged = (changed: PluginSnapshot) => {
      if (config.worker > 1) return;
      snapshot = changed;
      settings = describeConfig(config, changed.plugins);
      writeState();
      onSandbox(changed.sandbox);
    };
    const observability = await openObservability(config, { log, version });
    const app = await createApp({
      ...parts,
      storedSecrets,
      version: version.version,
      site: openSite(),
      config,
      store,
      log,
      onPluginsChanged,
      observability,
      sendLog: (sink) => log.sendTo(sink),
      verifyLedger: verifyLedgerApart,
      collectGarbage: () => Bun.gc(false),
    });
    running = app;
    const stateTimer = setInterval(writeState, stateMs);
    let restMs = 0;
    try {
      restMs = await listenUntilSignal(app, { store, config, log, observability });
    } finally {
      clearInterval(stateTimer);
      await app.close(restMs);
      await observability?.close();
      if (config.worker <= 1) removeStateFile(stateFile);
    }
  } finally {
    await store.close();
    await closeLog(log);
  }
}

/** Verifies the ledger in a process of its own, since it reads all of an embedded store. Returns the differences. */
async function verifyLedgerApart(): Promise<string[]> {
  const command = getSelfCommand(["ledger", "verify", "--json"]);
  const child = Bun.spawn(command, { env: process.env, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const { differences } = (await new Response(child.stdout).json()) as { differences: string[] };
  return differences;
}

/** Serves by several processes. This one has no database, and so no secrets of one. */
async function serveOnWorkers(config: Config): Promise<void> {
  const log = openLog(config, new Set());
  try {
    await serveWorkers(config, { env: process.env, log });
  } finally {
    await log.close(flushMsMax);
  }
}

function openLog({ logLevel, logFormat, given: variables }: Config, storedSecrets: ReadonlySet<string>): OpenLog {
  const { stderr } = process;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && stderr.isTTY);
  const isColored = stderr.isTTY && !variables.has("NO_COLOR");
  // Standard error buffers without limit; waiting for each write to finish bounds the buffer.
  const write = (text: string) => new Promise<void>((resolve) => stderr.write(text, () => resolve()));
  const redact = createRedactor(process.env, storedSecrets);
  return createLog(logLevel, write, isPretty ? { format: prettyLine(isColored), redact } : { redact });
}

/** Lines that nobody reads, and an exporter that goes on asking its collector, would keep the process alive forever. */
async function closeLog(log: OpenLog): Promise<void> {
  await log.close(flushMsMax);
  setTimeout(() => process.exit(), exitMs).unref();
}

/** Only one gateway may serve from an embedded store. */
function lockStore(store: Store, { home }: Config): void {
  if (store.lockForServing === undefined || store.lockForServing()) return;
  throw new Error(`Cannot serve from ${home}: another gateway does; stop it, or set MODELGATE_HOME to another folder`);
}

/** Creates the folders for drop-in plugins and catalogue files. */
function makeDropFolders(config: Config): void {
  const own = getPluginFolders(config).filter(({ required }) => !required);
  makeHome(config, ...[...own, getCatalogueFolder(config)].map(({ path }) => path));
}

/** When the first provider ends the sandbox, its demo credit goes. */
function watchSandbox(store: Store, log: OpenLog): (isSandbox: boolean) => void {
  return (isSandbox) => {
    if (isSandbox) return;
    takeDemoCredit(store, Date.now).catch((error) => log.error("demo_credit_not_taken", { error }));
  };
}

interface ServerOptions {
  readonly store: Store;
  readonly config: Config;
  readonly log: OpenLog;
  readonly observability: Observability | undefined;
}

/** The start leaves 40 MB of garbage, which would stay until there is load; collecting it takes 30 ms. */
const startGarbageMs = 1000;

/**
 * Time after the start when slow first uses are prepared. The rush of the start is over then, and a short-lived process
 * skips it.
 */
const prepareMs = 30_000;

/** Returns how much of the time for the drain is left, in milliseconds. */
async function listenUntilSignal(app: App, { store, config, log, observability }: ServerOptions): Promise<number> {
  const metricsPort = observability?.listen();
  const port = listen(app, config);
  let preparing: ReturnType<typeof setTimeout> | undefined;
  const signals = config.worker === 0 ? watchSignals(() => log.flush()) : watchParent();
  try {
    // After listening: a key created before a failed start would never be shown.
    if (config.worker <= 1) {
      const { bootstrapKey } = config;
      const created = await bootstrap(store, app.accounts, { bootstrapKey, now: Date.now() });
      const owner = created.key?.given === false && app.sandbox ? await app.accounts.find(ownerEmail) : undefined;
      if (owner !== undefined) await giveDemoCredit(store, owner.id, Date.now);
      process.stdout.write(toTerminalText(formatStartupBanner({ config, port, metricsPort, ...created, app })));
    }
    setTimeout(() => Bun.gc(true), startGarbageMs).unref();
    preparing = setTimeout(() => {
      app.prepare().catch((error) => log.warn("not_prepared", { error }));
    }, prepareMs);
    await signals.first;
    return await drain(app, config, log);
  } finally {
    clearTimeout(preparing);
    await app.http.server?.stop(true);
    signals.stop();
  }
}

function listen(app: App, config: Config): number {
  try {
    app.http.listen({
      hostname: config.host,
      port: config.port,
      // Elysia shares the port by default: a second gateway would start and silently receive half of the calls.
      reusePort: config.worker > 0,
      // The endpoints override it for running calls.
      idleTimeout: config.requestTimeoutSeconds,
      maxRequestBodySize: requestBytesMax,
    });
  } catch (error) {
    throw toListenError(error, config.host, config.port);
  }
  return app.http.server?.port ?? config.port;
}
