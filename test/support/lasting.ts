import { builtIns } from "../../plugins/index.ts";
import type { Model, ProviderPlugin } from "../../src/provider/index.ts";

/** A plugin whose models answer on any day: those that its provider ends are asked for after that, too. */
const toLasting = (plugin: ProviderPlugin): ProviderPlugin => ({ ...plugin, models: plugin.models.map(last) });

const last = (model: Model): Model => (model.retiredOn === undefined ? model : { ...model, whenRetired: "serve" });

/** The built-in plugins, for tests that name a model and are not about its end. */
export const lastingPlugins: readonly ProviderPlugin[] = builtIns.map(toLasting);
