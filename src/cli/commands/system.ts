import { resolve } from "node:path";
import { checkConnections, describeConfig, getDatabaseFile, getLocalOrigin, makeHome } from "../../config/index.ts";
import { backupSqlite, restoreSqlite } from "../../db/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { loadOffline, readProviderSettings } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { readLiveState } from "../lib/live-state.ts";

export const serve = defineCommand({
  name: "serve",
  description: "Start the gateway, configured by the environment (see modelgate config)",
  flags: {},
  args: [],
  example: "serve",
  async run(context, { config }) {
    checkConnections(context.env);
    // Credentials are read at first use; reading them now stops the start when one is invalid.
    const { plugins, manifests } = await context.loadBuiltIns();
    for (const plugin of plugins) config.credentials(plugin);
    for (const name of Object.keys(manifests)) config.credentials({ name });
    makeHome(config);
    await context.serve(config);
    return undefined;
  },
});

export const backup = defineCommand({
  name: "backup",
  description:
    "Copy the embedded database to a new file; works while the gateway runs. Keep secrets.key with it: keys are encrypted by that",
  flags: {},
  args: ["FILE"],
  example: "backup modelgate-backup.db",
  async run(_context, { args, config }) {
    if (config.databaseUrl !== undefined) {
      throw new UsageError("Cannot back up the PostgreSQL database of DATABASE_URL: use pg_dump");
    }
    const file = resolve(args.FILE);
    const bytes = backupSqlite(getDatabaseFile(config), file);
    return { json: { file, bytes }, text: `Wrote ${file}, ${bytes} bytes` };
  },
});

export const restore = defineCommand({
  name: "restore",
  description: "Put a backup in the place of the embedded database, which is kept beside it; stop the gateway first",
  flags: {},
  args: ["FILE"],
  example: "restore modelgate-backup.db",
  async run(_context, { args, config, now }) {
    if (config.databaseUrl !== undefined) {
      throw new UsageError("Cannot restore the PostgreSQL database of DATABASE_URL: use pg_restore");
    }
    const backup = resolve(args.FILE);
    makeHome(config);
    const file = getDatabaseFile(config);
    const previous = restoreSqlite(file, backup, new Date(now).toISOString().replace(/[-:]|\.\d+/g, ""));
    const unreadable = (await readProviderSettings(config))?.unreadableProviders() ?? [];
    const lines = [
      `Restored ${file} from ${backup}`,
      previous !== undefined && `The database that was there is ${previous}`,
      unreadable.length > 0 &&
        `The stored keys of ${unreadable.join(", ")} cannot be read: bring the SECRETS_KEY, or the file secrets.key, that encrypted them`,
      "Next: modelgate ledger verify, then start the gateway",
    ];
    const json = { file, backup, previous: previous ?? null, unreadable_keys: unreadable };
    return { json, text: lines.filter((line) => line !== false).join("\n") };
  },
});

const healthTimeoutMs = 2000;

/** The body of `GET /readyz`. */
interface Readiness {
  status: string;
  problems: string[];
  degraded: string[];
}

export const health = defineCommand({
  name: "health",
  description: "Check whether the gateway on HOST and PORT is ready; exit 1 if not",
  flags: {},
  args: [],
  example: "health",
  async run(_context, { config }) {
    if (config.port === 0) throw new UsageError("Cannot check port 0: set PORT to the port of the gateway");
    const origin = getLocalOrigin(config.host, config.port);
    const readiness = await fetchReadiness(origin);
    if (typeof readiness === "string")
      return { json: { status: "unreachable", reason: readiness }, text: readiness, exitCode: exitCodes.failed };
    const { status, problems, degraded } = readiness;
    const text = [`${origin} is ${status}`, ...problems, ...degraded].join("\n");
    return { json: readiness, text, exitCode: status === "unready" ? exitCodes.failed : exitCodes.success };
  },
});

/** Its readiness, or why it cannot be read. */
async function fetchReadiness(origin: string): Promise<Readiness | string> {
  try {
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(healthTimeoutMs) });
    const { status, problems, degraded } = (await response.json()) as Readiness;
    return { status, problems, degraded };
  } catch (error) {
    const hint = "if the gateway listens elsewhere, set HOST and PORT as it has them";
    return `Cannot reach ${origin}/readyz: ${(error as Error).message}; ${hint}`;
  }
}

export const config = defineCommand({
  name: "config",
  description: "Show every setting of the gateway that runs, or else of this shell; secrets are not shown",
  flags: {},
  args: [],
  example: "config",
  async run(context, { config }) {
    const running = readLiveState(config)?.settings;
    const rows = running ?? describeConfig(config, (await loadOffline(context, config)).plugins);
    const source =
      running === undefined
        ? "No gateway runs in this home folder; these are the settings of this shell"
        : "As the running gateway was started";
    const text = columns(rows.map(({ name, value, source }) => [name, value, source]));
    return { json: rows, text: `${text}\n\n${source}` };
  },
});

export const version = defineCommand({
  name: "version",
  description: "Show the version and, in a build, its commit",
  flags: {},
  args: [],
  example: "version",
  async run({ version: { version, commit } }) {
    const text = commit === undefined ? `modelgate ${version}` : `modelgate ${version} (${commit})`;
    return { json: { version, commit: commit ?? null }, text };
  },
});
