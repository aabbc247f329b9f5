import { type App, createApp, type Ground } from "../app.ts";
import { type Config, catalogueFolder, makeHome, pluginFolders, pluginStateFileOf, storeOf } from "../config.ts";
import { openSite } from "../dashboard/open-site.bun.ts";
import { removeStateFile, type Shelf, writeStateFile } from "../loader/index.ts";
import { createLog, type OpenLog } from "../log.ts";
import { hiderOf } from "../secrets.ts";
import { openStore, type Store } from "../store/index.ts";
import { drain } from "./drain.bun.ts";
import { firstAdmin } from "./first-admin.ts";
import { firstKey } from "./first-key.ts";
import { portTaken } from "./port-taken.ts";
import { serveWorkers } from "./serve-workers.bun.ts";
import { type EndSignals, watchParent, watchSignals } from "./signals.ts";
import { welcome } from "./welcome.ts";

/** The largest body the server reads at all; each endpoint has a smaller bound with a clear error. */
const requestBytesMax = 64 * 1024 * 1024;
/** Sockets on which nothing moves for this long are closed; the most that Bun takes. Calls at work are exempt. */
const idleSecondsMax = 255;

type Parts = Pick<Ground, "plugins" | "sandboxOf" | "version">;

/** Starts the gateway, says how to use it, and resolves when a signal has ended it. */
export async function serveApp(config: Config, parts: Parts): Promise<void> {
  makeHome(config);
  if (config.workers > 1 && config.worker === 0) return await serveWorkers(config, process.env);
  makeDropFolders(config);
  const stateFile = pluginStateFileOf(config);
  const log = createLog(config.logLevel, (text) => process.stderr.write(text), { hide: hiderOf(process.env) });
  const store = await openStore(storeOf(config));
  try {
    refuseSecond(store, config);
    const onShelf = ({ states }: Shelf) => {
      if (config.worker <= 1) writeStateFile(stateFile, { pid: process.pid, plugins: states });
    };
    const app = await createApp({ ...parts, site: openSite(), config, store, log, onShelf });
    try {
      await listenUntilSignal(app, { store, config, log });
    } finally {
      await app.close();
      if (config.worker <= 1) removeStateFile(stateFile);
    }
  } finally {
    log.flush();
    await store.close();
  }
}

/** Over Redis several gateways share one store; without it the first has it alone. */
function refuseSecond(store: Store, { home, redisUrl }: Config): void {
  if (redisUrl !== undefined || store.claim === undefined || store.claim()) return;
  throw new Error(`Cannot serve from ${home}: another gateway does; stop it, or set MODELGATE_HOME to another folder`);
}

/** Makes the folders that files are dropped into. */
function makeDropFolders(config: Config): void {
  const own = pluginFolders(config).filter(({ required }) => !required);
  makeHome(config, ...[...own, catalogueFolder(config)].map(({ path }) => path));
}

/** What a server stands on beside its app. */
interface Footing {
  readonly store: Store;
  readonly config: Config;
  readonly log: OpenLog;
}

async function listenUntilSignal(app: App, { store, config, log }: Footing): Promise<void> {
  const port = listen(app, config);
  // From here on: who serves ends in order.
  const signals: EndSignals = config.worker === 0 ? watchSignals(() => log.flush()) : watchParent();
  try {
    // Only now: a first key that is made and never shown, because the port was taken, would be lost.
    if (config.worker <= 1) {
      const key = await firstKey(app.accounts, config.bootstrapKey);
      const admin = await firstAdmin(store, app.accounts, Date.now());
      process.stdout.write(welcome({ config, port, key, admin, app }));
    }
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
      idleTimeout: idleSecondsMax,
      maxRequestBodySize: requestBytesMax,
    });
  } catch (error) {
    throw portTaken(error, config.host, config.port);
  }
  return app.http.server?.port ?? config.port;
}
