import { type Static, Type } from "@sinclair/typebox";
import { DisplayName, formatUsd, optional } from "../../../contract/index.ts";
import { bodyFields, toJson, Usd } from "../../../lib/fields.ts";
import {
  type Account,
  accountFields,
  addNewToTeam,
  addToTeam,
  changeProject,
  createProject,
  expectKnownHolder,
  findMembers,
  listUsersPage,
  parseEmail,
  parseTeamAddress,
  type TeamMember,
  teamActions,
  type User,
} from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";
import { Email, Period } from "../../forms/read-fields.ts";
import { invalid } from "../lists.ts";
import { readProjectChanges } from "../projects.ts";
import { toBody, toBudget, withPlannedIds } from "./account-fields.ts";
import {
  closed,
  diff,
  entriesMax,
  entriesOf,
  expectOnce,
  isSame,
  listAll,
  readOwnerId,
  toLower,
} from "./plan-entries.ts";
import { defineSection, type Planning, type Step } from "./section.ts";

const AccountEntry = Type.Object(
  {
    email: { ...Email, description: "Identifies the account; for a team, its address" },
    kind: Type.Optional(
      Type.Union([Type.Literal("account"), Type.Literal("team")], {
        description: "Kind of the entry; default: account",
      }),
    ),
    verified: Type.Optional(
      Type.Literal(false, {
        description:
          "Confirms an account whose e-mail is not verified. Without it, the document does not change such an account",
      }),
    ),
    name: optional(DisplayName),
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("archived")])),
    ...bodyFields(accountFields),
    budget_usd: optional(Usd),
    budget_period: optional(Period),
    people: Type.Optional(
      Type.Array(
        Type.Object({ email: Email, role: Type.Union([Type.Literal("admin"), Type.Literal("member")]) }, closed),
        {
          maxItems: 500,
          description:
            "Members of a team other than its holder. Those who do not sign in yet get an account and need an invitation",
        },
      ),
    ),
  },
  closed,
);
type AccountEntry = Static<typeof AccountEntry>;

/** The accounts and teams by e-mail and address, with the people of teams. */
export const accounts = defineSection({
  schema: entriesOf(AccountEntry),
  area: "accounts",
  async read(deps) {
    const all = await listAll(deps);
    const members = await findMembers(deps.store);
    return all.map((account) => toAccountEntry(account, members.get(account.id)));
  },
  plan: planAccounts,
});

function toAccountEntry(account: Account, members: readonly TeamMember[] = []): AccountEntry {
  const { budget } = account;
  const { billed_afterwards: isBilled, ...decided } = toJson<Account, typeof accountFields>(accountFields, account);
  return {
    email: account.email,
    kind: members.length > 0 || account.email.endsWith(".invalid") ? "team" : "account",
    ...(account.holder === "claimed" && { verified: false }),
    name: account.name ?? null,
    status: account.disabledAt === undefined ? "active" : "archived",
    ...decided,
    budget_usd: budget === undefined ? null : formatUsd(budget.limitNanodollars),
    budget_period: budget?.period ?? null,
    ...(isBilled && { billed_afterwards: true }),
    ...(members.length > 0 && { people: members.map(({ email, role }) => ({ email, role })) }),
  };
}

async function planAccounts(planning: Planning, value: readonly AccountEntry[]): Promise<Step[]> {
  const { deps, admin, accounts } = planning;
  const { store, now } = deps;
  const entries = value.map((entry) => {
    const isNew = !accounts.has(entry.email);
    const parse = !isNew ? toLower : entry.kind === "team" ? parseTeamAddress : parseEmail;
    const target = withPlannedIds(planning, entry);
    return { ...target, account: accounts.get(entry.email), email: parse(entry.email) };
  });
  expectOnce(
    "accounts",
    entries.map(({ email }) => email),
  );
  const members = await findMembers(
    store,
    entries.flatMap(({ account }) => account?.id ?? []),
  );
  const users = await findUsersByEmail(
    deps,
    entries.flatMap(({ people = [] }) => people.map(({ email }) => toLower(email))),
  );
  const steps: Step[] = [];
  /** They run last: the entry of a person may follow the entry of their team. */
  const memberships: Step[] = [];
  for (const entry of entries) {
    const { email, account, kind = "account", verified: _, people = [], budget_usd, budget_period, ...others } = entry;
    const present = account === undefined ? [] : members.get(account.id);
    const current =
      account === undefined
        ? undefined
        : { billed_afterwards: account.isBilledAfterwards, ...toAccountEntry(account, present) };
    const target = { ...others, ...toBudget({ budget_usd, budget_period }, current ?? {}) };
    const fields = diff(current ?? { status: "active" }, target);
    const { name, status, ...body } = toBody(target, fields);
    const isDisabled = status === undefined ? undefined : status === "archived";
    const changes = { ...readProjectChanges(body), name, isDisabled };
    const common = { id: email, account };
    if (account === undefined) {
      // A team cannot be without a name.
      const place =
        kind === "team" ? { address: email, name: target.name ?? email } : { email, name: target.name ?? undefined };
      steps.push({
        ...common,
        action: "create",
        fields,
        run: () => createProject(store, { by: admin, ...place, changes }, now),
      });
    } else if (!isSame(fields)) {
      steps.push({
        ...common,
        action: "change",
        fields,
        run: () => changeProject(store, { by: admin, accountId: account.id, changes }, now),
      });
    }
    for (const { email: personEmail, role } of people) {
      const person = users.get(toLower(personEmail));
      if (person === undefined) {
        memberships.push(planPerson(planning, { email, personEmail: parseEmail(personEmail), role }));
        continue;
      }
      const member = present?.find(({ personId }) => personId === person.id);
      // The holder of an account is a member already.
      if (member?.role === role || person.id === account?.id) continue;
      const isDemotion = member !== undefined && role === "member";
      const holder = person.isVerified || isDemotion ? "verified" : "claimed";
      expectKnownHolder({ ...person, holder }, { param: "accounts", isPerson: true });
      memberships.push(planPerson(planning, { email, personEmail: person.email, personId: person.id, role, member }));
    }
  }
  return [...steps, ...memberships];
}

/** @throws {GatewayError} `invalid_request` for more people than a document may have. */
async function findUsersByEmail({ store }: HttpDeps, emails: readonly string[]): Promise<ReadonlyMap<string, User>> {
  const unique = [...new Set(emails)];
  if (unique.length === 0) return new Map();
  if (unique.length > entriesMax) throw invalid("accounts", `accounts have more than ${entriesMax} people`);
  const users = await listUsersPage(store, { limit: unique.length, emails: unique });
  return new Map(users.map((user) => [user.email, user]));
}

/** Plans the step that makes somebody a member, or gives a member another role. */
function planPerson(
  planning: Planning,
  place: {
    /** The address of the team. */
    readonly email: string;
    readonly personEmail: string;
    readonly role: TeamMember["role"];
    /** Absent: they do not sign in here yet. */
    readonly personId?: string;
    readonly member?: TeamMember | undefined;
  },
): Step {
  const { email, personEmail, role, personId, member } = place;
  const { deps, admin } = planning;
  const { store, now } = deps;
  return {
    id: `${email}: ${personEmail}`,
    action: member === undefined ? "create" : "change",
    fields: { role: { before: member?.role ?? null, after: role } },
    async run() {
      const accountId = await readOwnerId(planning, email);
      if (personId === undefined) await addNewToTeam(store, { by: admin, accountId, email: personEmail, role }, now);
      else if (member === undefined) await addToTeam(store, { by: admin, accountId, personId, role }, now);
      else await teamActions(store, now).setRole({ ...admin, isOperator: true }, { accountId, personId, role });
    },
  };
}
