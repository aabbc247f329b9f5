import { type Accounts, createAccounts } from "./accounts/index.ts";
import type { Config } from "./config.ts";
import { isLoopback } from "./config.ts";
import type { Model, ProviderPlugin } from "./contract/index.ts";
import { createHttp } from "./http/server.ts";
import { buildRegistry, Deadlines, type Kernel, type Log, openNetwork, type UpstreamBounds } from "./kernel/index.ts";
import { createLocalLedger, type LocalLedger } from "./ledger/index.ts";
import type { Store } from "./store/index.ts";

const syncMs = 500;
const pruneMs = 60_000;

/** Everything the gateway stands on; all of it given, so that a test can hand in its own. */
export interface Ground {
  readonly config: Config;
  readonly store: Store;
  readonly plugins: readonly ProviderPlugin[];
  /** Makes the plugin that simulates these models. */
  sandboxOf(models: readonly Model[]): ProviderPlugin;
  readonly log: Log;
  readonly version: string;
  readonly now?: () => number;
  readonly bounds?: Partial<UpstreamBounds>;
}

/** The gateway with everything in place and nothing listening. */
export interface App {
  readonly http: ReturnType<typeof createHttp>;
  readonly accounts: Accounts;
  readonly ledger: LocalLedger;
  readonly kernel: Kernel;
  readonly sandbox: boolean;
  close(): Promise<void>;
}

/** A reason why the gateway does not start, in one sentence. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * Puts everything in place.
 *
 * @throws {StartError} When there is nothing to serve.
 */
export async function createApp(ground: Ground): Promise<App> {
  const { config, store, log } = ground;
  const now = ground.now ?? Date.now;
  const { plugins, sandbox } = choosePlugins(ground);
  const { registry, refused } = buildRegistry(plugins, (name) => config.credentials(name));
  for (const sentence of refused) log.error("plugin_refused", { sentence });
  const { requestsPerMinute, tokensPerMinute, freeTokensPerDay } = config;
  const accounts = createAccounts({ store, defaults: { requestsPerMinute, tokensPerMinute, freeTokensPerDay }, now });
  const ledger = createLocalLedger({ store, now });
  const recovered = await ledger.recover();
  if (Object.values(recovered).some((count) => count > 0)) log.warn("calls_recovered", { ...recovered });
  const network = openNetwork(new Deadlines(now), now, ground.bounds ?? {});
  const kernel: Kernel = { registry, ledger, network, log, now };
  const http = createHttp({
    kernel,
    ledger,
    authenticate: (token) => accounts.authenticate(token),
    files: {
      put: ({ mediaType, bytes, expiresAt }) => store.blobs.put({ mediaType, bytes: new Uint8Array(bytes), expiresAt }),
      get: (id) => store.blobs.get(id),
    },
    signingSecret: await store.setting("file_signing_secret", makeSecret),
    log,
    now,
    basePath: config.basePath,
    sandbox,
    version: ground.version,
    troubles: async () => refused,
  });
  const stopTimers = startTimers(ground, accounts, ledger);
  const close = async () => {
    stopTimers();
    await ledger.close();
  };
  return { http, accounts, ledger, kernel, sandbox, close };
}

/** Real plugins where there are credentials; the sandbox only when asked for, or alone on a loopback address. */
function choosePlugins(ground: Ground): { plugins: readonly ProviderPlugin[]; sandbox: boolean } {
  const { config, plugins } = ground;
  const served = plugins.filter(
    (plugin) => plugin.credential === "none" || config.credentials(plugin.name).keys.length > 0,
  );
  if (config.sandbox === "on") {
    const real = new Set(served.flatMap((plugin) => plugin.models.map((model) => model.id)));
    const rest = plugins.flatMap((plugin) => plugin.models).filter((model) => !real.has(model.id));
    return { plugins: [...served, ground.sandboxOf(rest)], sandbox: served.length === 0 };
  }
  if (served.length > 0) return { plugins: served, sandbox: false };
  if (config.sandbox === "auto" && isLoopback(config.host)) {
    return { plugins: [ground.sandboxOf(plugins.flatMap((plugin) => plugin.models))], sandbox: true };
  }
  const names = plugins.map((plugin) => `${plugin.name.toUpperCase().replaceAll("-", "_")}_API_KEY`).join(", ");
  throw new StartError(
    `There is no provider to serve: set one of ${names}, or SANDBOX=on for simulated answers on ${config.host}`,
  );
}

/** Takes up what other processes wrote, and deletes files whose hour is over. */
function startTimers({ store, log }: Ground, accounts: Accounts, ledger: LocalLedger): () => void {
  const guard = (work: () => unknown) => async () => {
    try {
      await work();
    } catch (error) {
      log.error("upkeep_failed", { error });
    }
  };
  const sync = setInterval(
    guard(() => {
      if (!store.outsideChange()) return;
      accounts.sync();
      ledger.sync();
    }),
    syncMs,
  );
  const prune = setInterval(
    guard(() => store.blobs.prune(Date.now())),
    pruneMs,
  );
  return () => {
    clearInterval(sync);
    clearInterval(prune);
  };
}

function makeSecret(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toHex();
}
