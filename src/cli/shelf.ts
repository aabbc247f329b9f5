import { openPluginManager } from "../app.ts";
import type { Config } from "../config/index.ts";
import { createLog } from "../observability/log.ts";
import type { PluginSnapshot } from "../plugin-loader/index.ts";
import type { CliContext } from "./command.ts";

/** What a server of this configuration would have on sale, its drop-in plugins and own catalogue included. */
export function shelfOf(ground: CliContext, config: Config): Promise<PluginSnapshot> {
  const { plugins, sandboxOf } = ground;
  const log = createLog("silent", () => undefined);
  return openPluginManager({ config, plugins, sandboxOf, log }, Date.now).load();
}
