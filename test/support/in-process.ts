import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { manifests, sandbox } from "../../plugins/index.ts";
import { type App, type AppOptions, createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/index.ts";
import { openStore, type Store } from "../../src/db/index.ts";
import { creditWallet } from "../../src/ledger/index.ts";
import { createLog } from "../../src/observability/log.ts";
import { lastingPlugins } from "./lasting.ts";
import { type LedgerView, openCliStore } from "./ledger-view.ts";
import { makeMigratedFile } from "./migrated-sqlite.ts";

/** A gateway inside the test's process, for what no environment variable sets: deadlines, plugins of the test's own. */
export interface InProcessGateway {
  baseUrl: string;
  /** Its folder, with the database. */
  home: string;
  key: string;
  ledger: LedgerView;
  store: Store;
  app: App;
  post(path: string, body: unknown): Promise<Response>;
  stop(): Promise<void>;
}

type Parts = Partial<
  Pick<AppOptions, "bounds" | "plugins" | "sseHeartbeatMs" | "site" | "observability" | "now" | "log">
> & {
  env: Record<string, string>;
  /** What stands in the home folder, by path. */
  files?: Record<string, object>;
};

/** Starts one on a free loopback port, with money in its wallet. */
export async function startInProcess({
  env,
  plugins = lastingPlugins,
  files = {},
  log = createLog("silent", () => undefined),
  ...injected
}: Parts): Promise<InProcessGateway> {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(home, dirname(name)), { recursive: true });
    writeFileSync(join(home, name), JSON.stringify(content));
  }
  const config = readConfig({ MODELGATE_HOME: home, HOST: "127.0.0.1", ...env });
  const file = join(home, "modelgate.db");
  await makeMigratedFile(file);
  const store = await openStore({ file });
  const app = await createApp({
    config,
    store,
    plugins,
    manifests,
    createSandbox: sandbox,
    log,
    version: "test",
    ...injected,
  });
  const { id: accountId } = await app.accounts.create({ email: "test@example.org" });
  const { key } = await app.accounts.createKey({ accountId, name: "test" });
  await creditWallet(store, { accountId, nanodollars: 100_000_000_000, note: "test" });
  app.http.listen({ hostname: "127.0.0.1", port: 0, idleTimeout: 60 });
  const baseUrl = `http://127.0.0.1:${app.http.server?.port}/api/v1`;
  const ledger = openCliStore(home);
  return {
    baseUrl,
    home,
    key,
    ledger,
    store,
    app,
    post: (path, body) =>
      fetch(baseUrl + path, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    async stop() {
      ledger.close();
      await app.http.stop(true);
      await app.close();
      await store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
