import type { Gateway, ModuleParts, OpenModule } from "../module.ts";
import { alertSection } from "./document-section.ts";
import { startAlerts } from "./open-alerts.ts";
import { organizationAlerts } from "./organization-routes.ts";
import { ownAlerts } from "./page-routes.ts";
import { readFiring } from "./record-findings.ts";
import { gatewayOwner } from "./rule-settings.ts";
import { ServiceHealth } from "./service-health.ts";

/** Opens the alerts of a gateway. Its timers begin when it is built. */
export function openAlerts(parts: ModuleParts): OpenModule {
  const { store, now, nodeName } = parts;
  let gateway: Gateway | undefined;
  const service = new ServiceHealth({
    gateway: nodeName,
    trouble: () => gateway?.trouble(),
    isDraining: () => gateway?.isDraining() === true,
    now,
  });
  return {
    observer: service.observer,
    pageRoutes: ownAlerts,
    organizationRoutes: organizationAlerts,
    sections: { alerts: alertSection },
    async attention() {
      const firing = await readFiring(store, gatewayOwner, { now: now(), publicUrl: undefined });
      return { "/admin/alerts": firing.filter(({ mutedUntil }) => mutedUntil === undefined).length };
    },
    start(running) {
      gateway = running;
      return startAlerts({ ...parts, ...running, service });
    },
  };
}
