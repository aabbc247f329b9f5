import { existsSync } from "node:fs";
import { type Config, getDatabaseFile } from "../../config/index.ts";
import { createLog } from "../../observability/log.ts";
import { isEnded, type Model, type ProviderPlugin } from "../../provider/index.ts";
import { explainUnserved, type PluginSnapshot, ProviderSettings } from "../../providers/index.ts";
import { openPluginManager } from "../../providers/open-plugin-manager.bun.ts";
import type { CliContext } from "../command.ts";
import { withStore } from "./with-store.ts";

/** A catalogue row and the plugin that declares it. */
export interface CatalogueRow {
  readonly model: Model;
  readonly plugin: ProviderPlugin;
}

/** The rows of every plugin, in the order of the plugins. */
export function toCatalogueRows(plugins: readonly ProviderPlugin[]): CatalogueRow[] {
  return plugins.flatMap((plugin) => plugin.models.map((model) => ({ model, plugin })));
}

/**
 * Loads the models that a server with this configuration would serve, including drop-in plugins and catalogue files. A
 * provider that sells all of its models is requested to list them.
 *
 * @param settings What the database says of providers, from {@link readProviderSettings}.
 */
export async function loadSnapshot(
  context: CliContext,
  config: Config,
  settings: ProviderSettings | undefined,
): Promise<PluginSnapshot> {
  const log = createLog("silent", () => undefined);
  return openPluginManager({ ...(await context.loadBuiltIns()), config, log }, Date.now, settings).load();
}

/**
 * Loads the plugins like {@link loadSnapshot}, but reads no database and sends no request: it does not know stored keys.
 */
export async function loadOffline(context: CliContext, config: Config): Promise<PluginSnapshot> {
  const log = createLog("silent", () => undefined);
  const builtIns = await context.loadBuiltIns();
  return openPluginManager({ ...builtIns, config, log, asksProviders: false }, Date.now).load();
}

/** Reads what the database says of providers, their keys included; `undefined` when there is no database yet. */
export async function readProviderSettings(config: Config): Promise<ProviderSettings | undefined> {
  if (config.databaseUrl === undefined && !existsSync(getDatabaseFile(config))) return undefined;
  return await withStore(config, async ({ store }) => {
    const settings = new ProviderSettings(config, store);
    await settings.read();
    return settings;
  });
}

/** Describes what serves a model at this moment: its plugin, the sandbox, or why nothing does. */
export function getServedBy(
  { plugin, model }: CatalogueRow,
  { states, now }: Pick<PluginSnapshot, "states"> & { now: number },
): string {
  if (isEnded(model, now) && model.whenRetired !== "successor") {
    return `no: its provider ended it on ${model.retiredOn}`;
  }
  const status = states.find(({ name }) => name === plugin.name)?.status;
  const reason = explainUnserved(plugin, status);
  if (reason !== undefined) return `no: ${reason}`;
  return status === "sandbox" ? "sandbox" : plugin.name;
}
