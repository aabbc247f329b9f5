import { type ComponentType, lazy } from "react";
import { OverviewPage } from "../pages/overview/overview-page.tsx";
import type { IconName } from "../ui/icon.tsx";

/** A page of the dashboard in the navigation. */
export interface PageEntry {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  readonly page: ComponentType;
}

/** Pages for everybody. All but the first are loaded on demand. */
export const userPages: readonly PageEntry[] = [
  { path: "/", name: "Overview", icon: "overview", page: OverviewPage },
  { path: "/keys", name: "API keys", icon: "key", page: lazy(() => import("../pages/keys/keys-page.tsx")) },
  { path: "/billing", name: "Billing", icon: "billing", page: lazy(() => import("../pages/billing/billing-page.tsx")) },
  { path: "/models", name: "Models", icon: "models", page: lazy(() => import("../pages/models/models-page.tsx")) },
  {
    path: "/playground",
    name: "Playground",
    icon: "play",
    page: lazy(() => import("../pages/playground/playground-page.tsx")),
  },
];

/** Pages for administrators. */
export const adminPages: readonly PageEntry[] = [
  {
    path: "/admin/accounts",
    name: "Accounts",
    icon: "accounts",
    page: lazy(() => import("../pages/admin/accounts-page.tsx")),
  },
  {
    path: "/admin/vouchers",
    name: "Vouchers",
    icon: "voucher",
    page: lazy(() => import("../pages/admin/vouchers-page.tsx")),
  },
  {
    path: "/admin/plugins",
    name: "Plugins",
    icon: "plugin",
    page: lazy(() => import("../pages/admin/plugins-page.tsx")),
  },
  { path: "/admin/live", name: "Live calls", icon: "pulse", page: lazy(() => import("../pages/admin/live-page.tsx")) },
  {
    path: "/admin/settings",
    name: "Configuration",
    icon: "settings",
    page: lazy(() => import("../pages/admin/config-page.tsx")),
  },
  { path: "/admin/audit", name: "Audit log", icon: "list", page: lazy(() => import("../pages/admin/audit-page.tsx")) },
];

export const settingsPage = lazy(() => import("../pages/settings/settings-page.tsx"));
