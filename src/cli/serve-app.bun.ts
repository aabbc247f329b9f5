import { type App, type AppOptions, createApp } from "../app.ts";
import { type Config, catalogueFolder, makeHome, pluginFolders, pluginStateFileOf, storeOf } from "../config/config.ts";
import { portTaken } from "../config/port-taken.ts";
import { openSite } from "../dashboard/open-site.bun.ts";
import { openStore, type Store } from "../db/index.ts";
import { type Observability, openObservability } from "../observability/index.ts";
import { createLog, type OpenLog, prettyLine } from "../observability/log.ts";
import { createRedactor } from "../observability/redact.ts";
import { type PluginSnapshot, removeStateFile, writeStateFile } from "../plugin-loader/index.ts";
import { buildVersion } from "./build-version.ts";
import { drain } from "./drain.bun.ts";
import { firstAdmin } from "./first-admin.ts";
import { firstKey } from "./first-key.ts";
import { serveWorkers } from "./serve-workers.bun.ts";
import { type ShutdownSignals, watchParent, watchSignals } from "./signals.ts";
import { startupBanner } from "./startup-banner.ts";

/** The largest body the server reads at all; each endpoint has a smaller bound with a clear error. */
const requestBytesMax = 64 * 1024 * 1024;
/** How long the last log lines may wait to be taken. */
const lastLinesMsMax = 1000;
const exitMs = 100;

type Parts = Pick<AppOptions, "plugins" | "sandboxOf" | "version">;

/** Starts the gateway, says how to use it, and resolves when a signal has ended it. */
export async function serveApp(config: Config, parts: Parts): Promise<void> {
  makeHome(config);
  if (config.workers > 1 && config.worker === 0) return await serveWorkers(config, process.env);
  makeDropFolders(config);
  const stateFile = pluginStateFileOf(config);
  const log = openLog(config);
  const store = await openStore(storeOf(config));
  try {
    refuseSecond(store, config);
    const onPluginsChanged = ({ states }: PluginSnapshot) => {
      if (config.worker <= 1) writeStateFile(stateFile, { pid: process.pid, plugins: states });
    };
    const watch = await openObservability(config, { log, version: buildVersion });
    const app = await createApp({ ...parts, site: openSite(), config, store, log, onPluginsChanged, watch });
    try {
      await listenUntilSignal(app, { store, config, log, watch });
    } finally {
      await app.close();
      await watch?.close();
      if (config.worker <= 1) removeStateFile(stateFile);
    }
  } finally {
    await store.close();
    await endLog(log);
  }
}

function openLog({ logLevel, logFormat, given }: Config): OpenLog {
  const { stderr } = process;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && stderr.isTTY);
  const isColoured = stderr.isTTY && !given.has("NO_COLOR");
  // Standard error takes text at once and keeps it; only its word that the text is gone bounds what it keeps.
  const write = (text: string) => new Promise<void>((resolve) => stderr.write(text, () => resolve()));
  const redact = createRedactor(process.env);
  return createLog(logLevel, write, isPretty ? { format: prettyLine(isColoured), redact } : { redact });
}

/** Lines that nobody takes would keep the process alive for ever. */
async function endLog(log: OpenLog): Promise<void> {
  if (!(await log.close(lastLinesMsMax))) setTimeout(() => process.exit(), exitMs).unref();
}

/** An embedded store serves one gateway alone. */
function refuseSecond(store: Store, { home }: Config): void {
  if (store.admission === undefined || store.admission()) return;
  throw new Error(`Cannot serve from ${home}: another gateway does; stop it, or set MODELGATE_HOME to another folder`);
}

/** Makes the folders that files are dropped into. */
function makeDropFolders(config: Config): void {
  const keyLimits = pluginFolders(config).filter(({ required }) => !required);
  makeHome(config, ...[...keyLimits, catalogueFolder(config)].map(({ path }) => path));
}

/** What a server stands on beside its app. */
interface ServerParts {
  readonly store: Store;
  readonly config: Config;
  readonly log: OpenLog;
  readonly watch: Observability | undefined;
}

/** Of what was needed to start 40 MB are garbage, which nothing would collect before there is load. Takes 30 ms. */
const startGarbageMs = 1000;

async function listenUntilSignal(app: App, { store, config, log, watch }: ServerParts): Promise<void> {
  const metricsPort = watch?.listen();
  const port = listen(app, config);
  // From here on: who serves ends in order.
  const signals: ShutdownSignals = config.worker === 0 ? watchSignals(() => log.flush()) : watchParent();
  try {
    // Only now: a first key that is made and never shown, because the port was taken, would be lost.
    if (config.worker <= 1) {
      const key = await firstKey(store, app.accounts, config.bootstrapKey);
      const admin = await firstAdmin(store, app.accounts, Date.now());
      process.stdout.write(startupBanner({ config, port, metricsPort, key, admin, app }));
    }
    setTimeout(() => Bun.gc(true), startGarbageMs).unref();
    await signals.first;
    await drain(app, config, log);
  } finally {
    await app.http.server?.stop(true);
    signals.stop();
  }
}

function listen(app: App, config: Config): number {
  try {
    app.http.listen({
      hostname: config.host,
      port: config.port,
      // Elysia shares the port by default: a second gateway would start, and take half of the calls unseen.
      reusePort: config.worker > 0,
      // Of calls at work, the endpoints say otherwise.
      idleTimeout: config.bodySeconds,
      maxRequestBodySize: requestBytesMax,
    });
  } catch (error) {
    throw portTaken(error, config.host, config.port);
  }
  return app.http.server?.port ?? config.port;
}
