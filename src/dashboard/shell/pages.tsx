import type { ComponentType, ReactNode } from "react";
import { maySeeAll, type Role } from "../data/roles.ts";
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

const overview = { name: "Overview", icon: "overview", page: <OverviewPage /> } as const;
const connect = onDemand("/connect", "Connect", "plugin", () => import("../features/connect/connect-page.tsx"));
const requests = onDemand("/requests", "Requests", "list", () => import("../features/requests/requests-page.tsx"));
const keys = onDemand("/keys", "API keys", "key", () => import("../features/keys/keys-page.tsx"));
const usage = onDemand("/statistics", "Usage", "pulse", () => import("../features/statistics/usage-page.tsx"));
const billing = onDemand("/billing", "Billing", "billing", () => import("../features/billing/billing-page.tsx"));
const models = onDemand("/models", "Models", "models", () => import("../features/models/models-page.tsx"));
const playground = onDemand(
  "/playground",
  "Playground",
  "play",
  () => import("../features/playground/playground-page.tsx"),
);

const status = onDemand("/status", "Status", "status", () => import("../features/status/status-page.tsx"));

/** Pages under one heading of the navigation. */
export interface PageGroup {
  readonly title?: string;
  readonly pages: readonly PageEntry[];
}

/** Where everybody begins. */
const memberPages: readonly PageGroup[] = [
  { pages: [{ path: "/", ...overview }, connect, keys, requests, usage, billing, models, playground, status] },
];

const adminPages: readonly PageEntry[] = [
  onDemand("/admin/gateway", "Gateway usage", "chart", () => import("../features/statistics/gateway-page.tsx")),
  onDemand("/admin/accounts", "Accounts", "accounts", () => import("../features/accounts/accounts-page.tsx")),
  onDemand("/admin/api-keys", "All API keys", "key", () => import("../features/keys/all-keys-page.tsx")),
  onDemand("/admin/keys", "Admin keys", "keys", () => import("../features/admin-keys/admin-keys-page.tsx")),
  onDemand("/admin/vouchers", "Vouchers", "voucher", () => import("../features/vouchers/vouchers-page.tsx")),
  onDemand("/admin/providers", "Providers", "admin", () => import("../features/providers/providers-page.tsx")),
  onDemand("/admin/catalogue", "Catalogue", "tag", () => import("../features/catalogue/catalogue-page.tsx")),
  onDemand("/admin/alerts", "Alerts", "bell", () => import("../features/alerts/alerts-page.tsx")),
  onDemand("/admin/live", "Live calls", "live", () => import("../features/live/live-page.tsx")),
  onDemand(
    "/admin/settings",
    "Configuration",
    "settings",
    () => import("../features/configuration/configuration-page.tsx"),
  ),
  onDemand("/admin/audit", "Audit log", "history", () => import("../features/audit/audit-page.tsx")),
];

/** Whoever sees all accounts begins with the gateway; what is of their own account stands apart. */
const operatorPages: readonly PageGroup[] = [
  {
    pages: [
      onDemand("/", "Home", "home", () => import("../features/home/home-page.tsx")),
      requests,
      models,
      playground,
      connect,
      status,
    ],
  },
  { title: "My account", pages: [{ path: "/overview", ...overview }, keys, usage, billing] },
  { title: "Administration", pages: adminPages },
];

export function listPages(role: Role): readonly PageGroup[] {
  return maySeeAll(role) ? operatorPages : memberPages;
}

export const accountPage = (
  <LazyPage path="/admin/accounts/:id" load={() => import("../features/account/account-page.tsx")} />
);
export const providerPage = (
  <LazyPage path="/admin/providers/:name" load={() => import("../features/providers/provider-page.tsx")} />
);
export const statementPage = (
  <LazyPage path="/statement" load={() => import("../features/billing/statement-page.tsx")} />
);
export const settingsPage = <LazyPage path="/settings" load={() => import("../features/settings/settings-page.tsx")} />;
