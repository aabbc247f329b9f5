import { type ComponentType, type ReactNode, useMemo } from "react";
import { maySeeAll, type Role } from "../data/roles.ts";
import type { IconName } from "../kit/icon.tsx";
import { insertAfter, type ModulePage, useModules } from "../kit/modules.tsx";
import { LazyPage } from "./lazy-page.tsx";

export interface PageEntry {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Page and section of the documentation about it. */
  readonly help: string;
  /** Words that people look for it by, apart from its name; separated by commas. */
  readonly words?: string | undefined;
  readonly page: ReactNode;
}

/** A page that is loaded on demand. */
function onDemand(
  path: string,
  entry: Pick<PageEntry, "name" | "icon" | "help" | "words">,
  load: () => Promise<{ default: ComponentType }>,
): PageEntry {
  return { path, ...entry, page: <LazyPage path={path} load={load} /> };
}

const overviewAt = (path: string, name: string) =>
  onDemand(
    path,
    { name, icon: "overview", help: "dashboard#home-and-overview" },
    () => import("../features/overview/overview-page.tsx"),
  );
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
const team = onDemand(
  "/team",
  { name: "Team", icon: "accounts", help: "accounts#teams" },
  () => import("../features/team/team-page.tsx"),
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

/** A link of the navigation, in a group of such. It leads to the first of its pages, which has the others as tabs. */
export interface PageLink extends Pick<PageEntry, "name" | "icon"> {
  readonly pages: readonly PageEntry[];
}

function link(name: string, ...pages: readonly [PageEntry, ...PageEntry[]]): PageLink {
  return { name, icon: pages[0].icon, pages };
}

const [connectLink, playgroundLink] = [link("Connect", connect), link("Playground", playground)];

/** The links of members. */
const memberLinks: readonly (readonly PageLink[])[] = [
  [
    link("Overview", overviewAt("/", "Overview")),
    link("Requests", requests, sessions),
    link("Usage", usage),
    link("Models", models),
    link("Status", status),
  ],
  [link("API keys", keys), link("Billing", billing), link("Team", team), playgroundLink, connectLink],
];

const gateway = onDemand(
  "/admin/gateway",
  { name: "All accounts", icon: "pulse", help: "observability#statistics" },
  () => import("../features/statistics/gateway-page.tsx"),
);
const accounts = onDemand(
  "/admin/accounts",
  { name: "Accounts", icon: "accounts", help: "accounts" },
  () => import("../features/accounts/accounts-page.tsx"),
);
const budgets = onDemand(
  "/admin/budgets",
  { name: "Budgets and limits", icon: "billing", help: "budgets" },
  () => import("../features/budgets/budgets-page.tsx"),
);
const groups = onDemand(
  "/admin/groups",
  { name: "Groups", icon: "accounts", help: "identity-provider#users-and-groups-by-scim" },
  () => import("../features/groups/groups-page.tsx"),
);
const allKeys = onDemand(
  "/admin/api-keys",
  { name: "All API keys", icon: "key", help: "dashboard#accounts-and-keys" },
  () => import("../features/keys/all-keys-page.tsx"),
);
const adminKeys = onDemand(
  "/admin/keys",
  { name: "Admin keys", icon: "keys", help: "management-api#admin-keys" },
  () => import("../features/admin-keys/admin-keys-page.tsx"),
);
const providers = onDemand(
  "/admin/providers",
  { name: "Providers", icon: "admin", help: "providers#providers-in-the-dashboard" },
  () => import("../features/providers/providers-page.tsx"),
);
const catalogue = onDemand(
  "/admin/catalogue",
  { name: "Models and prices", icon: "tag", help: "models" },
  () => import("../features/catalogue/catalogue-page.tsx"),
);
const live = onDemand(
  "/admin/live",
  { name: "Live calls", icon: "live", help: "dashboard#live-calls" },
  () => import("../features/live/live-page.tsx"),
);
const configuration = onDemand(
  "/admin/settings",
  { name: "Configuration", icon: "settings", help: "configuration" },
  () => import("../features/configuration/configuration-page.tsx"),
);
const statements = onDemand(
  "/admin/statements",
  { name: "Statements", icon: "billing", help: "dashboard#billing" },
  () => import("../features/billing/statements-page.tsx"),
);
const audit = onDemand(
  "/admin/audit",
  { name: "Audit log", icon: "history", help: "accounts#audit-log" },
  () => import("../features/audit/audit-page.tsx"),
);

/** Operators see the gateway first; the pages of their own account are tabs beside those of all. */
const operatorLinks: readonly (readonly PageLink[])[] = [
  [
    link(
      "Home",
      onDemand(
        "/",
        { name: "Home", icon: "home", help: "dashboard#home-and-overview" },
        () => import("../features/home/home-page.tsx"),
      ),
    ),
    link("Requests", requests, sessions, live),
    link("Usage", gateway, overviewAt("/overview", "My account"), { ...usage, name: "My usage" }),
    link("Models", models, catalogue),
    link("Providers", providers, status),
  ],
  [
    link("API keys", { ...keys, name: "My API keys" }, allKeys, adminKeys),
    link("Billing", billing, statements),
    link("Accounts", accounts, budgets, groups, { ...team, name: "My team" }),
    playgroundLink,
    connectLink,
  ],
  [link("Settings", configuration, audit)],
];

const toEntry = ({ path, after, hasLink, name, icon, help, words, load }: ModulePage) => ({
  ...onDemand(path, { name, icon, help, words }, load),
  after,
  hasLink,
});

/** The links of a user of this role, with the pages of modules behind those that they follow. */
export function useLinks(role: Role): readonly (readonly PageLink[])[] {
  const modules = useModules();
  return useMemo(() => {
    if (!maySeeAll(role)) return memberLinks;
    const added = modules.flatMap(({ pages = [] }) => pages).map(toEntry);
    const insert = ({ pages, ...shown }: PageLink): PageLink[] => {
      const following = added.filter(({ after }) => pages.some(({ path }) => path === after));
      const { links = [], tabs = [] } = Object.groupBy(following, ({ hasLink }) => (hasLink ? "links" : "tabs"));
      return [
        { ...shown, pages: insertAfter(pages, tabs, ({ path }) => path) },
        ...links.map((page) => link(page.name, page)),
      ];
    };
    return operatorLinks.map((links) => links.flatMap(insert));
  }, [role, modules]);
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
