import { type Accounts, createAccounts, pruneSignIn } from "./accounts/index.ts";
import type { Config } from "./config.ts";
import { catalogueFolder, isLoopback, pluginFolders, prefixOf, upstreamClientOf } from "./config.ts";
import type { Model, ProviderPlugin } from "./contract/index.ts";
import { BodyRoom } from "./http/body-room.ts";
import type { Files } from "./http/ground.ts";
import { KeepAlive } from "./http/keep-alive.ts";
import { createHttp } from "./http/server.ts";
import type { Site } from "./http/site.ts";
import { Deadlines, Gate, type Kernel, type Log, openNetwork, type UpstreamBounds } from "./kernel/index.ts";
import { dialByBun } from "./kernel/wire/bun-line.bun.ts";
import { createPruner, type LocalLedger, readOverdrawn } from "./ledger/index.ts";
import { type Shelf, Stock, watchFolders } from "./loader/index.ts";
import { loadCode } from "./loader/load-code.bun.ts";
import { openDesk } from "./open-desk.ts";
import { openLedger } from "./open-ledger.ts";
import type { Watch } from "./open-watch.bun.ts";
import type { Store } from "./store/index.ts";
import type { Facts } from "./watch/index.ts";

const syncMs = 500;
const pruneMs = 60_000;
/** Two thousand calls a second at most, and next to nothing when none is old. */
const pruneCallsMs = 250;
const recoverMs = 5000;
const keyUseMs = 3000;

/** Everything the gateway stands on; all of it given, so that a test can hand in its own. */
export interface Ground {
  readonly config: Config;
  readonly store: Store;
  readonly plugins: readonly ProviderPlugin[];
  /** Makes the plugin that simulates these models. */
  sandboxOf(models: readonly Model[]): ProviderPlugin;
  readonly log: Log;
  readonly version: string;
  /** The dashboard's files; absent: no page is served. */
  readonly site?: Site;
  readonly now?: () => number;
  readonly bounds?: Partial<UpstreamBounds>;
  /** Of silence in a stream until a comment is sent; absent: as the configuration says. */
  readonly keepAliveMs?: number;
  /** Looks on; absent: nobody does. */
  readonly watch?: Watch | undefined;
  /** Told what is on sale, at the start and whenever it has changed. */
  onShelf?(shelf: Shelf): void;
}

/** The gateway with everything in place and nothing listening. */
export interface App {
  readonly http: ReturnType<typeof createHttp>;
  readonly accounts: Accounts;
  readonly ledger: LocalLedger;
  readonly kernel: Kernel;
  readonly gate: Gate;
  readonly sandbox: boolean;
  close(): Promise<void>;
}

/** A reason why the gateway does not start, in one sentence. */
class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * Puts everything in place.
 *
 * @throws {StartError} When there is nothing to serve.
 */
export async function createApp(ground: Ground): Promise<App> {
  const { config, store, log, watch } = ground;
  const now = ground.now ?? Date.now;
  const stock = openStock(ground, now);
  const taken = stock.stamp();
  let shelf = await stock.look();
  if (shelf.registry.size === 0) throw new StartError(nothingToServe(shelf, config));
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, freeTokensPerDay } = config;
  const defaults = { requestsPerMinute, tokensPerMinute, concurrentCalls, freeTokensPerDay };
  const accounts = createAccounts({ store, defaults, now });
  const { ledger, degraded } = await openLedger(config, { store, log, now: ground.now, onCommit: watch?.onCommit });
  const recovered = await ledger.recover();
  if (Object.values(recovered).some((count) => count > 0)) log.warn("calls_recovered", { ...recovered });
  const client = upstreamClientOf(config);
  const network = openNetwork(new Deadlines(now), now, ground.bounds ?? {}, { client, dial: dialByBun });
  const kernel: Kernel = { registry: shelf.registry, ledger, network, log, now, watch: watch?.calls };
  const { callsMax, overloadLagMs, keepAliveSeconds } = config;
  const gate = new Gate({ callsMax, lagMsMax: overloadLagMs }, now, (event, fields) => log.warn(event, fields));
  const http = createHttp({
    gate,
    bodies: new BodyRoom(config.bodiesMb * 2 ** 20),
    keepAlive: new KeepAlive(ground.keepAliveMs ?? keepAliveSeconds * 1000),
    desk: await openDesk({ config, store, accounts, log, now, shelf: () => shelf }),
    site: ground.site,
    kernel,
    ledger,
    authenticate: (token) => accounts.authenticate(token),
    files: filesOf(store),
    signingSecret: await store.setting("file_signing_secret", makeSecret),
    log,
    now,
    basePath: config.basePath,
    corsOrigins: config.corsOrigins ?? [],
    get sandbox() {
      return shelf.sandbox;
    },
    version: ground.version,
    degraded,
    troubles: async () => troublesOf(shelf, ground),
    warnings: () => shelf.warnings,
    metrics: watch?.onApi,
  });
  watch?.begin(factsOf(ground, { kernel, gate, degraded, shelf: () => shelf }));
  const stopWatching = watchFolders(
    {
      folders: [...pluginFolders(config).map(({ path }) => path), catalogueFolder(config).path],
      stamp: () => stock.stamp(),
      async onChange() {
        try {
          shelf = await stock.look();
          kernel.registry = shelf.registry;
          ground.onShelf?.(shelf);
        } catch (error) {
          log.error("plugins_not_taken_up", { error });
        }
      },
    },
    taken,
  );
  ground.onShelf?.(shelf);
  const stopTimers = startTimers(ground, { accounts, ledger });
  const close = async () => {
    stopWatching();
    stopTimers();
    network.close();
    await ledger.close();
    await accounts.saveKeyUse().catch((error) => log.error("upkeep_failed", { error }));
  };
  return {
    http,
    accounts,
    ledger,
    kernel,
    gate,
    get sandbox() {
      return shelf.sandbox;
    },
    close,
  };
}

function troublesOf(shelf: Shelf, { store, config }: Ground): string[] {
  const nothing = shelf.registry.size === 0 ? nothingToServe(shelf, config) : undefined;
  return [nothing, store.trouble?.()].filter((trouble) => trouble !== undefined);
}

function filesOf({ blobs }: Store): Files {
  return {
    put: ({ mediaType, bytes, expiresAt }) => blobs.put({ mediaType, bytes: new Uint8Array(bytes), expiresAt }),
    get: (id) => blobs.get(id),
  };
}

/** What is seen of the gateway at a scrape. */
function factsOf(
  { config, store, now = Date.now }: Ground,
  { kernel, gate, degraded, shelf }: { kernel: Kernel; gate: Gate; degraded: () => string[]; shelf: () => Shelf },
): Facts {
  return {
    registry: () => kernel.registry,
    now,
    running: () => gate.running,
    turnedAway: () => gate.refusedCount,
    isLeaving: () => gate.isLeaving,
    isSandbox: () => shelf().sandbox,
    store: store.shared ? "postgres" : "sqlite",
    storeTrouble: () => store.trouble?.(),
    isRedisUp: config.redisUrl === undefined ? undefined : () => degraded().length === 0,
    overdrawn: () => readOverdrawn(store),
  };
}

/** All that can be sold by this configuration, for a server and for a command without one. */
export function openStock(ground: Pick<Ground, "config" | "plugins" | "sandboxOf" | "log">, now: () => number): Stock {
  const { config, plugins, sandboxOf, log } = ground;
  return new Stock({
    builtIns: plugins,
    pluginFolders: pluginFolders(config),
    catalogueFolder: catalogueFolder(config),
    sandbox: { setting: config.sandbox, isLoopback: isLoopback(config.host), sandboxOf },
    credentialsOf: (name) => config.credentials(name),
    loadCode,
    log,
    now,
  });
}

function nothingToServe({ plugins, warnings }: Shelf, { host }: Config): string {
  const names = plugins.map(({ name }) => `${prefixOf(name)}_API_KEY`).join(", ");
  const [first] = warnings;
  return (
    `There is no provider to serve: set one of ${names}, or SANDBOX=on for simulated answers on ${host}` +
    `${first === undefined ? "" : `; ${first}`}`
  );
}

/**
 * Takes up what other processes wrote, ends what dead ones left open, and deletes files whose hour is over and calls
 * whose time is.
 */
function startTimers(
  { store, log, config, now = Date.now }: Ground,
  { accounts, ledger }: Pick<App, "accounts" | "ledger">,
): () => void {
  const every = (ms: number, work: () => unknown) => {
    let hasFailed = false;
    return setInterval(async () => {
      try {
        await work();
        hasFailed = false;
      } catch (error) {
        // Once may be a store that another process has locked at this instant; what was not done is done the next time.
        if (hasFailed) log.error("upkeep_failed", { error });
        else log.warn("upkeep_failed", { error });
        hasFailed = true;
      }
    }, ms);
  };
  const timers = [
    every(syncMs, () => {
      if (!store.outsideChange()) return undefined;
      accounts.sync();
      return ledger.sync();
    }),
    every(keyUseMs, () => accounts.saveKeyUse()),
    every(pruneMs, () => store.blobs.prune(Date.now())),
    every(pruneMs, () => pruneSignIn(store, now())),
    every(pruneCallsMs, createPruner({ store, retentionDays: config.callRetentionDays, now })),
  ];
  if (store.shared) {
    timers.push(
      every(recoverMs, async () => {
        const recovered = await ledger.recover();
        if (recovered.released > 0) log.warn("calls_recovered", { ...recovered });
      }),
    );
  }
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

function makeSecret(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toHex();
}
