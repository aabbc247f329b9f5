import type { Config } from "../../config/index.ts";
import { createLog } from "../../observability/log.ts";
import { Providers } from "../../providers/index.ts";
import { openPluginManager } from "../../providers/open-plugin-manager.bun.ts";
import type { CliContext } from "../command.ts";
import { type OpenedStore, withStore } from "./with-store.ts";

/** Opens the providers of the database. A running gateway applies changes within a second. */
export async function withProviders<T>(
  context: CliContext,
  { config, now }: { config: Config; now: number },
  work: (providers: Providers, opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const builtIns = await context.loadBuiltIns();
  const { plugins, manifests } = builtIns;
  return withStore(
    config,
    async (opened) => {
      const { store } = opened;
      const log = createLog("silent", () => undefined);
      const clock = () => now;
      const providers = new Providers({
        config,
        store,
        log,
        now: clock,
        manifests,
        plugins,
        createManager: (settings) => openPluginManager({ ...builtIns, config, log }, clock, settings),
      });
      await providers.load();
      return await work(providers, opened);
    },
    now,
  );
}
