import { createHash } from "node:crypto";
import { hostname } from "node:os";
import {
  type Config,
  ConfigError,
  getCatalogueFolder,
  getOidcOptions,
  getSpoolFolder,
  nameKeyVariables,
} from "./config/index.ts";
import { createNetworkList } from "./contract/index.ts";
import { createStoredResponses, embeddedNodeId, type NodeReport, type Store } from "./db/index.ts";
import type { StaticAssets } from "./http/deps.ts";
import { MemoryAccountant } from "./http/memory/call-memory.ts";
import { createHttp } from "./http/server.ts";
import { EndedBranches } from "./http/sessions/ended-branches.ts";
import { SseHeartbeat } from "./http/sse/sse-stream.bun.ts";
import {
  accessTokenSource,
  createSignIn,
  parseTokenIssuers,
  pruneSignIn,
  type TokenIssuer,
  TokenIssuers,
  tokenSource,
} from "./identity/index.ts";
import {
  type CallObserver,
  combineObservers,
  createPublicRequest,
  fetchDocument,
  isPublicAddress,
  type Kernel,
  LoadShedder,
  type Log,
  MemoryTurns,
  monotonicNow,
  PromptCaching,
  type UpstreamBounds,
} from "./kernel/index.ts";
import { keyedHash } from "./kernel/prompt-cache/keyed-hash.bun.ts";
import { openBunNetwork } from "./kernel/upstream/bun-network.bun.ts";
import { type Accounts, createAccounts } from "./keys/index.ts";
import {
  createPruner,
  openLedger,
  openRedisTurns,
  type ProcessLedger,
  readOverdrawn,
  remoteCalls,
  withTimeout,
} from "./ledger/index.ts";
import { modules, type OpenedModule, openModules, type VerifyLedger } from "./modules/index.ts";
import type { LogSink, Observability } from "./observability/index.ts";
import type { Model, ProviderPlugin } from "./provider/index.ts";
import {
  describeProviders,
  getModelNames,
  isOfSandbox,
  OperatorCatalogueEditor,
  type PluginSnapshot,
  type ProviderDescription,
  type ProviderSettings,
  Providers,
  readHealth,
} from "./providers/index.ts";
import { openPluginManager } from "./providers/open-plugin-manager.bun.ts";
import { KeyCallers, keepDayLists, PriceBook, RefusalLog, readUsedModels, UsageRollup } from "./reports/index.ts";

const syncMs = 500;
const pruneMs = 60_000;
/** At most two thousand calls a second are deleted; a round without old calls costs next to nothing. */
const pruneCallsMs = 250;
const recoverMs = 5000;
const saveLastUsedMs = 1000;
/** From where keys are used is a minute late in other processes. */
const saveCallersMs = 60_000;
/** A model that was called within this many days is in use. */
const usedDays = 30;
/** How long a scrape of the metrics waits for the database. */
const scrapeWaitMs = 1000;
/** Unknown names of models in tokens that are logged: issuers choose them. */
const unknownNamesMax = 1000;
/** Memory for the last turns of sessions, here or in Redis. */
const turnBytesMax = 16 * 2 ** 20;
/** Reasons that one message names. */
const reasonsMax = 3;

/** Parts that the gateway is built from; tests pass in their own. */
export interface AppOptions {
  readonly config: Config;
  readonly store: Store;
  readonly plugins: readonly ProviderPlugin[];
  /** Ready manifests of popular providers, by name; absent: none. */
  readonly manifests?: Readonly<Record<string, unknown>>;
  /** Gets every provider's key of the database, for the log to hide. */
  readonly storedSecrets?: Set<string>;
  /** Creates the plugin that simulates these models. */
  createSandbox(models: readonly Model[]): ProviderPlugin;
  readonly log: Log;
  readonly version: string;
  /** The files of the dashboard; absent: no pages. */
  readonly site?: StaticAssets;
  readonly now?: () => number;
  readonly bounds?: Partial<UpstreamBounds>;
  /** Silence in a stream before a heartbeat; absent: SSE_HEARTBEAT_SECONDS. */
  readonly sseHeartbeatMs?: number;
  /** Has the lines of the log sent on, for modules; absent: they are not. */
  readonly sendLog?: (sink: LogSink) => void;
  /** Metrics; absent: none. */
  readonly observability?: Observability | undefined;
  /** Verifies the ledger in another process, for modules; absent: nobody does so by a timer. */
  readonly verifyLedger?: VerifyLedger;
  /** Asks the platform to collect garbage, without waiting for it; absent: it decides itself. */
  readonly collectGarbage?: () => void;
  /** Called at the start and after each reload of the plugins. */
  onPluginsChanged?(snapshot: PluginSnapshot): void;
}

/** The gateway, built but not listening. */
export interface App {
  readonly http: ReturnType<typeof createHttp>;
  readonly accounts: Accounts;
  readonly ledger: ProcessLedger;
  readonly kernel: Kernel;
  readonly loadShedder: LoadShedder;
  readonly memory: MemoryAccountant;
  readonly sandbox: boolean;
  /** Providers, plugins and rows that cannot be used now, one message each. */
  readonly warnings: readonly string[];
  /** The providers with their health, without secrets. */
  describeProviders(): readonly ProviderDescription[];
  /** The ids of the models that the sandbox answers for. */
  listSandboxModels(): readonly string[];
  /** Loads and creates everything that would otherwise delay the first calls. */
  prepare(): Promise<void>;
  /** Has modules write what they have still to write. */
  flush(): Promise<void>;
  /** `waitMs`: how long a store is waited for that does not take the last charges. */
  close(waitMs?: number): Promise<void>;
}

/** Paths for anybody whose first answer takes long to make: the description of the API, and sign-in. */
const preparedPaths = ["/openapi.json", "/api/auth/get-session"];

/** The gateway cannot start. The message is for the operator. */
class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * Builds every part of the gateway and wires them.
 *
 * @throws {StartError} When no provider is configured.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, store, log, observability, now = Date.now } = options;
  // First, so they are sent the log of all else.
  const sendLog = options.sendLog ?? (() => undefined);
  const opened = await openModules(modules, { ...options, now, nodeName: describeProcess(config), sendLog });
  const providers = await openProviders(options, now);
  const tokenIssuers = openTokenIssuers(options);
  const resolveModels = createClaimReader(providers, log);
  const openTokens = [tokenSource({ ...tokenIssuers, store, resolveModels, now }), accessTokenSource({ store, now })];
  const accounts = createAccounts({ store, defaults: config, now, openTokens });
  await accounts.prepare();
  const { onCommit } = observability ?? {};
  const rollup = new UsageRollup({ store, retentionDays: config.callRetentionDays, now, log });
  const { redisUrl, redisTimeoutMs } = config;
  const ledgerSettings = { redisUrl, redisTimeoutMs, spoolFolder: getSpoolFolder(config) };
  const { ledger, degraded } = await openLedger(ledgerSettings, { ...options, onCommit, onEnded: rollup.add });
  await recover(ledger, log);
  rollup.start();
  const onRefused = rollup.addRefusal;
  const refusals = new RefusalLog({ store, retentionDays: config.callRetentionDays, now, log, onRefused });
  const callers = new KeyCallers({ store, retentionDays: config.callRetentionDays, now });
  const { network, close: closeNetwork } = openProviderNetwork(options);
  const trouble = () => store.trouble?.() ?? ledger.trouble();
  const observer = providers.observe(combine([observability?.calls, ...opened.map((module) => module.observer)]));
  const sealKey = await readSealKey(store);
  const { promptTurns, close: closeTurns } = await openPromptTurns(config, store);
  const kernel: Kernel = {
    registry: providers.snapshot.registry,
    ledger,
    network,
    log,
    now: monotonicNow,
    promptCaching: new PromptCaching({ isOff: config.cacheMarks === "off", secret: sealKey }),
    observer,
    promptTurns,
  };
  const bounds = { maxConcurrentCalls: config.maxConcurrentCalls, lagMsMax: config.overloadLagMs };
  const loadShedder = new LoadShedder(bounds, monotonicNow, (event, fields) => log.warn(event, fields));
  const memory = openMemory(options, loadShedder);
  const endedBranches = new EndedBranches({ store, loadShedder, now });
  await endedBranches.load();
  const prices = new PriceBook({ store, now });
  const keepPrices = async ({ modelEntries }: PluginSnapshot["registry"]) => {
    prices.note(modelEntries);
    await prices.save().catch((error) => log.warn("maintenance_failed", { error }));
  };
  await keepPrices(providers.snapshot.registry);
  const http = createHttp(
    {
      ...(await openSignIn(options, now)),
      config,
      version: options.version,
      log,
      now,
      store,
      accounts,
      ledger,
      refusals,
      rollup,
      keyCallers: config.keyCallers === "on" ? callers : undefined,
      kernel,
      providers,
      tokenIssuers: tokenIssuers.issuers,
      snapshot: () => providers.snapshot,
      catalogue: new OperatorCatalogueEditor(providers.manager, getCatalogueFolder(config), () => providers.reload()),
      remoteCalls: store.shared ? remoteCalls(store) : undefined,
      endedBranches,
      loadShedder,
      memory,
      heartbeat: new SseHeartbeat(options.sseHeartbeatMs ?? config.sseHeartbeatSeconds * 1000),
      secrets: providers.settings.box,
      sealKey,
      signingSecret: await store.setting("file_signing_secret", createSecret),
      readinessProblems: async () => getReadinessProblems(providers.snapshot, config, trouble()),
      degraded: () => [...degraded(), ...(trouble() === undefined ? (store.degraded?.() ?? []) : [])],
      site: options.site,
      metrics: observability?.onApi,
    },
    opened,
  );
  const readReport = createNodeReporter(options, now, { ledger, loadShedder, rollup });
  store.reportNode(readReport);
  observability?.start({
    registry: () => kernel.registry,
    now: monotonicNow,
    ...describeLoad(loadShedder),
    socketCount: () => http.sockets?.size ?? 0,
    providerSocketCount: () => kernel.network.lanes.size,
    ...describeStore(options, { degraded, trouble }),
    node: () => ({
      ...readReport(),
      id: store.nodeId ?? embeddedNodeId,
      heartbeatAgeMs: store.heartbeatAgeMs,
      drainCuts: loadShedder.cutCounts,
    }),
    isSandbox: () => providers.snapshot.sandbox,
    counters: opened.flatMap(({ counters = [] }) => counters),
  });
  providers.start((snapshot) => {
    kernel.registry = snapshot.registry;
    void keepPrices(snapshot.registry);
    options.onPluginsChanged?.(snapshot);
  });
  options.onPluginsChanged?.(providers.snapshot);
  const stopMaintenance = startMaintenance(options, {
    accounts,
    callers,
    ledger,
    prices,
    refusals,
    rollup,
    endedBranches,
  });
  const gateway = {
    kernel,
    secrets: providers.settings.box,
    health: () => readHealth(providers, kernel.registry, kernel.now()),
    trouble,
    isDraining: () => loadShedder.isDraining,
    freshen: () => rollup.freshen(),
  };
  const stops = opened.flatMap((module) => module.start?.(gateway) ?? []);
  return {
    http,
    accounts,
    ledger,
    kernel,
    loadShedder,
    memory,
    get sandbox() {
      return providers.snapshot.sandbox;
    },
    get warnings() {
      return providers.snapshot.warnings;
    },
    describeProviders: () => describeProviders(providers, kernel.registry, kernel.now()),
    listSandboxModels: () => [...kernel.registry.modelEntries].filter(isOfSandbox).map(({ model }) => model.id),
    async prepare() {
      for (const path of preparedPaths) await http.handle(new Request(new URL(path, "http://localhost")));
    },
    flush: () => flushModules(opened),
    async close(waitMs = 0) {
      for (const stop of [stopMaintenance, ...stops, closeNetwork, closeTurns]) stop();
      await providers.close();
      const [waiting] = await Promise.all([ledger.close(waitMs), refusals.flush(), flushModules(opened)]);
      if (waiting > 0) log.warn("charges_spooled", { calls: waiting, folder: getSpoolFolder(config) });
      await rollup.close().catch((error) => log.error("maintenance_failed", { error }));
      await accounts.saveLastUsed().catch((error) => log.error("maintenance_failed", { error }));
      await callers.flush().catch((error) => log.error("maintenance_failed", { error }));
      // Last: modules send on what the others have logged and written.
      await Promise.all(opened.map((module) => module.close?.()));
    },
  };
}

async function flushModules(opened: readonly OpenedModule[]): Promise<void> {
  await Promise.all(opened.map((module) => module.flush?.()));
}

/** Combines observers into one. Returns `undefined` without any. */
function combine(observers: readonly (CallObserver | undefined)[]): CallObserver | undefined {
  return observers.reduce((all, each) => {
    if (all === undefined || each === undefined) return all ?? each;
    return combineObservers(all, each);
  }, undefined);
}

async function openProviders(options: AppOptions, now: () => number): Promise<Providers> {
  const usedModels = () => readUsedModels(options.store, { days: usedDays, now: now() });
  const createManager = (settings: ProviderSettings) => openPluginManager({ ...options, usedModels }, now, settings);
  const providers = new Providers({ ...options, now, createManager });
  await providers.load();
  const { registry, isConfigured } = providers.snapshot;
  // With a configured provider the gateway starts even without models: the provider's server may come up later, its
  // file may be corrected, or it may be enabled again.
  if (registry.size === 0 && !isConfigured) throw new StartError(describeNoModel(providers.snapshot, options.config));
  return providers;
}

/** The issuers of tokens, and how their keys are read. @throws {ConfigError} When JWT_ISSUERS cannot be used. */
function openTokenIssuers({ config, store }: AppOptions) {
  const { jwtIssuers, jwtNetworks = [], proxyEnv } = config;
  let issuers: readonly TokenIssuer[] | undefined;
  try {
    issuers = jwtIssuers === undefined ? undefined : parseTokenIssuers(jwtIssuers);
  } catch (error) {
    throw new ConfigError("JWT_ISSUERS", (error as Error).message);
  }
  const { has: isListed } = createNetworkList(jwtNetworks);
  const isPublic = (address: string) => isPublicAddress(address) || isListed(address);
  const overTls = createPublicRequest({ proxyEnv, isPublic });
  const plain = createPublicRequest({ isPublic: isListed });
  const readDocument = (url: string) => fetchDocument(url.startsWith("http:") ? plain : overTls, url);
  return { issuers: new TokenIssuers(store, issuers), readDocument };
}

/** Reads the models that tokens name; each name that no model has is logged once. */
function createClaimReader(providers: Providers, log: Log) {
  const logged = new Set<string>();
  return (names: readonly string[], issuer: string) =>
    getModelNames(providers.snapshot).toIds(names, {
      onUnknown(message) {
        if (logged.has(message) || logged.size === unknownNamesMax) return;
        logged.add(message);
        log.warn("unknown_model", { message: `A token of ${issuer} names a model, but ${message}` });
      },
    });
}

async function readSealKey(store: Store): Promise<Uint8Array> {
  return createHash("sha256")
    .update(await store.setting("seal_secret", createSecret))
    .digest();
}

/** Where the last turns of sessions are kept: in Redis for all nodes, or else in this process, under a key of its own. */
async function openPromptTurns({ redisUrl, redisTimeoutMs }: Config, store: Store) {
  if (redisUrl === undefined) {
    const secret = crypto.getRandomValues(new BigUint64Array(1))[0] as bigint;
    const turns = new MemoryTurns(turnBytesMax, monotonicNow);
    return { promptTurns: { store: turns, hash: keyedHash, secret }, close: () => undefined };
  }
  const shared = await store.setting("seal_secret", createSecret);
  const secret = createHash("sha256").update(`prompt turns ${shared}`).digest().readBigUInt64LE();
  const turns = await openRedisTurns({ store, url: redisUrl, timeoutMs: redisTimeoutMs, bytesMax: turnBytesMax });
  return { promptTurns: { store: turns, hash: keyedHash, secret }, close: () => turns.close() };
}

function openProviderNetwork({ config, bounds }: AppOptions) {
  const ms = config.upstreamTimeoutSeconds * 1000;
  return openBunNetwork({
    bounds: {
      firstByteMsMax: ms,
      idleMsMax: ms,
      // A timeout that the operator sets is the most; a default is not.
      ...(config.given.has("UPSTREAM_TIMEOUT_SECONDS") && { silenceMsMax: ms }),
      ...bounds,
    },
    proxyEnv: config.proxyEnv,
    machine: config.machine,
  });
}

/** An account that has an admitted call can pay for something. */
function openMemory({ config, collectGarbage }: AppOptions, { running }: LoadShedder): MemoryAccountant {
  const hasRunningCall = (owner: string) =>
    running.values().some(({ request, run }) => run?.hold !== undefined && request.caller.accountId === owner);
  return new MemoryAccountant(config.maxBufferedBodyMb * 2 ** 20, {
    ...(collectGarbage !== undefined && { collectGarbage }),
    hasRunningCall,
  });
}

function describeLoad(loadShedder: LoadShedder) {
  return {
    running: () => loadShedder.running,
    shedCount: () => loadShedder.refusedCount,
    isDraining: () => loadShedder.isDraining,
  };
}

function describeStore(
  { config, store }: AppOptions,
  { degraded, trouble }: { degraded: () => string[]; trouble: () => string | undefined },
) {
  return {
    store: store.shared ? ("postgres" as const) : ("sqlite" as const),
    storeProblem: trouble,
    isRedisUp: config.redisUrl === undefined ? undefined : () => degraded().length === 0,
    // A database that hangs must not take the scrape with it, which says so.
    overdrawn: () => withTimeout(readOverdrawn(store), scrapeWaitMs),
  };
}

function getReadinessProblems(snapshot: PluginSnapshot, config: Config, trouble: string | undefined): string[] {
  const noModel = snapshot.registry.size === 0 ? describeNoModel(snapshot, config) : undefined;
  return [noModel, trouble].filter((problem) => problem !== undefined);
}

/** Returns a function that reads the figures of this process that others see. */
function createNodeReporter(
  { config, version }: AppOptions,
  now: () => number,
  { ledger, loadShedder, rollup }: { ledger: ProcessLedger; loadShedder: LoadShedder; rollup: UsageRollup },
): () => NodeReport {
  const startedAt = now();
  return () => {
    const { waiting, spooled, writtenAtMs } = ledger.writing;
    return {
      name: describeProcess(config),
      version,
      startedAt,
      draining: loadShedder.isDraining,
      calls: loadShedder.size,
      waitingCharges: waiting,
      spooledCharges: spooled,
      ...(writtenAtMs !== undefined && { lastWriteAt: Math.round(now() - (performance.now() - writtenAtMs)) }),
      rollupLagMs: Math.round(rollup.lagMs),
    };
  };
}

/** Name of this process in alerts, and in the list of nodes. */
function describeProcess({ worker }: Config): string {
  return worker === 0 ? hostname() : `${hostname()} (worker ${worker})`;
}

type SignInParts = Pick<AppOptions, "config" | "store" | "log"> & Pick<Parameters<typeof createSignIn>[0], "passwords">;

/** Sign-in with passwords, and with an identity provider when one is configured. */
export async function openSignIn({ config, store, log, passwords }: SignInParts, now: () => number) {
  const secret = await store.setting("session_secret", createSecret);
  const report = (error: unknown) => log.error("sign_in_failed", { error });
  const options = { store, secret, signUp: config.signUp, now, report, ...(passwords && { passwords }) };
  return { signIn: createSignIn({ ...options, oidc: getOidcOptions(config) }) };
}

/** Why no model can be served. */
function describeNoModel({ isConfigured, states, plugins, warnings }: PluginSnapshot, { host }: Config): string {
  if (isConfigured) {
    const disabled = states.filter(({ status }) => status === "disabled").map(({ name }) => `${name} is disabled`);
    const reasons = [...warnings, ...disabled].slice(0, reasonsMax).join("; ");
    return `No model can be served${reasons === "" ? "" : `: ${reasons}`}`;
  }
  const names = plugins.map(nameKeyVariables).join(", ");
  const remedy = `set one of ${names}, or SANDBOX=on for simulated answers on ${host}`;
  return `No provider is configured: ${remedy}${warnings.length === 0 ? "" : `; ${warnings[0]}`}`;
}

/**
 * Starts the timers: they read the writes of other processes, recover calls of dead processes, and delete expired data.
 */
function startMaintenance(
  { store, log, config, now = Date.now }: AppOptions,
  parts: Pick<App, "accounts" | "ledger"> & {
    prices: PriceBook;
    callers: KeyCallers;
    refusals: RefusalLog;
    rollup: UsageRollup;
    endedBranches: EndedBranches;
  },
): () => void {
  const { accounts, callers, ledger, prices, refusals, rollup, endedBranches } = parts;
  const every = (ms: number, work: () => unknown) => {
    let hasFailed = false;
    return setInterval(async () => {
      try {
        await work();
        hasFailed = false;
      } catch (error) {
        // A single failure may be a transient lock; the next tick tries again.
        log[hasFailed ? "error" : "warn"]("maintenance_failed", { error });
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
    every(syncMs, () => endedBranches.load()),
    every(syncMs, () => prices.save()),
    every(saveLastUsedMs, () => accounts.saveLastUsed()),
    every(saveCallersMs, () => callers.flush()),
    every(pruneMs, () => callers.prune()),
    every(pruneMs, () => store.blobs.prune(Date.now())),
    every(pruneMs, () => store.idempotencyKeys.prune(now())),
    every(pruneMs, () => pruneSignIn(store, now())),
    every(pruneMs, () => accounts.pruneKeys(config.callRetentionDays)),
    every(pruneMs, () => createStoredResponses(store, now).prune(now())),
    every(pruneMs, () => refusals.prune()),
    every(pruneMs, () => rollup.prune()),
    every(pruneMs, () => keepDayLists(store, now())),
    every(pruneCallsMs, createPruner({ store, retentionDays: config.callRetentionDays, now })),
  ];
  if (store.shared) {
    timers.push(every(recoverMs, () => recover(ledger, log)));
  }
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Ends calls that dead processes left open, and writes the charges that they left in the spool. */
async function recover(ledger: ProcessLedger, log: Log): Promise<void> {
  const recovered = await ledger.recover();
  if (recovered.released > 0) log.warn("calls_recovered", { ...recovered });
  const replayed = await ledger.replay();
  if (replayed > 0) log.warn("charges_replayed", { calls: replayed });
}

function createSecret(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toHex();
}
