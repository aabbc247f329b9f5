import type { ComponentType, ReactNode } from "react";
import { OverviewPage } from "../pages/overview/overview-page.tsx";
import type { IconName } from "../ui/icon.tsx";
import { LazyPage } from "./lazy-page.tsx";

export interface PageEntry {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  readonly page: ReactNode;
}

/** A page that is loaded on demand. */
function onDemand(
  path: string,
  name: string,
  icon: IconName,
  load: () => Promise<{ default: ComponentType }>,
): PageEntry {
  return { path, name, icon, page: <LazyPage path={path} load={load} /> };
}

/** Pages for everybody. */
export const userPages: readonly PageEntry[] = [
  { path: "/", name: "Overview", icon: "overview", page: <OverviewPage /> },
  onDemand("/keys", "API keys", "key", () => import("../pages/keys/keys-page.tsx")),
  onDemand("/requests", "Requests", "list", () => import("../pages/requests/requests-page.tsx")),
  onDemand("/statistics", "Usage", "pulse", () => import("../pages/statistics/usage-page.tsx")),
  onDemand("/billing", "Billing", "billing", () => import("../pages/billing/billing-page.tsx")),
  onDemand("/models", "Models", "models", () => import("../pages/models/models-page.tsx")),
  onDemand("/playground", "Playground", "play", () => import("../pages/playground/playground-page.tsx")),
];

export const adminPages: readonly PageEntry[] = [
  onDemand("/admin/gateway", "Gateway", "overview", () => import("../pages/statistics/gateway-page.tsx")),
  onDemand("/admin/accounts", "Accounts", "accounts", () => import("../pages/admin/accounts-page.tsx")),
  onDemand("/admin/keys", "Admin keys", "key", () => import("../pages/admin/admin-keys-page.tsx")),
  onDemand("/admin/vouchers", "Vouchers", "voucher", () => import("../pages/admin/vouchers-page.tsx")),
  onDemand("/admin/providers", "Providers", "admin", () => import("../pages/admin/providers/providers-page.tsx")),
  onDemand("/admin/catalogue", "Catalogue", "models", () => import("../pages/admin/catalogue/catalogue-page.tsx")),
  onDemand("/admin/plugins", "Plugins", "plugin", () => import("../pages/admin/plugins-page.tsx")),
  onDemand("/admin/alerts", "Alerts", "bell", () => import("../pages/alerts/alerts-page.tsx")),
  onDemand("/admin/live", "Live calls", "pulse", () => import("../pages/admin/live-page.tsx")),
  onDemand("/admin/settings", "Configuration", "settings", () => import("../pages/admin/config-page.tsx")),
  onDemand("/admin/audit", "Audit log", "list", () => import("../pages/admin/audit-page.tsx")),
];

export const accountPage = (
  <LazyPage path="/admin/accounts/:id" load={() => import("../pages/admin/account/account-page.tsx")} />
);
export const settingsPage = <LazyPage path="/settings" load={() => import("../pages/settings/settings-page.tsx")} />;
