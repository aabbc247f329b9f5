import { type ComponentType, type ReactNode, useMemo } from "react";
import { maySeeAll, type Role } from "../data/roles.ts";
import { OverviewPage } from "../features/overview/overview-page.tsx";
import type { IconName } from "../kit/icon.tsx";
import { insertAfter, type ModulePage, useModules } from "../kit/modules.tsx";
import { LazyPage } from "./lazy-page.tsx";

export interface PageEntry {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Page and section of the documentation about it. */
  readonly help: string;
  readonly page: ReactNode;
}

/** A page that is loaded on demand. */
function onDemand(
  path: string,
  entry: Pick<PageEntry, "name" | "icon" | "help">,
  load: () => Promise<{ default: ComponentType }>,
): PageEntry {
  return { path, ...entry, page: <LazyPage path={path} load={load} /> };
}

const overview = {
  name: "Overview",
  icon: "overview",
  help: "dashboard#home-and-overview",
  page: <OverviewPage />,
} as const;
const connect = onDemand(
  "/connect",
  { name: "Connect", icon: "plugin", help: "agents" },
  () => import("../features/connect/connect-page.tsx"),
);
const requests = onDemand(
  "/requests",
  { name: "Requests", icon: "list", help: "observability#request-log" },
  () => import("../features/requests/requests-page.tsx"),
);
const sessions = onDemand(
  "/sessions",
  { name: "Sessions", icon: "branch", help: "agents#sessions-and-their-agents" },
  () => import("../features/sessions/sessions-page.tsx"),
);
const keys = onDemand(
  "/keys",
  { name: "API keys", icon: "key", help: "accounts#accounts-and-keys" },
  () => import("../features/keys/keys-page.tsx"),
);
const usage = onDemand(
  "/statistics",
  { name: "Usage", icon: "pulse", help: "observability#statistics" },
  () => import("../features/statistics/usage-page.tsx"),
);
const billing = onDemand(
  "/billing",
  { name: "Billing", icon: "billing", help: "billing" },
  () => import("../features/billing/billing-page.tsx"),
);
const models = onDemand(
  "/models",
  { name: "Models", icon: "models", help: "models" },
  () => import("../features/models/models-page.tsx"),
);
const playground = onDemand(
  "/playground",
  { name: "Playground", icon: "play", help: "dashboard#playground" },
  () => import("../features/playground/playground-page.tsx"),
);

const status = onDemand(
  "/status",
  { name: "Status", icon: "status", help: "observability#health-of-providers" },
  () => import("../features/status/status-page.tsx"),
);

/** Pages under one heading of the navigation. */
export interface PageGroup {
  readonly title?: string;
  readonly pages: readonly PageEntry[];
}

/** Where everybody begins. */
const memberPages: readonly PageGroup[] = [
  {
    pages: [{ path: "/", ...overview }, connect, keys, requests, sessions, usage, billing, models, playground, status],
  },
];

const adminPages: readonly PageEntry[] = [
  onDemand(
    "/admin/gateway",
    { name: "Usage", icon: "chart", help: "observability#statistics" },
    () => import("../features/statistics/gateway-page.tsx"),
  ),
  onDemand(
    "/admin/accounts",
    { name: "Accounts", icon: "accounts", help: "accounts" },
    () => import("../features/accounts/accounts-page.tsx"),
  ),
  onDemand(
    "/admin/api-keys",
    { name: "All API keys", icon: "key", help: "dashboard#accounts-and-keys" },
    () => import("../features/keys/all-keys-page.tsx"),
  ),
  onDemand(
    "/admin/keys",
    { name: "Admin keys", icon: "keys", help: "management-api#admin-keys" },
    () => import("../features/admin-keys/admin-keys-page.tsx"),
  ),
  onDemand(
    "/admin/providers",
    { name: "Providers", icon: "admin", help: "providers#providers-in-the-dashboard" },
    () => import("../features/providers/providers-page.tsx"),
  ),
  onDemand(
    "/admin/catalogue",
    { name: "Models and prices", icon: "tag", help: "models" },
    () => import("../features/catalogue/catalogue-page.tsx"),
  ),
  onDemand(
    "/admin/alerts",
    { name: "Alerts", icon: "bell", help: "alerts" },
    () => import("../features/alerts/alerts-page.tsx"),
  ),
  onDemand(
    "/admin/live",
    { name: "Live calls", icon: "live", help: "dashboard#live-calls" },
    () => import("../features/live/live-page.tsx"),
  ),
  onDemand(
    "/admin/settings",
    { name: "Configuration", icon: "settings", help: "configuration" },
    () => import("../features/configuration/configuration-page.tsx"),
  ),
  onDemand(
    "/admin/audit",
    { name: "Audit log", icon: "history", help: "accounts#audit-log" },
    () => import("../features/audit/audit-page.tsx"),
  ),
];

/** Operators see pages of the gateway first, and pages of their own account in a separate group. */
const toOperatorPages = (ofModules: readonly ModulePage[]): readonly PageGroup[] => [
  {
    pages: [
      onDemand(
        "/",
        { name: "Home", icon: "home", help: "dashboard#home-and-overview" },
        () => import("../features/home/home-page.tsx"),
      ),
      requests,
      sessions,
      models,
      playground,
      connect,
      status,
    ],
  },
  { title: "My account", pages: [{ path: "/overview", ...overview }, keys, usage, billing] },
  { title: "Administration", pages: insertAfter(adminPages, ofModules.map(toEntry), ({ path }) => path) },
];

const toEntry = ({ path, after, load, ...entry }: ModulePage) => ({ ...onDemand(path, entry, load), after });

/** The pages of a user of this role, also of modules. */
export function usePages(role: Role): readonly PageGroup[] {
  const modules = useModules();
  return useMemo(
    () => (maySeeAll(role) ? toOperatorPages(modules.flatMap(({ pages = [] }) => pages)) : memberPages),
    [role, modules],
  );
}

/** Pages that the navigation does not link to. Only users who see all accounts get the pages below `/admin`. */
export const otherPages: readonly Omit<PageEntry, "name" | "icon">[] = [
  {
    path: "/admin/accounts/:id",
    help: "accounts",
    page: <LazyPage path="/admin/accounts/:id" load={() => import("../features/account/account-page.tsx")} />,
  },
  {
    path: "/admin/providers/:name",
    help: "providers#providers-in-the-dashboard",
    page: <LazyPage path="/admin/providers/:name" load={() => import("../features/providers/provider-page.tsx")} />,
  },
  {
    path: "/statement",
    help: "dashboard#billing",
    page: <LazyPage path="/statement" load={() => import("../features/billing/statement-page.tsx")} />,
  },
  {
    path: "/settings",
    help: "accounts#sign-in-methods",
    page: <LazyPage path="/settings" load={() => import("../features/settings/settings-page.tsx")} />,
  },
];

export const helpPage = <LazyPage path="/help" load={() => import("../features/help/help-page.tsx")} />;
