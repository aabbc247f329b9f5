import { commandLine, createAudited } from "../../audit/index.ts";
import { getPublicOrigin } from "../../config/index.ts";
import { accountLabel, toRealEmail } from "../../contract/index.ts";
import { makeTemporaryPassword } from "../../identity/index.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { type Account, countKeysElsewhere, readRoles, roles } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { findTeamsOfOnlyAdmin, formatAccountFacts, readAccountFacts, withoutAdmin } from "../lib/account-facts.ts";
import { accountOutput, columns, formatLink, toIsoTime } from "../lib/format.ts";
import { parseAllowedModels, parseOrNone, parseRole, parseTokens } from "../lib/parse.ts";
import { expectAccount, expectRecipient, type OpenedStore, withStore } from "../lib/with-store.ts";

const changeFlags = {
  role: { value: "R", description: `Role of its user: ${roles.join(", ")}`, choices: roles },
  email: { value: "E", description: "E-mail address, unique to the account" },
  name: { value: "N", description: "Name of the account holder; none removes it" },
  models: { value: "a,b", description: "Models that its keys may use; none removes the restriction" },
} as const;

export const accountCreate = defineCommand({
  name: "account create",
  description: "Create an account with an empty wallet and the default free quota",
  flags: {
    email: { value: "E", description: "E-mail address, unique to the account", required: true },
    name: { value: "N", description: "Name of the account holder" },
  },
  args: [],
  example: "account create --email ada@example.org --name Ada",
  async run(_context, { flags: { email, name }, config }) {
    const account = await withStore(config, ({ actions }) => actions.createAccount(commandLine, { email, name }));
    const advice = `No one can sign in yet; create an invitation link with modelgate account invite ${account.email}`;
    return { json: { id: account.id, email: account.email }, text: `${account.id}  ${account.email}\n${advice}` };
  },
});

export const accountList = defineCommand({
  name: "account list",
  description: "List the accounts",
  flags: {},
  args: [],
  example: "account list",
  async run(_context, { config }) {
    const { accounts, roleOf } = await withStore(config, async ({ store, accounts }) => {
      return { accounts: await accounts.list(), roleOf: await readRoles(store) };
    });
    const stateOf = ({ id, email, holder, disabledAt }: Account) =>
      [
        roleOf.get(id) ?? (toRealEmail(email) === null ? "team" : "no sign-in yet"),
        ...(holder === "claimed" ? ["only claimed"] : []),
        ...(disabledAt === undefined ? [] : ["disabled"]),
      ].join(", ");
    const rows = accounts.map((account) => [account.id, accountLabel(account), stateOf(account), account.name ?? ""]);
    const empty = "No accounts yet; create one with modelgate account create --email E";
    const json = accounts.map((account) => ({ ...accountOutput(account), role: roleOf.get(account.id) ?? null }));
    return { json, text: rows.length === 0 ? empty : columns([["id", "e-mail", "role", "name"], ...rows]) };
  },
});

export const accountShow = defineCommand({
  name: "account show",
  description: "Show an account with its people, wallet, budgets, keys and last use",
  flags: {},
  args: ["A"],
  example: "account show ada@example.org",
  async run(_context, { args, config, now }) {
    const json = await withStore(config, (opened) => readAccountFacts(opened, args.A, now), now);
    return { json, text: formatAccountFacts(json) };
  },
});

export const accountSet = defineCommand({
  name: "account set",
  description: "Change the role, e-mail, name or models of an account; omitted flags are unchanged",
  flags: changeFlags,
  args: ["A"],
  example: "account set ada@example.org --role admin",
  async run(context, { flags: { role: text, email, name, models }, args, config, now }) {
    const role = text === undefined ? undefined : parseRole(text);
    if (role === undefined && email === undefined && name === undefined && models === undefined) {
      throw new UsageError(`Nothing to change, expected one of --${Object.keys(changeFlags).join(", --")}`);
    }
    const allowedModels = await parseOrNone(models, (list) => parseAllowedModels(list, context, config));
    const changes = { role, email, name: name === "none" ? null : name, allowedModels };
    const change = async ({ store, accounts, actions }: OpenedStore) => {
      const { id } = await expectRecipient(accounts, args.A);
      await actions.changeAccount(commandLine, id, changes);
      const account = await expectAccount(accounts, id);
      return { ...accountOutput(account), role: (await readRoles(store, id)).get(id) ?? null };
    };
    const json = await withStore(config, change, now);
    const limited = json.allowed_models === null ? [] : [`models: ${json.allowed_models.join(", ")}`];
    const parts = [json.email ?? json.name ?? json.id, json.role ?? "no sign-in yet", json.name ?? [], limited]
      .flat()
      .map(toTerminalLine);
    return { json, text: parts.join("  ") };
  },
});

export const accountDisable = defineCommand({
  name: "account disable",
  description:
    "Disable an account: its keys are refused, its user is signed out everywhere and cannot sign in, until it is enabled",
  flags: { "revoke-keys": { value: "", description: "Revoke the keys that its user made in other accounts too" } },
  args: ["A"],
  example: "account disable ada@example.org --revoke-keys",
  async run(_context, { flags, args, config, now }) {
    const { account, ended, keptKeys, alone } = await withStore(
      config,
      async ({ store, accounts, actions }: OpenedStore) => {
        const { id } = await expectAccount(accounts, args.A);
        const keys = flags["revoke-keys"] === undefined ? "keep" : "revoke";
        const alone = await findTeamsOfOnlyAdmin(store, id);
        const ended = await actions.setDisabled(commandLine, id, true, keys);
        const keptKeys = await countKeysElsewhere(store, id, now);
        return { account: await expectAccount(accounts, id), ended, keptKeys, alone };
      },
      now,
    );
    const { sessions = 0, programs = 0, invitations = 0, keys = 0 } = ended ?? {};
    const counts = { sessions, programs, invitations, revoked_keys: keys, kept_keys: keptKeys };
    const teams = alone.map((team) => ({ id: team.id, name: accountLabel(team) }));
    const disabled = { ...accountOutput(account), disabled_at: toIsoTime(account.disabledAt) };
    const json = { ...disabled, ...counts, teams_without_admin: teams };
    const parts = [account.id, toTerminalLine(accountLabel(account)), "disabled"];
    const text = `${parts.join("  ")}\n${describeEnded(counts)}`;
    const advice = `Keys in other accounts that its user made and that still work: ${keptKeys}; run it again with --revoke-keys`;
    const orphans = teams.map(({ id, name }) => `${toTerminalLine(name)}: ${withoutAdmin(id)}`);
    return { json, text: [text, ...(keptKeys === 0 ? [] : [advice]), ...orphans].join("\n") };
  },
});

function describeEnded(
  counts: Readonly<Record<"sessions" | "programs" | "invitations" | "revoked_keys", number>>,
): string {
  const { sessions, programs, invitations, revoked_keys: keys } = counts;
  return `Ended: sessions ${sessions}, programs ${programs}, invitations ${invitations}, keys in other accounts ${keys}`;
}

export const accountEnable = defineCommand({
  name: "account enable",
  description: "Enable an account that was disabled",
  flags: {},
  args: ["A"],
  example: "account enable ada@example.org",
  async run(_context, { args, config, now }) {
    const enable = async ({ accounts, actions }: OpenedStore) => {
      const { id } = await expectAccount(accounts, args.A);
      await actions.setDisabled(commandLine, id, false);
      return await expectAccount(accounts, id);
    };
    const account = await withStore(config, enable, now);
    const json = { ...accountOutput(account), disabled_at: toIsoTime(account.disabledAt) };
    return { json, text: `${account.id}  ${toTerminalLine(accountLabel(account))}  enabled` };
  },
});

export const accountInvite = defineCommand({
  name: "account invite",
  description: "Create a link to set an account's password, valid once within 48 hours",
  flags: {},
  args: ["A"],
  example: "account invite ada@example.org",
  async run(_context, { args, config, now }) {
    const invite = async ({ accounts, actions }: OpenedStore) =>
      actions.invite(commandLine, (await expectAccount(accounts, args.A)).id);
    const { token, expiresAt } = await withStore(config, invite, now);
    const url = `${getPublicOrigin(config, config.port)}/#invitation=${token}`;
    return { json: { url, token, expires_at: toIsoTime(expiresAt) }, text: formatLink(config, url, expiresAt) };
  },
});

export const accountPassword = defineCommand({
  name: "account password",
  description: "Reset an account's password (prints it once and ends all sessions)",
  flags: {},
  args: ["A"],
  example: "account password ada@example.org",
  async run(_context, { args, config, now }) {
    const { email, password } = await withStore(config, async ({ store, accounts }) => {
      const { id: accountId, email } = await expectAccount(accounts, args.A);
      const password = await createAudited(store, () => now)(
        (scope) => makeTemporaryPassword(scope, { accountId, role: "member", by: "cli" }, now),
        () => ({ accountId: "cli", action: "account.password", subject: accountId, detail: {} }),
      );
      return { email, password };
    });
    return { json: { email, password }, text: `${email}  ${password}\nShown only once; change it after signing in` };
  },
});

export const quotaSet = defineCommand({
  name: "quota set",
  description: "Set an account's free quota in tokens per day",
  flags: {
    account: { value: "A", description: "Id or e-mail of the account", required: true },
    tokens: { value: "N", description: "Tokens per UTC day", required: true },
  },
  args: [],
  example: "quota set --account ada@example.org --tokens 1000000",
  async run(_context, { flags, config }) {
    const tokens = parseTokens(flags.tokens);
    const { id, label } = await withStore(config, async ({ accounts, actions }) => {
      const account = await expectRecipient(accounts, flags.account);
      await actions.setQuota(commandLine, account.id, tokens);
      return { id: account.id, label: accountLabel(account) };
    });
    return { json: { id, free_tokens_per_day: tokens }, text: `${label} has ${tokens} free tokens per day` };
  },
});
