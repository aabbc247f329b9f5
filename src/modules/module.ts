import type { Config, SettingGroup } from "../config/index.ts";
import type { Store } from "../db/index.ts";
import type { HttpModule } from "../http/module.ts";
import type { AnyResource } from "../http/resources/resource.ts";
import type { Log } from "../kernel/index.ts";

/**
 * A feature that can be deleted: its folder has its settings, routes, pages and texts, and the gateway knows it by its line in
 * `list.ts` (and `pages.ts`, if it has pages).
 */
export interface Module {
  readonly name: string;
  readonly settings?: SettingGroup;
  /** Managed things: their routes and their commands are made from them. */
  readonly resources?: readonly AnyResource[];
  /** Builds it when the gateway starts. */
  open(parts: ModuleParts): Promise<OpenModule>;
}

/** The parts of the gateway that modules are built from. */
export interface ModuleParts {
  readonly config: Config;
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
}

/** A module of a gateway that runs. */
export type OpenModule = Omit<HttpModule, "resources">;

/** Opens modules for a gateway. */
export async function openModules(modules: readonly Module[], parts: ModuleParts): Promise<HttpModule[]> {
  return await Promise.all(modules.map(async ({ resources, open }) => ({ ...(await open(parts)), resources })));
}
