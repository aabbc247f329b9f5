import type { ComponentType, ReactNode } from "react";
import { OverviewPage } from "../features/overview/overview-page.tsx";
import type { IconName } from "../kit/icon.tsx";
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
  onDemand("/keys", "API keys", "key", () => import("../features/keys/keys-page.tsx")),
  onDemand("/requests", "Requests", "list", () => import("../features/requests/requests-page.tsx")),
  onDemand("/statistics", "Usage", "pulse", () => import("../features/statistics/usage-page.tsx")),
  onDemand("/billing", "Billing", "billing", () => import("../features/billing/billing-page.tsx")),
  onDemand("/models", "Models", "models", () => import("../features/models/models-page.tsx")),
  onDemand("/playground", "Playground", "play", () => import("../features/playground/playground-page.tsx")),
];

export const adminPages: readonly PageEntry[] = [
  onDemand("/admin/gateway", "Gateway", "overview", () => import("../features/statistics/gateway-page.tsx")),
  onDemand("/admin/accounts", "Accounts", "accounts", () => import("../features/accounts/accounts-page.tsx")),
  onDemand("/admin/keys", "Admin keys", "key", () => import("../features/admin-keys/admin-keys-page.tsx")),
  onDemand("/admin/vouchers", "Vouchers", "voucher", () => import("../features/vouchers/vouchers-page.tsx")),
  onDemand("/admin/providers", "Providers", "admin", () => import("../features/providers/providers-page.tsx")),
  onDemand("/admin/catalogue", "Catalogue", "models", () => import("../features/catalogue/catalogue-page.tsx")),
  onDemand("/admin/plugins", "Plugins", "plugin", () => import("../features/plugins/plugins-page.tsx")),
  onDemand("/admin/alerts", "Alerts", "bell", () => import("../features/alerts/alerts-page.tsx")),
  onDemand("/admin/live", "Live calls", "pulse", () => import("../features/live/live-page.tsx")),
  onDemand(
    "/admin/settings",
    "Configuration",
    "settings",
    () => import("../features/configuration/configuration-page.tsx"),
  ),
  onDemand("/admin/audit", "Audit log", "list", () => import("../features/audit/audit-page.tsx")),
];

export const accountPage = (
  <LazyPage path="/admin/accounts/:id" load={() => import("../features/account/account-page.tsx")} />
);
export const settingsPage = <LazyPage path="/settings" load={() => import("../features/settings/settings-page.tsx")} />;
