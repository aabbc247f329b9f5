import { openStock } from "../app.ts";
import type { Config } from "../config/config.ts";
import { createLog } from "../observability/log.ts";
import type { Shelf } from "../plugin-loader/index.ts";
import type { CliGround } from "./command.ts";

/** What a server of this configuration would have on sale, its drop-in plugins and own catalogue included. */
export function shelfOf(ground: CliGround, config: Config): Promise<Shelf> {
  const { plugins, sandboxOf } = ground;
  const log = createLog("silent", () => undefined);
  return openStock({ config, plugins, sandboxOf, log }, Date.now).look();
}
