import { fromSeconds } from "../../data/api.ts";
import { type Role, toRoleName } from "../../data/roles.ts";
import { formatCount, formatDay, formatExactPercent, formatUsd } from "../../format.ts";
import { type AuditGroup, type AuditTexts, insertAfter, type ModuleParts } from "../../kit/modules.tsx";
import type { AuditEntry } from "./api.ts";

type Detail = AuditEntry["detail"];

/** Actors that are not accounts. */
const actors: Readonly<Record<string, string>> = {
  cli: "Command line",
  file: "File of the operator",
  oidc: "Identity provider",
  jwt: "First call of a token",
};

export function describeActor(
  { actors }: AuditTexts,
  { account_name: label, account, os_user: osUser }: AuditEntry,
): string {
  const name = label ?? actors?.[account] ?? account;
  return osUser === null ? name : `${name} (${osUser})`;
}

const sentences: AuditTexts["sentences"] = {
  "account.create": () => "Created the account",
  "account.change": describeChange,
  "account.invite": () => "Created an invitation link",
  "account.credit": ({ usd, note, repeated }) =>
    `Added ${toUsd(usd)} credit: ${note}${repeated === true ? " (already booked, so nothing was added)" : ""}`,
  "account.debit": ({ usd, note }) => `Deducted ${toUsd(usd)}: ${note}`,
  "account.reverse": ({ usd, note }) => `Reversed a credit of ${toUsd(usd)}: ${String(note).replace("Reversal: ", "")}`,
  "account.quota": ({ tokens }) =>
    typeof tokens === "number"
      ? `Set the free quota to ${formatCount(tokens)} tokens per day`
      : "Reset the free quota to the default",
  "account.billing": ({ billed_afterwards: isOn }) =>
    isOn === true
      ? "Billed afterwards: its budget replaces the wallet"
      : "No longer billed afterwards: the wallet pays",
  "account.limits": (limits) => `Set the limit of ${toFiguresText(limits)}`,
  "account.invitation_delete": () => "Deleted the invitation link",
  "account.disabled": ({ disabled, keys }) =>
    disabled === true
      ? `Disabled the account${Number(keys) > 0 ? `, and revoked ${Number(keys)} of its user’s keys in other accounts` : ""}`
      : "Enabled the account",
  "account.provision": ({ email, external_id: id }) =>
    typeof email === "string" ? `Provisioned the user ${email}` : `Set the identity provider’s id to ${id ?? "none"}`,
  "account.password": () => "Reset the password",
  "account.claim_end": ({ keys, people, teams, invitations, channels }) =>
    `Verified the email, and ended everything created before: API keys ${keys}, people ${people}, teams ${teams}, invitations ${invitations}, alert channels ${channels}`,
  "account.sign_out": ({ sessions }) => `Ended ${sessions === 1 ? "1 session" : `${sessions} sessions`}`,
  "mail_server.set": (_, subject) => (subject === "none" ? "Removed the mail server" : "Set the mail server"),
  "managed_settings.set": (_, subject) =>
    subject === "none"
      ? "Removed the managed settings of developers’ programs"
      : `Set the managed settings of developers’ programs (${subject})`,
  "session.end": ({ agent, calls }) =>
    `Ended ${agent === null ? "a session" : `the agent ${agent} of a session`}, and ${Number(calls) === 1 ? "1 running call" : `${formatCount(Number(calls))} running calls`} of it`,
  "call.end": ({ model }) => `Ended a running call${model === null ? "" : ` of ${model}`}`,
  "catalogue.change": ({ files, changes }) => `Changed models and prices: ${changes || files}`,
  "provider.add": ({ base_url: url }) => `Added the provider at ${url}`,
  "provider.replace": ({ base_url: url, keys_removed: removed }) =>
    `Replaced the provider’s manifest; it is at ${url}${removed === true ? ", and its keys were removed" : ""}`,
  "provider.remove": () => "Removed the provider and its keys",
  "provider.set": describeProvider,
  "provider.test": ({ model }) =>
    `Sent a test request to the provider, which may charge it${typeof model === "string" ? `: ${model}` : ""}`,
  "provider.resume": ({ model }) =>
    `Ended the pauses after failures${typeof model === "string" ? ` of the route for ${model}` : " of the provider’s routes"}`,
  "provider.key.add": ({ last4 }) => `Added an API key of the provider${toEnding(last4)}`,
  "provider.key.rotate": ({ last4 }) => `Replaced an API key of the provider${toEnding(last4)}`,
  "provider.key.remove": ({ last4 }) => `Removed an API key of the provider${toEnding(last4)}`,
  "sandbox.set": ({ setting }) =>
    setting === "auto" ? "Set the sandbox to stay until a provider is added" : `Turned the sandbox ${setting}`,
  "tokens.issuers": ({ issuers }) =>
    issuers === "" ? "Removed all token issuers" : `Set the token issuers ${issuers}`,
  "team.create": ({ name }) => `Created the team “${name}”`,
  "team.rename": ({ name, name_before: before }) => `Renamed the team from “${before ?? ""}” to “${name}”`,
  "team.invite": ({ role, email }) => `Invited ${email ?? "somebody"} to the team as ${toTeamRole(role)}`,
  "team.invitation_delete": () => "Deleted an invitation to the team",
  "team.add": ({ role, email }) => `Added ${email} to the team as ${toTeamRole(role)}`,
  "team.role": ({ role, email }) => `Made ${email} ${toTeamRole(role)} of the team`,
  "team.remove": ({ email, keys_revoked: revoked }) =>
    `Removed ${email} from the team${revoked === true ? " and revoked their API keys" : ""}`,
  "team.budget": ({ usd, period }) =>
    usd === null ? "Removed the budget of the account" : `Set the budget of the account to ${toUsd(usd)} a ${period}`,
  "team.join": ({ role }) => `Joined the team as ${toTeamRole(role)}`,
  "team.switch": () => "Switched to the account",
  "user.sign_in": () => "Signed in",
  "user.password": () => "Changed the password",
  "user.two_factor": ({ on }) => `Turned two-step sign-in ${on === true ? "on" : "off"}`,
  "user.backup_codes": () => "Made new backup codes",
  "user.backup_code": () => "Used a backup code",
  "user.email_verified": ({ email }) => `Verified the email ${email}`,
  "key.import": ({ name }) => `Imported the API key “${name}” of another gateway`,
  "key.release": ({ name }) => `Released the API key “${name}” of another gateway, which an import had revoked`,
  "key.create": ({ name }) => `Created the API key “${name}”`,
  "key.change": ({ name }) => `Changed the API key “${name}”`,
  "key.rotate": ({ name }) => `Replaced the secret of the API key “${name}”`,
  "key.revoke": ({ name }) => `Revoked the API key “${name}”`,
  "admin_key.create": ({ name, scopes }) => `Created the admin key “${name}” for ${scopes}`,
  "admin_key.revoke": ({ name, admin_keys: keys }) =>
    `Revoked the admin key “${name}”${Number(keys) > 1 ? ` and ${Number(keys) - 1} that it created` : ""}`,
  "service_account.create": ({ name }) => `Created the service account “${name}”`,
  "service_account.delete": ({ name }) => `Deleted the service account “${name}” and revoked its API keys`,
  "budget.create": (budget) => `Created the ${toBudgetText(budget)}`,
  "budget.change": (budget) => `Changed the ${toBudgetText(budget)}`,
  "budget.delete": (budget) => `Deleted the ${toBudgetText(budget)}`,
  "model_limit.set": (limits) => `Set the ${toLimitsText(limits)}`,
  "model_limit.delete": (limits) => `Deleted the ${toLimitsText(limits)}`,
  "markup.set": (markup) => `Set the ${toMarkupText(markup)} to ${formatExactPercent(String(markup.markup_percent))}`,
  "markup.delete": (markup) => `Deleted the ${toMarkupText(markup)}`,
  "policy.create": (rule) => `Added the ${toPolicyText(rule)}, ${rule.on_failure} when it fails`,
  "policy.change": (rule) => `Changed the ${toPolicyText(rule)}: order ${rule.order}, ${rule.on_failure} when it fails`,
  "policy.remove": (rule) => `Removed the ${toPolicyText(rule)}`,
  "group.create": ({ name }) => `Pushed the group “${name}”`,
  "group.change": ({ name }) => `Changed the group “${name}”`,
  "group.members": ({ added, removed }) => `Added ${added} to a group and removed ${removed}`,
  "group.delete": ({ name }) => `Deleted the group “${name}”`,
  "group_role.create": (row) => `Gave ${toGroupText(row)}`,
  "group_role.change": (row) => `Changed the table: gave ${toGroupText(row)}`,
  "group_role.delete": (row) => `Took away from the table: ${toGroupText(row)}`,
  "reroute.create": (reroute) => `Re-routed ${toRerouteText(reroute)}`,
  "reroute.change": (reroute) => `Changed the re-route of ${toRerouteText(reroute)}`,
  "reroute.remove": ({ subject, name }) => `Ended the re-route of the ${subject} ${name}`,
  "role_limit.set": (limits, role) => {
    const whose = role === "none" ? "accounts of teams and programs" : `the role ${toRoleName(role as Role)}`;
    return `Set the limits of ${whose}: ${toFiguresText(limits)}`;
  },
};

function toGroupText({ group, role, account }: Readonly<Record<string, unknown>>): string {
  return `the group “${group}” the role ${role} in ${account === "" ? "the gateway" : account}`;
}

const groups: readonly AuditGroup[] = [
  {
    name: "account",
    label: "Accounts",
    actions: {
      create: "Account created",
      change: "Name, e-mail or role changed",
      invite: "Invitation created",
      credit: "Credit added",
      debit: "Credit deducted",
      reverse: "Credit reversed",
      quota: "Free quota set",
      limits: "Limits set",
      invitation_delete: "Invitation deleted",
      disabled: "Disabled or enabled",
      provision: "User provisioned",
      password: "Password reset",
      sign_out: "Sessions ended",
      billing: "Billed afterwards, or no longer",
      claim_end: "Claimed account taken over",
    },
  },
  {
    name: "user",
    label: "Sign-in",
    actions: {
      sign_in: "Signed in",
      password: "Password changed",
      two_factor: "Two-step sign-in turned on or off",
      backup_codes: "Backup codes made",
      backup_code: "Backup code used",
      email_verified: "Email verified",
    },
  },
  {
    name: "team",
    label: "Teams",
    actions: {
      create: "Team created",
      rename: "Team renamed",
      invite: "Invited to a team",
      invitation_delete: "Invitation deleted",
      join: "Joined a team",
      add: "Added to a team",
      role: "Role in a team changed",
      remove: "Left or removed from a team",
      budget: "Budget of an account set",
      switch: "Switched to an account",
    },
  },
  {
    name: "key",
    label: "API keys",
    actions: {
      create: "Key created",
      import: "Key imported",
      release: "Imported key released",
      change: "Key changed",
      rotate: "Key rotated",
      revoke: "Key revoked",
    },
  },
  { name: "call", label: "Calls", actions: { end: "Running call ended" } },
  { name: "session", label: "Sessions of agents", actions: { end: "Session or agent ended" } },
  { name: "admin_key", label: "Admin keys", actions: { create: "Admin key created", revoke: "Admin key revoked" } },
  {
    name: "service_account",
    label: "Service accounts",
    actions: { create: "Service account created", delete: "Service account deleted" },
  },
  {
    name: "budget",
    label: "Budgets",
    actions: { create: "Budget created", change: "Budget changed", delete: "Budget deleted" },
  },
  {
    name: "model_limit",
    label: "Limits of models",
    actions: { set: "Limits of a model set", delete: "Limits of a model deleted" },
  },
  {
    name: "markup",
    label: "Markups",
    actions: { set: "Markup set", delete: "Markup deleted" },
  },
  {
    name: "group",
    label: "Groups",
    actions: {
      create: "Group pushed",
      change: "Group changed",
      members: "People of a group changed",
      delete: "Group deleted",
    },
  },
  {
    name: "group_role",
    label: "Roles of groups",
    actions: { create: "Role of a group set", change: "Role of a group changed", delete: "Role of a group deleted" },
  },
  { name: "managed_settings", label: "Managed settings", actions: { set: "Managed settings set" } },
  { name: "role_limit", label: "Limits of roles", actions: { set: "Limits of a role set" } },
  {
    name: "provider",
    label: "Providers",
    actions: {
      add: "Provider added",
      set: "Provider enabled, disabled or ordered",
      replace: "Manifest replaced",
      remove: "Provider removed",
      key: "Provider's keys changed",
      test: "Provider tested",
      resume: "Pauses after failures ended",
    },
  },
  {
    name: "policy",
    label: "Policies",
    actions: { create: "Policy added", change: "Policy changed", remove: "Policy removed" },
  },
  {
    name: "reroute",
    label: "Re-routes",
    actions: { create: "Re-route created", change: "Re-route changed", remove: "Re-route ended" },
  },
  { name: "catalogue", label: "Models and prices", actions: { change: "Models and prices changed" } },
  { name: "mail_server", label: "Mail server", actions: { set: "Mail server changed" } },
  { name: "sandbox", label: "Sandbox", actions: { set: "Sandbox set" } },
  { name: "tokens", label: "Tokens", actions: { issuers: "Token issuers set" } },
];

/** The texts of all actions, also of modules. */
export function mergeTexts(parts: readonly ModuleParts[]): AuditTexts {
  const added = parts.flatMap(({ audit = [] }) => audit);
  return {
    actors: Object.assign({}, actors, ...added.map((texts) => texts.actors)),
    sentences: Object.assign({}, sentences, ...added.map((texts) => texts.sentences)),
    groups: insertAfter(
      groups,
      added.flatMap((texts) => texts.groups),
      ({ name }) => name,
    ),
  };
}

/** The action as a sentence; actions of newer gateways as their name and values. */
export function describeAction(
  { sentences }: AuditTexts,
  { action, detail, subject }: Pick<AuditEntry, "action" | "detail" | "subject">,
): string {
  const describe = sentences[action];
  if (describe !== undefined) return describe(detail, subject);
  const parts = Object.entries(detail).map(([name, value]) => `${name.replaceAll("_", " ")} ${value ?? "none"}`);
  return [action.replaceAll(/[._]/g, " "), ...parts].join(", ");
}

function describeChange(detail: Detail): string {
  const changes = [
    ["role", (value: unknown) => (value === null ? "none" : toRoleName(value as Role))],
    ["email", String],
    ["name", (value: unknown) => (value === null ? "none" : `“${value}”`)],
    ["models", (value: unknown) => (value === null ? "all" : String(value))],
  ] as const;
  const parts = changes
    .filter(([field]) => field in detail)
    .map(([field, show]) => `${field} from ${show(detail[`${field}_before`])} to ${show(detail[field])}`);
  return `Changed the ${parts.join(", the ")}`;
}

function toTeamRole(role: Detail[string] | undefined): string {
  return role === "admin" ? "an admin" : "a member";
}

function describeProvider({ enabled, priority, weight }: Detail): string {
  const parts = [
    ...(enabled === undefined ? [] : [enabled === true ? "Enabled the provider" : "Disabled the provider"]),
    ...(priority === undefined ? [] : [`set its priority to ${priority ?? "the default"}`]),
    ...(weight === undefined ? [] : [`set its weight to ${weight ?? "the default"}`]),
  ];
  const text = parts.join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toBudgetText(budget: Detail): string {
  const { subject, name, budget_usd: usd, budget_period: period, raise_usd: raise, raise_until: until } = budget;
  const kind = String(subject).replace("_", " ");
  const whose =
    name === null && subject !== "account" ? `each ${kind}` : name === null ? `the ${kind}` : `the ${kind} “${name}”`;
  const span = period === "lifetime" ? "in all" : `a ${period}`;
  const raised = raise === null ? "" : `, raised by ${toUsd(raise)} until ${formatDay(fromSeconds(Number(until)))}`;
  return `budget of ${whose}: ${toUsd(usd)} ${span}${raised}`;
}

function toFiguresText(limits: Detail): string {
  const parts = Object.entries(limits).map(
    ([name, limit]) => `${name.replaceAll("_", " ")} to ${limit ?? "the default"}`,
  );
  return parts.join(" and ");
}

function toLimitsText({ account, api_key_id: key, model, ...limits }: Detail): string {
  const whose = key !== null ? "the key" : account !== null ? "the account" : "each account";
  const figures = [
    [limits.requests_per_minute, "requests a minute"],
    [limits.tokens_per_minute, "tokens a minute"],
    [limits.concurrent_calls, "calls at once"],
  ].flatMap(([limit, unit]) => (limit === null ? [] : [`${limit} ${unit}`]));
  return `limits of ${model} for ${whose}: ${figures.join(", ")}`;
}

function toPolicyText({ policy, account, api_key_id: key, model }: Detail): string {
  const place = key === null ? (account === null ? "the gateway" : "the account") : `the key ${key}`;
  return `policy ${policy} of ${place}${model === null ? "" : ` for ${model}`}`;
}

function toMarkupText({ account, provider }: Detail): string {
  if (account !== null) return "markup of the account";
  return provider === null ? "markup of the gateway" : `markup of the provider ${provider}`;
}

function toRerouteText({ subject, name, to_model: to, ends_at: endsAt }: Detail): string {
  const until = endsAt === null ? "" : ` until ${new Date(Number(endsAt) * 1000).toISOString().slice(0, 16)} UTC`;
  return `the ${subject} ${name} to ${to ?? "other providers of its models"}${until}`;
}

function toEnding(last4: Detail[string] | undefined): string {
  return last4 ? ` that ends in ${last4}` : "";
}

function toUsd(value: Detail[string] | undefined): string {
  return formatUsd(String(value));
}
