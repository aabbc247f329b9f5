import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "./config.ts";

type Home = Pick<Config, "home">;

/**
 * Creates the home folder and the given folders inside it, for their owner only: code that is put there runs. Those that are there
 * stay as they are.
 *
 * @throws {ConfigError} When it cannot be created, or is a file.
 */
export function makeHome({ home }: Home, ...folders: string[]): string {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new ConfigError("MODELGATE_HOME", `it is ${home} (${reason}), expected a writable folder`);
  }
  return home;
}

/** The embedded database. A server and its commands share it; a command thus takes effect in a running server. */
export function getDatabaseFile({ home }: Home): string {
  return join(home, "modelgate.db");
}

/** Options of `openStore`: PostgreSQL when DATABASE_URL is set, else the embedded database. */
export function getStoreOptions(
  config: Pick<Config, "home" | "databaseUrl" | "databaseTimeoutMs" | "sqliteSynchronous">,
) {
  const { databaseUrl: url, databaseTimeoutMs: timeoutMs, sqliteSynchronous: synchronous } = config;
  return url === undefined ? { file: getDatabaseFile(config), synchronous } : { url, timeoutMs };
}

/** The folder with charges that the database does not take, until it does. */
export function getSpoolFolder({ home }: Home): string {
  return join(home, "spool");
}

/** The folders with drop-in plugins, and their names in messages. */
export function getPluginFolders({ home, pluginsDir }: Pick<Config, "home" | "pluginsDir">) {
  const own = { path: join(home, "plugins"), label: "plugins", required: false };
  return pluginsDir === undefined ? [own] : [own, { path: pluginsDir, label: "PLUGINS_DIR", required: true }];
}

/** The folder with the operator's catalogue files. */
export function getCatalogueFolder({ home }: Home) {
  return { path: join(home, "catalogue"), label: "catalogue", required: false };
}

/** The file that a running server publishes the state of its plugins in. */
export function getPluginStateFile({ home }: Home): string {
  return join(home, "plugins.state.json");
}

/** The file with the key that encrypts stored secrets, unless SECRETS_KEY is set. */
export function getSecretsKeyFile({ home }: Home): string {
  return join(home, "secrets.key");
}
