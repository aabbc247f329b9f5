import { describeConfig } from "../../config/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";

/** The settings of the gateway, for administrators. */
export function systemStatusController(deps: HttpDeps) {
  const { config } = deps;
  const route = withAdminSession(deps, "/admin");
  return [
    route.get("/settings", () => ({ data: describeConfig(config, readableCredentials(deps)), version: deps.version })),
  ];
}

/**
 * Plugins whose credentials can be read from the environment; what is wrong with others is in their state. Of those that
 * take nothing of it, the names would tell which variables there are.
 */
function readableCredentials({ config, snapshot }: HttpDeps) {
  return snapshot().plugins.flatMap((plugin) => {
    if (plugin.environment === false) return [];
    try {
      config.credentials(plugin);
      return [plugin];
    } catch {
      return [];
    }
  });
}
