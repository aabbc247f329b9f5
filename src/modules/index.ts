import * as list from "./list.ts";
import type { Module } from "./module.ts";

export { type OpenedModule, openModules, type VerifyLedger } from "./module.ts";

/** The modules of this gateway, in the order of their names. */
export const modules: readonly Module[] = Object.values(list);

/** Their settings, for {@link readConfig}. */
export const moduleSettings = modules.flatMap(({ settings = [] }) => settings);
