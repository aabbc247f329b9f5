import { type Administrator, createAudited, recordAct } from "../audit/index.ts";
import { type Config, getCatalogueFolder, getPluginFolders } from "../config/index.ts";
import { GatewayError, quoteValue } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { type CallObserver, type Log, monotonicNow, type Network } from "../kernel/index.ts";
import type { ProviderPlugin } from "../provider/index.ts";
import { checkCredential, providerActions } from "./actions.ts";
import { checkManifest } from "./check-manifest.ts";
import { HealthLog } from "./health.ts";
import type { PluginManager, PluginSnapshot } from "./plugin-manager.ts";
import { syncProviderFiles } from "./provider-files.ts";
import { ProviderSettings } from "./provider-settings.ts";
import { ResumeReader, writeResume } from "./resumes.ts";
import { RouteStats } from "./route-stats.ts";
import { type ConnectionTest, type TestResult, testConnection } from "./test-connection.ts";
import { watchFolders } from "./watch-folders.ts";

const syncMs = 500;
const healthSyncMs = 5000;
/** How long the result of a test before saving is kept for the save. */
const adoptMsMax = 600_000;
/** Tests at the same time: each is a request that costs something. */
const testsMax = 4;

export interface ProvidersDeps {
  readonly config: Config;
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
  /** Ready manifests of popular providers, by name. */
  readonly manifests?: Readonly<Record<string, unknown>> | undefined;
  /** Plugins that are compiled in. */
  readonly plugins?: readonly ProviderPlugin[] | undefined;
  /** Receives every key of the database, which the log then never shows. */
  readonly storedSecrets?: Set<string> | undefined;
  createManager(settings: ProviderSettings): PluginManager;
}

/** The providers of a running gateway: the served plugins, and the actions of administrators on them. */
export class Providers {
  readonly settings: ProviderSettings;
  readonly manifests: Readonly<Record<string, unknown>>;
  readonly actions: ReturnType<typeof providerActions>;
  /** Counts attempts; set by {@link observe}. */
  stats: RouteStats;
  /** Outcomes of the attempts and tests of each provider and key. */
  readonly health: HealthLog;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly #deps: ProvidersDeps;
  /** Loads plugins and rows; only {@link reload} applies them. */
  readonly manager: PluginManager;
  readonly #folder: string;
  #snapshot!: PluginSnapshot;
  /** The ids of the keys of each provider, in the order of its routes. */
  readonly #keyIds = new Map<string, readonly string[]>();
  #loaded = "";
  #seenRevision = -1;
  readonly #resumes: ResumeReader;
  #pending: Promise<void> = Promise.resolve();
  #onReload: (snapshot: PluginSnapshot) => void = () => undefined;
  #catchingUp: Promise<void> | undefined;
  #testing = 0;
  /** The last test before saving: its result applies to the key once the key is saved. */
  #unsaved:
    | { readonly name: string; readonly key: string; readonly at: number; readonly result: TestResult }
    | undefined;
  #stop: () => void = () => undefined;

  constructor(deps: ProvidersDeps) {
    const { config, store, now, manifests = {}, storedSecrets } = deps;
    this.#deps = deps;
    this.settings = new ProviderSettings(config, store, storedSecrets);
    this.manifests = manifests;
    this.manager = deps.createManager(this.settings);
    this.#folder = (getPluginFolders(config)[0] as { path: string }).path;
    this.stats = new RouteStats(undefined, monotonicNow, now);
    this.health = new HealthLog(store, now);
    this.#resumes = new ResumeReader(store);
    this.startedAt = now();
    this.actions = providerActions({
      settings: this.settings,
      audited: createAudited(store, now),
      now,
      folder: this.#folder,
      snapshot: () => this.#snapshot,
      apply: () => this.apply(),
    });
  }

  /** Milliseconds since 1970. */
  get now(): () => number {
    return this.#deps.now;
  }

  get snapshot(): PluginSnapshot {
    return this.#snapshot;
  }

  /** The observer of calls that counts attempts, and hands all on to another. */
  observe(next: CallObserver | undefined): CallObserver {
    const idOf = (name: string, key: number | undefined) => (key === undefined ? undefined : this.#keyIdsOf(name)[key]);
    this.stats = new RouteStats(next, monotonicNow, this.#deps.now, {
      record: (name, key, failure, isProbe) => this.health.record(name, idOf(name, key), failure, isProbe),
      recordLate: (name, key, failure) => this.health.recordLate(name, idOf(name, key), failure),
    });
    return this.stats;
  }

  /**
   * Cached, because each attempt needs it, and reading the environment would cost more than recording the rest of an
   * attempt.
   */
  #keyIdsOf(name: string): readonly string[] {
    let ids = this.#keyIds.get(name);
    if (ids === undefined) {
      const plugin = this.#snapshot.plugins.find((plugin) => plugin.name === name);
      ids = plugin === undefined ? [] : this.settings.keyIdsOf(plugin);
      this.#keyIds.set(name, ids);
    }
    return ids;
  }

  /** Applies a loaded snapshot, with the keys of its routes. */
  #use(snapshot: PluginSnapshot): void {
    this.#snapshot = snapshot;
    this.#keyIds.clear();
  }

  /** Reads the database and loads the plugins for the first time. */
  async load(): Promise<void> {
    this.#seenRevision = this.#deps.store.revision;
    await this.settings.read();
    await this.health.read();
    await this.#resumes.read();
    this.#syncFiles();
    this.#loaded = this.manager.fingerprint();
    this.#use(await this.manager.load());
  }

  /** Calls back after each reload, which follows changes of files and of the database by any gateway. */
  start(onReload: (snapshot: PluginSnapshot) => void): void {
    const { config } = this.#deps;
    this.#onReload = onReload;
    const folders = [...getPluginFolders(config), getCatalogueFolder(config)].map(({ path }) => path);
    const fingerprint = () => this.manager.fingerprint();
    const stopWatching = watchFolders({ folders, fingerprint, onChange: () => this.reload() }, this.#loaded);
    const timer = setInterval(() => void this.#sync(), syncMs);
    const healthTimer = setInterval(() => void this.#syncHealth(), healthSyncMs);
    this.#stop = () => {
      stopWatching();
      clearInterval(timer);
      clearInterval(healthTimer);
    };
  }

  /** Stops the timers, and writes the last outcomes. */
  async close(): Promise<void> {
    this.#stop();
    await this.#syncHealth();
  }

  async #syncHealth(options?: { readonly readsAll: boolean }): Promise<void> {
    await this.health.sync(options).catch((error) => this.#deps.log.warn("provider_health_not_written", { error }));
  }

  /** Applies the settings of the database. */
  async apply(): Promise<void> {
    await this.settings.read();
    this.#syncFiles();
    await this.reload();
  }

  /**
   * Takes the routes of a provider that were paused after failures back into use, or the route of one model, at every
   * gateway of the database.
   *
   * @throws {GatewayError} `not_found`; `invalid_request` for a model that it does not serve.
   */
  async resume({ accountId }: Pick<Administrator, "accountId">, name: string, model?: string): Promise<void> {
    const { models } = this.find(name);
    const row =
      model === undefined ? undefined : models.find(({ id, aliases }) => id === model || aliases?.includes(model));
    if (model !== undefined && row === undefined) {
      throw new GatewayError("invalid_request", `${name} does not serve ${quoteValue(model)}`, { param: "model" });
    }
    const order = { provider: name, model: row?.id };
    const { store, now } = this.#deps;
    await createAudited(store, now)(
      (scope) => writeResume(scope, order, now()),
      () => ({
        accountId,
        action: "provider.resume",
        subject: name,
        detail: row === undefined ? {} : { model: row.id },
      }),
    );
    await this.#catchUp();
  }

  /** Carries out the changes of the database since the last time. */
  async #catchUp(): Promise<void> {
    if (await this.settings.read()) {
      this.#syncFiles();
      await this.reload();
    }
    const orders = await this.#resumes.read();
    // An order may follow a test by another process, so its page says that a provider works once calls reach it.
    if (orders.length > 0) await this.#syncHealth({ readsAll: true });
    for (const { provider, model, keyId } of orders) {
      const key = keyId === undefined ? undefined : this.#keyIdsOf(provider).indexOf(keyId);
      this.manager.resume({ plugin: provider, model, key });
    }
  }

  /**
   * Sends a provider one small request, with the stored key of this id or the first key. It costs money, so nothing is sent without its
   * audit entry.
   *
   * @throws {GatewayError}
   */
  async test(
    network: Network,
    by: Pick<Administrator, "accountId">,
    name: string,
    options: { model?: string | undefined; keyId?: string | undefined },
  ) {
    const plugin = this.find(name);
    const { keys, ...credential } = this.settings.credentials(plugin);
    const chosen = options.keyId === undefined ? keys[0] : this.#secretOf(name, options.keyId);
    const used = { ...credential, keys: chosen === undefined ? [] : [chosen] };
    await this.#noteTest(by, name, { model: options.model, key: options.keyId });
    const result = await this.#runTest(network, { plugin, credential: used, model: options.model });
    await this.#recordTest(name, options.keyId ?? this.settings.keyIdsOf(plugin)[0], {
      result,
      isOfModel: options.model !== undefined,
    });
    return result;
  }

  /**
   * Sends one small request as a provider or key would that is not saved yet. Nothing is stored.
   *
   * @param given A provider that is there, or the manifest of a new one, and the key to use; absent: none.
   * @throws {GatewayError}
   */
  async testUnsaved(
    network: Network,
    by: Administrator,
    {
      name,
      manifest,
      secret,
      model,
    }: { name: string; manifest?: unknown; secret?: unknown; model?: string | undefined },
  ): Promise<TestResult> {
    const { role } = by;
    const plugin = manifest === undefined ? this.find(name) : checkManifest(name, manifest, role === "owner").plugin;
    const { baseUrl } = manifest === undefined ? this.settings.readGiven(plugin) : {};
    const keys = secret === undefined ? [] : [checkCredential({ plugin, baseUrl }, secret, role)];
    await this.#noteTest(by, name, { model, host: new URL(baseUrl ?? plugin.baseUrl).host });
    const result = await this.#runTest(network, { plugin, credential: { keys, baseUrl }, model });
    this.#unsaved = { name, key: keys[0] ?? "", at: this.#deps.now(), result };
    return result;
  }

  /** Keeps the result of a test that ran just before the provider or its key was saved. */
  async adoptTest(name: string, keyId: string | undefined): Promise<void> {
    const tested = this.#unsaved;
    const key = keyId === undefined ? "" : this.settings.keysOf(name).find(({ id }) => id === keyId)?.secret;
    if (tested?.name !== name || tested.key !== key || this.#deps.now() - tested.at > adoptMsMax) return;
    this.#unsaved = undefined;
    await this.#recordTest(name, keyId, { result: tested.result, isOfModel: false });
  }

  /** Keeps the result of a test. After a good one the routes are used again: all, unless it was about one model. */
  async #recordTest(
    name: string,
    keyId: string | undefined,
    { result, isOfModel }: { readonly result: TestResult; readonly isOfModel: boolean },
  ): Promise<void> {
    const { ok: isOk, model, ms, error, note, kind } = result;
    this.health.recordTest(name, keyId, {
      isOk,
      ms,
      model: model ?? undefined,
      error: error ?? undefined,
      note: note ?? undefined,
      kind: kind ?? undefined,
    });
    await this.#syncHealth();
    if (!isOk) return;
    const order = { provider: name, model: isOfModel ? (model ?? undefined) : undefined, keyId };
    const { store, now } = this.#deps;
    await store.change((db) => writeResume({ db }, order, now()));
    await this.#catchUp();
  }

  async #noteTest(
    { accountId }: Pick<Administrator, "accountId">,
    name: string,
    about: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    const fields = Object.entries(about).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]));
    const detail: Record<string, string> = Object.fromEntries(fields);
    await recordAct(this.#deps.store, { accountId, action: "provider.test", subject: name, detail }, this.#deps.now());
  }

  async #runTest(network: Network, test: Omit<ConnectionTest, "now">): Promise<TestResult> {
    if (this.#testing >= testsMax) {
      throw new GatewayError("conflict", `${testsMax} tests are running already; try again when one has ended`);
    }
    this.#testing++;
    try {
      return await testConnection(network, { ...test, now: this.#deps.now() });
    } finally {
      this.#testing--;
    }
  }

  /** @throws {GatewayError} `not_found` */
  find(name: string): ProviderPlugin {
    const plugin = this.#snapshot.plugins.find((plugin) => plugin.name === name);
    if (plugin !== undefined) return plugin;
    throw new GatewayError("not_found", `No provider is called '${name.slice(0, 60)}'`);
  }

  #secretOf(name: string, keyId: string): string {
    const secret = this.settings.keysOf(name).find(({ id }) => id === keyId)?.secret;
    if (secret !== undefined) return secret;
    throw new GatewayError("not_found", `${name} has no such key that this gateway can read`);
  }

  async #sync(): Promise<void> {
    const { store, log } = this.#deps;
    const { revision } = store;
    if (revision === this.#seenRevision) return;
    this.#seenRevision = revision;
    try {
      await this.#catchUp();
    } catch (error) {
      // The settings read before stay; the next tick tries again.
      this.#seenRevision = -1;
      log.warn("plugin_reload_failed", { error });
    }
  }

  #syncFiles(): void {
    syncProviderFiles(this.#folder, this.settings.rows.values(), this.#deps.log);
  }

  /**
   * Lists the models of providers that may have these names, and applies the result.
   *
   * @returns `undefined` when no provider is queried.
   */
  lookFor(names: readonly string[]): Promise<void> | undefined {
    return this.manager.lookFor(names)?.then((hasChanged) => {
      if (!hasChanged) return undefined;
      // Calls that waited for the same answer share one load.
      this.#catchingUp ??= this.reload().finally(() => {
        this.#catchingUp = undefined;
      });
      return this.#catchingUp;
    });
  }

  /** Loads one after another: two at once would mix their results. */
  reload(): Promise<void> {
    this.#pending = this.#pending.then(async () => {
      try {
        this.#use(await this.manager.load());
        this.#onReload(this.#snapshot);
      } catch (error) {
        this.#deps.log.error("plugin_reload_failed", { error });
      }
    });
    return this.#pending;
  }
}
