import { mayAdminister } from "../../tenants/index.ts";
import type { ContentSink, ModuleParts, OpenModule } from "../module.ts";
import { createContentLog } from "./content-log.ts";
import { accountContentRoutes, contentRoutes } from "./page-routes.ts";
import { createRedact } from "./redact.ts";
import { settings } from "./settings.ts";

const pruneMs = 60_000;
/** How long the end of the process waits for unwritten content. */
const flushMsMax = 5000;

/**
 * Opens the content log with its timer.
 *
 * @throws {ConfigError} When CONTENT_LOG_REDACT cannot be used.
 */
export async function openContentLog({ config, store, log, now, contentSinks }: ModuleParts): Promise<OpenModule> {
  const { contentLog: mode, contentLogRedact } = config.of(settings);
  const sink: ContentSink = {
    prepare(call) {
      const sends = contentSinks().map((each) => each.prepare(call));
      return (content) => {
        for (const send of sends) send(content);
      };
    },
  };
  const redact = mode === "off" ? undefined : await createRedact(contentLogRedact);
  const contentLog = createContentLog({ config, store, log, now, sink }, redact);
  const { keeper } = contentLog;
  const report = (error: unknown) => log.warn("maintenance_failed", { error });
  const timer = setInterval(() => void contentLog.prune().catch(report), pruneMs).unref();
  return {
    pageRoutes: (deps) => [...contentRoutes(deps, contentLog), ...accountContentRoutes(deps, contentLog)],
    // Viewers see no prompts.
    requestFacts: async ({ accountId, ownAccountId: personId, role }, id) => ({
      has_content:
        role !== "viewer" && (await contentLog.has({ accountId, personId, seesAll: mayAdminister(role) }, id)),
    }),
    ...(keeper !== undefined && {
      watchCall(request) {
        const copy = keeper.copy(request);
        return copy && { request: copy.request, ended: (call, answer) => keeper.keep(call, copy, answer) };
      },
    }),
    async flush() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const limit = setTimeout(resolve, flushMsMax);
      await Promise.race([keeper?.flush(), promise]);
      clearTimeout(limit);
    },
    async close() {
      clearInterval(timer);
    },
  };
}
