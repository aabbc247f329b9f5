/** The page that is the project's changelog; the others are in `docs/`. */
export const changelog = "changelog";

/** A page of the documentation. */
export interface HelpPage {
  /** Name of its file without `.md`, and of its address below `/help/`. */
  readonly name: string;
  readonly title: string;
  /** A summary for the list of pages. */
  readonly description: string;
  readonly load: () => Promise<{ readonly default: string }>;
}

export interface HelpGroup {
  readonly title: string;
  readonly pages: readonly HelpPage[];
}

/** The pages that account holders and operators need. The text of each is loaded when it is opened. */
export const helpGroups: readonly HelpGroup[] = [
  {
    title: "Use the gateway",
    pages: [
      {
        name: "dashboard",
        title: "Dashboard",
        description: "The pages of this dashboard and their purpose",
        load: () => import("../../../../docs/dashboard.md", { with: { type: "text" } }),
      },
      {
        name: "agents",
        title: "Coding agents and SDKs",
        description: "Codex, Claude Code, OpenCode, Cursor and other clients",
        load: () => import("../../../../docs/agents.md", { with: { type: "text" } }),
      },
      {
        name: "api",
        title: "API",
        description: "Endpoints, headers, errors, repeated requests",
        load: () => import("../../../../docs/api.md", { with: { type: "text" } }),
      },
      {
        name: "endpoints",
        title: "Endpoints in detail",
        description: "Fields of each endpoint, stored responses, differences between providers",
        load: () => import("../../../../docs/endpoints.md", { with: { type: "text" } }),
      },
      {
        name: "models",
        title: "Models and prices",
        description: "Names, prices, service tiers, virtual models, retired models",
        load: () => import("../../../../docs/models.md", { with: { type: "text" } }),
      },
      {
        name: "billing",
        title: "Billing",
        description: "One call in dollars, holds, wallets, interrupted calls, audits",
        load: () => import("../../../../docs/billing.md", { with: { type: "text" } }),
      },
      {
        name: "budgets",
        title: "Budgets and limits",
        description: "Spending limits of keys, teams, end users and models",
        load: () => import("../../../../docs/budgets.md", { with: { type: "text" } }),
      },
      {
        name: "accounts",
        title: "Accounts, keys and teams",
        description: "API keys, teams, roles, sign-in, the audit log",
        load: () => import("../../../../docs/accounts.md", { with: { type: "text" } }),
      },
      {
        name: "troubleshooting",
        title: "Troubleshooting",
        description: "Messages, their causes and remedies",
        load: () => import("../../../../docs/troubleshooting.md", { with: { type: "text" } }),
      },
    ],
  },
  {
    title: "Operate it",
    pages: [
      {
        name: "team-access",
        title: "Give my team access",
        description: "Single sign-on, roles, a team with a budget, keys",
        load: () => import("../../../../docs/team-access.md", { with: { type: "text" } }),
      },
      {
        name: "identity-provider",
        title: "Connect an identity provider",
        description: "Single sign-on, users and groups by SCIM, tokens in place of API keys",
        load: () => import("../../../../docs/identity-provider.md", { with: { type: "text" } }),
      },
      {
        name: "sell-access",
        title: "Sell access",
        description: "Sign-up, prices, payments, vouchers",
        load: () => import("../../../../docs/sell-access.md", { with: { type: "text" } }),
      },
      {
        name: "incidents",
        title: "The ten things that happen",
        description: "A leaked key, a failing provider, a question about a charge, an upgrade",
        load: () => import("../../../../docs/incidents.md", { with: { type: "text" } }),
      },
      {
        name: "command-line",
        title: "Command line",
        description: "Exit codes, output for programs, completion in shells",
        load: () => import("../../../../docs/command-line.md", { with: { type: "text" } }),
      },
      {
        name: "providers",
        title: "Providers",
        description: "Built-in ones, clouds, servers of your own, keys and routes",
        load: () => import("../../../../docs/providers.md", { with: { type: "text" } }),
      },
      {
        name: "policies",
        title: "Policies",
        description: "Files that refuse requests and answers, or mask text in them",
        load: () => import("../../../../docs/policies.md", { with: { type: "text" } }),
      },
      {
        name: "observability",
        title: "Observability",
        description: "Metrics, health, logs, statistics, the content log",
        load: () => import("../../../../docs/observability.md", { with: { type: "text" } }),
      },
      {
        name: "alerts",
        title: "Alerts",
        description: "PagerDuty, Slack, Teams, Discord, email, rules, digests",
        load: () => import("../../../../docs/alerts.md", { with: { type: "text" } }),
      },
      {
        name: "configuration",
        title: "Configuration",
        description: "Every setting, proxies, overload",
        load: () => import("../../../../docs/configuration.md", { with: { type: "text" } }),
      },
      {
        name: "deployment",
        title: "Deployment",
        description: "Install, upgrade, back up, several nodes",
        load: () => import("../../../../docs/deployment.md", { with: { type: "text" } }),
      },
      {
        name: "postgresql",
        title: "PostgreSQL for production",
        description: "Set up, standby and failover, backup, size and upkeep",
        load: () => import("../../../../docs/postgresql.md", { with: { type: "text" } }),
      },
      {
        name: "runbook",
        title: "Runbook",
        description: "Each alert and outage: symptoms, remedies, possible losses",
        load: () => import("../../../../docs/runbook.md", { with: { type: "text" } }),
      },
      {
        name: "management-api",
        title: "Management API",
        description: "Admin keys, endpoints, the whole configuration as one document",
        load: () => import("../../../../docs/management-api.md", { with: { type: "text" } }),
      },
      {
        name: "moving",
        title: "Moving in and out",
        description: "From LiteLLM, new-api and OpenRouter; exports",
        load: () => import("../../../../docs/moving.md", { with: { type: "text" } }),
      },
      {
        name: "plugins",
        title: "Plugins",
        description: "A provider as a manifest or as code",
        load: () => import("../../../../docs/plugins.md", { with: { type: "text" } }),
      },
      {
        name: "write-a-plugin",
        title: "Write a plugin",
        description: "From an empty folder to a served model",
        load: () => import("../../../../docs/write-a-plugin.md", { with: { type: "text" } }),
      },
      {
        name: "security",
        title: "Security",
        description: "Each threat, its countermeasure and its test",
        load: () => import("../../../../docs/security.md", { with: { type: "text" } }),
      },
      {
        name: changelog,
        title: "What's new",
        description: "Changes in each version, and how to upgrade",
        load: () => import("../../../../CHANGELOG.md", { with: { type: "text" } }),
      },
    ],
  },
];

export const helpPages: readonly HelpPage[] = helpGroups.flatMap(({ pages }) => pages);

/** Anchor of a heading, made as GitHub makes it, so the links between the pages also work here. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

const sourceUrl = "https://github.com/modelgate/modelgate/blob/main/";

const toSource = (name: string) => `${sourceUrl}${name === changelog ? "CHANGELOG.md" : `docs/${name}.md`}`;

/**
 * Target of a link in a page: a page that is served here, else the file in the repository.
 *
 * @param page Name of the page that contains the link.
 */
export function toHelpAddress(href: string, page: string): string {
  const { href: address, hash } = new URL(href, toSource(page));
  const source = address.slice(0, address.length - hash.length);
  const target = helpPages.find(({ name }) => toSource(name) === source);
  if (target === undefined) return address;
  return target.name === page ? hash : `/help/${target.name}${hash}`;
}
