import { accountLabel, formatUsd } from "../../contract/index.ts";
import { endOfPeriod, type Store, startOfPeriod } from "../../db/index.ts";
import { readWalletState } from "../../ledger/index.ts";
import {
  findTeamsWithoutAdmin,
  listBudgets,
  listPeople,
  listTeamsOf,
  readRoles,
  readSpentOfBudgets,
} from "../../tenants/index.ts";
import { accountOutput, columns, toIsoTime, walletOutput } from "./format.ts";
import { expectAccount, type OpenedStore } from "./with-store.ts";

/** All about an account that a command shows: its people, wallet, budgets, keys and last use. */
export async function readAccountFacts({ store, accounts }: OpenedStore, text: string, now: number) {
  const account = await expectAccount(accounts, text);
  const { id } = account;
  const keys = await accounts.listKeys(id);
  const inForce = keys.filter(({ revokedAt, expiresAt }) => revokedAt === undefined && (expiresAt ?? now + 1) > now);
  const used = keys.flatMap(({ lastUsedAt }) => lastUsedAt ?? []);
  return {
    ...accountOutput(account),
    role: (await readRoles(store, id)).get(id) ?? null,
    ...walletOutput(await readWalletState(store, id)),
    billed_afterwards: account.isBilledAfterwards,
    keys: keys.length,
    keys_in_force: inForce.length,
    last_used_at: toIsoTime(used.length === 0 ? undefined : Math.max(...used)),
    without_admin: (await findTeamsWithoutAdmin(store, { accountIds: [id] })).length > 0,
    teams: await readTeams(store, id),
    members: await readMembers(store, id),
    budgets: await readBudgets(store, id, now),
  };
}

export type AccountFacts = Awaited<ReturnType<typeof readAccountFacts>>;

/** The people of an account, with their roles in it. */
export async function readMembers(store: Pick<Store, "db">, accountId: string) {
  const people = await listPeople(store, accountId);
  return people.map(({ id, email, name, teamRole, isHolder, joinedAt, isDisabled }) => ({
    id,
    email,
    name: name ?? null,
    team_role: teamRole,
    holder: isHolder,
    disabled: isDisabled,
    joined_at: toIsoTime(joinedAt),
  }));
}

/** The rows of a table of people: e-mail, role, status. */
export function toMemberRows(members: AccountFacts["members"]): string[][] {
  return members.map(({ email, team_role: role, holder, disabled }) => [
    email,
    role,
    [...(holder ? ["holder"] : []), ...(disabled ? ["disabled"] : [])].join(", "),
  ]);
}

/** The teams of a person, with their roles in them, and those that nobody else administers. */
async function readTeams(store: Pick<Store, "db">, personId: string) {
  const teams = await listTeamsOf(store, personId);
  const alone = new Set((await findTeamsOfOnlyAdmin(store, personId)).map(({ id }) => id));
  return teams.map((team) => ({
    id: team.id,
    name: accountLabel(team),
    team_role: team.role,
    only_admin: alone.has(team.id),
    joined_at: toIsoTime(team.joinedAt),
  }));
}

/** The teams that have no admin who can sign in once this person cannot. */
export async function findTeamsOfOnlyAdmin(store: Pick<Store, "db">, personId: string) {
  const administered = (await listTeamsOf(store, personId)).filter(({ role }) => role === "admin");
  return await findTeamsWithoutAdmin(store, { accountIds: administered.map(({ id }) => id), without: personId });
}

async function readBudgets(store: Store, accountId: string, now: number) {
  const budgets = await listBudgets(store, [accountId], { limit: budgetsShown });
  const spent = await readSpentOfBudgets(store, budgets, now);
  return budgets.map(({ id, subject, name, budget_nanodollars: limit, budget_period: period }) => {
    const used = spent.get(id);
    const isEndless = period === "lifetime" || period === "session";
    return {
      id,
      subject,
      name,
      budget_usd: formatUsd(limit),
      budget_period: period,
      /** `null`: each subject has its own. */
      used_usd: used === undefined ? null : formatUsd(used),
      resets_at: isEndless ? null : toIsoTime(endOfPeriod(startOfPeriod(now, period), period)),
    };
  });
}

/** Budgets of an account that are shown. */
const budgetsShown = 1000;

const absent: Readonly<Record<string, string>> = {
  email: "none",
  name: "none",
  role: "no sign-in yet",
  allowed_models: "all",
  verified: "nobody signs in",
  last_used_at: "never",
};

export function formatAccountFacts({ teams, members, budgets, ...facts }: AccountFacts): string {
  const toText = (value: unknown) => (Array.isArray(value) ? value.join(", ") : String(value));
  const shown = {
    ...facts,
    ...(facts.email === null && { role: "none" }),
    ...(facts.verified === false && { verified: "no: somebody only signed up with this e-mail" }),
    billed_afterwards: facts.billed_afterwards ? "yes: a budget replaces the wallet" : "no: the wallet pays",
    without_admin: facts.without_admin ? "yes: make another member admin with modelgate team set" : "no",
  };
  const rows = Object.entries(shown).map(([name, value]) => [name, toText(value ?? absent[name] ?? "default")]);
  const people = toMemberRows(members);
  const ofTeams = teams.map(({ name, team_role: role, only_admin: isOnly }) => [
    name,
    role,
    isOnly ? "the only admin" : "",
  ]);
  return [
    columns(rows),
    ...(ofTeams.length === 0 ? [] : [columns([["team", "role", "status"], ...ofTeams])]),
    ...(people.length === 0 ? [] : [columns([["person", "role", "status"], ...people])]),
    ...(budgets.length === 0 ? [] : [formatBudgets(budgets)]),
  ].join("\n\n");
}

export function formatBudgets(budgets: AccountFacts["budgets"]): string {
  const rows = budgets.map(
    ({ subject, name, budget_usd: usd, budget_period: period, used_usd: used, resets_at: at }) => [
      subject,
      name ?? "each",
      usd,
      period,
      used ?? "by each",
      at ?? "never",
    ],
  );
  return columns([["budget of", "name", "USD", "period", "spent", "resets at"], ...rows]);
}

/** The advice for a team that nobody can manage. */
export function withoutAdmin(account: string): string {
  return `No admin can sign in; make another member admin with modelgate team set ${account} --person P --role admin`;
}
