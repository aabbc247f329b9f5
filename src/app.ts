import {
  type Accounts,
  createAccounts,
  createCheckout,
  createSignIn,
  type OidcOptions,
  type Payments,
  pruneSignIn,
} from "./accounts/index.ts";
import { type Billing, createPruner, readOverdrawn, remoteCalls } from "./billing/index.ts";
import { openBilling } from "./billing/open-billing.ts";
import type { Config } from "./config/config.ts";
import { catalogueFolder, isLoopback, pluginFolders, prefixOf } from "./config/config.ts";
import { publicOriginOf } from "./config/public-origin.ts";
import type { Model, ProviderPlugin } from "./contract/index.ts";
import type { Store } from "./db/index.ts";
import type { StaticAssets } from "./http/dashboard-api/static-assets.ts";
import { BodyMemoryLimiter } from "./http/middleware/body-memory.ts";
import { SseHeartbeat } from "./http/middleware/sse-heartbeat.ts";
import { createHttp } from "./http/server.ts";
import { type Kernel, LoadShedder, type Log, type UpstreamBounds } from "./kernel/index.ts";
import { openBunNetwork } from "./kernel/upstream/bun-network.bun.ts";
import type { GatewaySnapshot } from "./observability/index.ts";
import type { Observability } from "./observability/open-observability.bun.ts";
import { PluginManager, type PluginSnapshot, watchFolders } from "./plugin-loader/index.ts";
import { loadCode } from "./plugin-loader/load-code.bun.ts";

const syncMs = 500;
const pruneMs = 60_000;
/** Two thousand calls a second at most, and next to nothing when none is old. */
const pruneCallsMs = 250;
const recoverMs = 5000;
const keyUseMs = 3000;

/** Everything the gateway stands on; all of it given, so that a test can hand in its own. */
export interface AppOptions {
  readonly config: Config;
  readonly store: Store;
  readonly plugins: readonly ProviderPlugin[];
  /** Makes the plugin that simulates these models. */
  sandboxOf(models: readonly Model[]): ProviderPlugin;
  readonly log: Log;
  readonly version: string;
  /** The dashboard's files; absent: no page is served. */
  readonly site?: StaticAssets;
  readonly now?: () => number;
  readonly bounds?: Partial<UpstreamBounds>;
  /** Of silence in a stream until a comment is sent; absent: as the configuration says. */
  readonly keepAliveMs?: number;
  /** Looks on; absent: nobody does. */
  readonly watch?: Observability | undefined;
  /** Told what is on sale, at the start and whenever it has changed. */
  onPluginsChanged?(snapshot: PluginSnapshot): void;
}

/** The gateway with everything in place and nothing listening. */
export interface App {
  readonly http: ReturnType<typeof createHttp>;
  readonly accounts: Accounts;
  readonly ledger: Billing;
  readonly kernel: Kernel;
  readonly loadShedder: LoadShedder;
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
export async function createApp(ground: AppOptions): Promise<App> {
  const { config, store, log, watch } = ground;
  const now = ground.now ?? Date.now;
  const pluginManager = openPluginManager(ground, now);
  const taken = pluginManager.stamp();
  let snapshot = await pluginManager.load();
  if (snapshot.registry.size === 0) throw new StartError(nothingToServe(snapshot, config));
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, freeTokensPerDay } = config;
  const defaults = { requestsPerMinute, tokensPerMinute, concurrentCalls, freeTokensPerDay };
  const accounts = createAccounts({ store, defaults, now });
  const { ledger, degraded } = await openBilling(config, { store, log, now: ground.now, onCommit: watch?.onCommit });
  const recovered = await ledger.recover();
  if (Object.values(recovered).some((count) => count > 0)) log.warn("calls_recovered", { ...recovered });
  const { network, close: closeNetwork } = openBunNetwork(now, { bounds: ground.bounds, proxyEnv: config.proxyEnv });
  const kernel: Kernel = { registry: snapshot.registry, ledger, network, log, now, observer: watch?.calls };
  const { callsMax, overloadLagMs, keepAliveSeconds } = config;
  const loadShedder = new LoadShedder({ callsMax, lagMsMax: overloadLagMs }, now, (event, fields) =>
    log.warn(event, fields),
  );
  const http = createHttp({
    ...(await openSignIn(ground, now)),
    ...openPayments(ground, await stripeOf(config), now),
    config,
    version: ground.version,
    log,
    now,
    store,
    accounts,
    ledger,
    kernel,
    snapshot: () => snapshot,
    remoteCalls: store.shared ? remoteCalls(store) : undefined,
    loadShedder,
    bodies: new BodyMemoryLimiter(config.bodiesMb * 2 ** 20),
    heartbeat: new SseHeartbeat(ground.keepAliveMs ?? keepAliveSeconds * 1000),
    signingSecret: await store.setting("file_signing_secret", makeSecret),
    readinessProblems: async () => readinessProblemsOf(snapshot, ground),
    degraded,
    site: ground.site,
    metrics: watch?.onApi,
  });
  watch?.begin(factsOf(ground, { kernel, loadShedder, degraded, snapshot: () => snapshot }));
  const stopWatching = watchFolders(
    {
      folders: [...pluginFolders(config).map(({ path }) => path), catalogueFolder(config).path],
      stamp: () => pluginManager.stamp(),
      async onChange() {
        try {
          snapshot = await pluginManager.load();
          kernel.registry = snapshot.registry;
          ground.onPluginsChanged?.(snapshot);
        } catch (error) {
          log.error("plugin_reload_failed", { error });
        }
      },
    },
    taken,
  );
  ground.onPluginsChanged?.(snapshot);
  const stopTimers = startTimers(ground, { accounts, ledger });
  const close = async () => {
    stopWatching();
    stopTimers();
    closeNetwork();
    await ledger.close();
    await accounts.saveLastUsed().catch((error) => log.error("maintenance_failed", { error }));
  };
  return {
    http,
    accounts,
    ledger,
    kernel,
    loadShedder,
    get sandbox() {
      return snapshot.sandbox;
    },
    close,
  };
}

function readinessProblemsOf(snapshot: PluginSnapshot, { store, config }: AppOptions): string[] {
  const nothing = snapshot.registry.size === 0 ? nothingToServe(snapshot, config) : undefined;
  return [nothing, store.trouble?.()].filter((trouble) => trouble !== undefined);
}

/** Sign-in by passwords, and by an identity provider where one is configured. */
export async function openSignIn(
  { config, store, log }: Pick<AppOptions, "config" | "store" | "log">,
  now: () => number,
) {
  const secret = await store.setting("session_secret", makeSecret);
  const report = (error: unknown) => log.error("sign_in_failed", { error });
  return { signIn: createSignIn({ store, secret, signUp: config.signUp, now, report, oidc: oidcOf(config) }) };
}

function oidcOf(config: Config): OidcOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret, publicOrigin: publicOriginOf(config, config.port) };
}

/** Payments, where a provider of them is configured. */
export function openPayments(
  { config, log }: Pick<AppOptions, "config" | "log">,
  payments: Payments | undefined,
  now: () => number,
) {
  const publicOrigin = publicOriginOf(config, config.port);
  const report = (error: unknown) => log.error("payment_failed", { error });
  return { payments, beginPayment: createCheckout({ payments, publicOrigin, now, report }) };
}

/** Loaded where it is used: it is large. */
async function stripeOf({ stripeSecretKey, stripeWebhookSecret }: Config): Promise<Payments | undefined> {
  if (stripeSecretKey === undefined || stripeWebhookSecret === undefined) return undefined;
  const { openStripe } = await import("./accounts/payments/stripe.ts");
  return openStripe({ secretKey: stripeSecretKey, webhookSecret: stripeWebhookSecret });
}

/** What is seen of the gateway at a scrape. */
function factsOf(
  { config, store, now = Date.now }: AppOptions,
  {
    kernel,
    loadShedder,
    degraded,
    snapshot,
  }: { kernel: Kernel; loadShedder: LoadShedder; degraded: () => string[]; snapshot: () => PluginSnapshot },
): GatewaySnapshot {
  return {
    registry: () => kernel.registry,
    now,
    running: () => loadShedder.running,
    turnedAway: () => loadShedder.refusedCount,
    isLeaving: () => loadShedder.isDraining,
    isSandbox: () => snapshot().sandbox,
    store: store.shared ? "postgres" : "sqlite",
    storeTrouble: () => store.trouble?.(),
    isRedisUp: config.redisUrl === undefined ? undefined : () => degraded().length === 0,
    overdrawn: () => readOverdrawn(store),
  };
}

/** All that can be sold by this configuration, for a server and for a command without one. */
export function openPluginManager(
  ground: Pick<AppOptions, "config" | "plugins" | "sandboxOf" | "log">,
  now: () => number,
): PluginManager {
  const { config, plugins, sandboxOf, log } = ground;
  return new PluginManager({
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

function nothingToServe({ plugins, warnings }: PluginSnapshot, { host }: Config): string {
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
  { store, log, config, now = Date.now }: AppOptions,
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
        if (hasFailed) log.error("maintenance_failed", { error });
        else log.warn("maintenance_failed", { error });
        hasFailed = true;
      }
    }, ms);
  };
  const timers = [
    every(syncMs, () => {
      if (!store.pollExternalChange()) return undefined;
      accounts.sync();
      return ledger.sync();
    }),
    every(keyUseMs, () => accounts.saveLastUsed()),
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
