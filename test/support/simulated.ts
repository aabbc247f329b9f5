import { builtIns } from "../../plugins/index.ts";
import type { ProviderPlugin } from "../../src/provider/index.ts";

/** The built-in plugins whose models the sandbox simulates: not those of clouds. */
export const simulated: readonly ProviderPlugin[] = builtIns.filter(({ credential }) => typeof credential === "string");
