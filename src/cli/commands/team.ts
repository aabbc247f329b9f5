import { commandLine } from "../../audit/index.ts";
import { getPublicOrigin } from "../../config/index.ts";
import { accountLabel, formatUsd, toRealEmail } from "../../contract/index.ts";
import { changeProject, findTeamsWithoutAdmin, listTeamInvitations, teamActions } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import {
  formatAccountFacts,
  formatBudgets,
  readAccountFacts,
  readMembers,
  toMemberRows,
  withoutAdmin,
} from "../lib/account-facts.ts";
import { columns, formatLink } from "../lib/format.ts";
import { parseBudget, parsePeriod, parseRevokesKeys, periods } from "../lib/parse.ts";
import { expectAccount, expectRecipient, type OpenedStore, withStore } from "../lib/with-store.ts";

const teamRoles = ["admin", "member"] as const;
const operator = { ...commandLine, isOperator: true };
const person = { value: "P", description: "Id or e-mail of the person's own account", required: true } as const;

export const teamList = defineCommand({
  name: "team list",
  description: "List the people of an account and its open invitations",
  flags: {},
  args: ["A"],
  example: "team list ada@example.org",
  async run(_context, { args, config, now }) {
    const json = await withStore(config, async ({ store, accounts }) => {
      const { id } = await expectAccount(accounts, args.A);
      const people = await readMembers(store, id);
      const orphans = await findTeamsWithoutAdmin(store, { accountIds: [id] });
      const invitations = (await listTeamInvitations(store, id, now)).map(({ id, role, email, expiresAt }) => ({
        id,
        email: email ?? null,
        team_role: role,
        expires_at: toIso(expiresAt),
      }));
      return { people, invitations, without_admin: orphans.length > 0 };
    });
    const rows = [
      ...toMemberRows(json.people),
      ...json.invitations.map(({ email, team_role, expires_at }) => [
        email ?? "anybody with the link",
        team_role,
        `invited until ${expires_at?.slice(0, 16)} UTC`,
      ]),
    ];
    const table = rows.length === 0 ? "Nobody yet" : columns([["e-mail", "role", "status"], ...rows]);
    return { json, text: json.without_admin ? `${table}\n${withoutAdmin(args.A)}` : table };
  },
});

export const teamShow = defineCommand({
  name: "team show",
  description: "Show a team with its people, wallet, budgets, keys and last use",
  flags: {},
  args: ["A"],
  example: "team show Search",
  run: async (_context, { args, config, now }) => {
    const json = await withStore(config, (opened) => readAccountFacts(opened, args.A, now), now);
    return { json, text: formatAccountFacts(json) };
  },
});

export const teamCreate = defineCommand({
  name: "team create",
  description: "Create a team, whose first admin is one person",
  flags: { name: { value: "N", description: "Name of the team", required: true }, person },
  args: [],
  example: "team create --name Search --person ada@example.org",
  async run(_context, { flags, config, now }) {
    const create = async ({ store, accounts }: OpenedStore) => {
      const { id } = await expectRecipient(accounts, flags.person);
      const { accountId, name } = await teamActions(store, () => now).create(
        { ...operator, accountId: id },
        flags.name,
      );
      return { id: accountId, name };
    };
    const json = await withStore(config, create, now);
    return { json, text: `${json.id}  ${json.name}` };
  },
});

export const teamInvite = defineCommand({
  name: "team invite",
  description: "Create an invitation link for one person to join the team of an account",
  flags: {
    email: { value: "E", description: "Only the person with this e-mail can use the link" },
    role: {
      value: "R",
      description: "Role in the team: admin or member (default)",
      choices: teamRoles,
    },
    days: { value: "N", description: "Days until it expires, 1 to 30; default 7" },
  },
  args: ["A"],
  example: "team invite team@example.org --role admin --email ada@example.org",
  async run(_context, { flags, args, config, now }) {
    const days = flags.days === undefined ? undefined : parseDays(flags.days);
    const role = parseTeamRole(flags.role ?? "member");
    const invite = async ({ store, accounts }: OpenedStore) => {
      const { id: accountId } = await expectRecipient(accounts, args.A);
      return await teamActions(store, () => now).invite(operator, { accountId, role, email: flags.email, days });
    };
    const { id, token, expiresAt } = await withStore(config, invite, now);
    const url = `${getPublicOrigin(config, config.port)}/#team=${token}`;
    return { json: { id, url, token, expires_at: toIso(expiresAt) }, text: formatLink(config, url, expiresAt) };
  },
});

export const teamSet = defineCommand({
  name: "team set",
  description: "Change the role of a person in the team of an account",
  flags: { person, role: { value: "R", description: "admin or member", required: true, choices: teamRoles } },
  args: ["A"],
  example: "team set team@example.org --person ada@example.org --role admin",
  async run(_context, { flags, args, config, now }) {
    const role = parseTeamRole(flags.role);
    const set = async ({ store, accounts }: OpenedStore) => {
      const [{ id: accountId }, { id, email }] = [
        await expectAccount(accounts, args.A),
        await (role === "admin" ? expectRecipient : expectAccount)(accounts, flags.person),
      ];
      await teamActions(store, () => now).setRole(operator, { accountId, personId: id, role });
      return { id, email, team_role: role };
    };
    const json = await withStore(config, set, now);
    return { json, text: `${json.email}  ${json.team_role}` };
  },
});

export const teamRemove = defineCommand({
  name: "team remove",
  description: "Remove a person from the team of an account, and optionally revoke the keys they created",
  flags: {
    person,
    keys: { value: "K", description: "revoke: also revoke the API keys that they created in it", choices: ["revoke"] },
  },
  args: ["A"],
  example: "team remove team@example.org --person ada@example.org --keys revoke",
  async run(_context, { flags, args, config, now }) {
    const revokesKeys = parseRevokesKeys(flags.keys);
    const remove = async ({ store, accounts }: OpenedStore) => {
      const [{ id: accountId }, { id, email }] = [
        await expectAccount(accounts, args.A),
        await expectAccount(accounts, flags.person),
      ];
      await teamActions(store, () => now).remove(operator, { accountId, personId: id, revokesKeys });
      return { id, email, keys_revoked: revokesKeys };
    };
    const json = await withStore(config, remove, now);
    return { json, text: `${json.email} is removed${revokesKeys ? ", and their keys are revoked" : ""}` };
  },
});

export const teamBudget = defineCommand({
  name: "team budget",
  description: "Set the budget that all keys of an account share; none removes it; without --usd its budgets are shown",
  flags: {
    usd: { value: "50.00", description: "Budget for paid calls in a period" },
    period: { value: "P", description: "Period in UTC: day, week or month (default)", choices: periods },
    "billed-afterwards": {
      value: "on",
      choices: ["on", "off"],
      description: "on: the budget replaces the wallet; off: it applies in addition to the wallet",
    },
  },
  args: ["A"],
  example: "team budget team@example.org --usd 50.00 --period week",
  async run(_context, { flags, args, config, now }) {
    const period = parsePeriod(flags.period ?? "month");
    const billing = readSwitch("--billed-afterwards", flags["billed-afterwards"]);
    if (flags.usd === undefined) {
      if (Object.keys(flags).length > 0)
        throw new UsageError("Missing --usd, expected an amount such as 50.00, or none");
      const { budgets: json } = await withStore(config, (opened) => readAccountFacts(opened, args.A, now), now);
      return { json, text: json.length === 0 ? `${args.A} has no budget` : formatBudgets(json) };
    }
    const budget = flags.usd === "none" ? undefined : { limitNanodollars: parseBudget("--usd", flags.usd), period };
    const set = async ({ store, accounts }: OpenedStore) => {
      const recipient = await expectRecipient(accounts, args.A);
      const { id } = recipient;
      if (billing === undefined) await teamActions(store, () => now).setBudget(operator, id, budget);
      else {
        const changes = { budget: budget ?? null, isBilledAfterwards: billing };
        await changeProject(store, { by: commandLine, accountId: id, changes }, () => now);
      }
      return { id, email: toRealEmail(recipient.email), label: accountLabel(recipient) };
    };
    const account = await withStore(config, set, now);
    const usd = budget === undefined ? null : formatUsd(budget.limitNanodollars);
    const text = usd === null ? `${account.label} has no budget` : `${account.label} may spend ${usd} USD a ${period}`;
    return { json: { ...account, budget_usd: usd, budget_period: usd === null ? null : period }, text };
  },
});

function readSwitch(flag: string, text: string | undefined): boolean | undefined {
  if (text === undefined || text === "on") return text === undefined ? undefined : true;
  if (text === "off") return false;
  throw new UsageError(`Cannot use ${flag} ${text}, expected on or off`);
}

function parseTeamRole(text: string): (typeof teamRoles)[number] {
  const role = teamRoles.find((name) => name === text.toLowerCase());
  if (role !== undefined) return role;
  throw new UsageError(`Cannot use --role ${text}, expected admin or member`);
}

function parseDays(text: string): number {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= 30) return days;
  throw new UsageError(`Cannot read --days ${text}, expected a whole number from 1 to 30`);
}

function toIso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
