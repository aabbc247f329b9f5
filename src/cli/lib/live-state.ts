import { type Config, getPluginStateFile } from "../../config/index.ts";
import { isEnded } from "../../provider/index.ts";
import { getModelNames, readStateFile, type Served } from "../../providers/index.ts";
import type { CliContext } from "../command.ts";
import { loadSnapshot, readProviderSettings } from "./catalogue.ts";
import { readModelNames } from "./parse.ts";

/** The state of the gateway that runs in this home folder; `undefined` when none does. */
export function readLiveState(config: Config): ReturnType<typeof readStateFile> {
  return readStateFile(getPluginStateFile(config), isRunning);
}

/**
 * Reads the models that the gateway serves that runs in this home folder; `undefined` when none does, or when its list of routes is not
 * whole.
 */
export async function readLiveServed(context: CliContext, config: Config): Promise<Served | undefined> {
  const { providers, sandboxModels = [] } = readLiveState(config) ?? {};
  if (providers === undefined || providers.some(({ routes, served_models: count }) => routes.length < count))
    return undefined;
  const snapshot = await loadSnapshot(context, config, await readProviderSettings(config));
  const names = getModelNames(snapshot);
  const nameOf = await readModelNames(context, config);
  const byModel = new Map<string, string[]>();
  for (const { name, routes } of providers)
    for (const { model } of routes) byModel.set(model, [...(byModel.get(model) ?? []), name]);
  for (const model of sandboxModels) byModel.set(model, [...(byModel.get(model) ?? []), "sandbox"]);
  return {
    describeModel(name) {
      const model = names.find(name);
      if (model === undefined) return undefined;
      const { id, capability } = model;
      const shown = { id, name: nameOf(id), capability };
      return { ...shown, providers: byModel.get(id) ?? [], hasEnded: isEnded(model, Date.now()) };
    },
    capabilitiesOf(provider) {
      const models = snapshot.plugins.find(({ name }) => name === provider)?.models ?? [];
      return new Set(models.map(({ capability }) => capability));
    },
    hasProvider: (name) => providers.some((one) => one.name === name),
    listRoutes: () => [...byModel.values()],
  };
}

/** The last line of a list of providers or plugins. */
export function describeSource(isLive: boolean): string {
  return isLive
    ? "As the running gateway reports"
    : "No gateway runs in this home folder; this is the state after a start";
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user, but it is running.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
