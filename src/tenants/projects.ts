import type { Transaction } from "kysely";
import { type Administrator, createAudited, recordAudit } from "../audit/index.ts";
import { formatUsd, GatewayError, isAmount, toRealEmail, toTeamAddress } from "../contract/index.ts";
import {
  type Database,
  inQuietTransaction,
  inTransaction,
  isConstraintError,
  type OpenTransaction,
  type Role,
  type Store,
  type TeamRole,
  type TransactionScope,
} from "../db/index.ts";
import { accountActions } from "./account-actions.ts";
import { type OwnBudget, setBilledAfterwards, setOwnBudget } from "./account-budget.ts";
import {
  accountRowOf,
  expectKnownHolder,
  findAccount,
  newAccountId,
  parseEmail,
  parseName,
  parseTeamAddress,
  takenEmail,
} from "./accounts.ts";
import type { AccountChanges } from "./change-account.ts";
import { invite } from "./invitations.ts";
import { addPerson } from "./people.ts";
import { lockManaged, lockOwners } from "./roles.ts";
import { endInvitations, giveToHolder } from "./users.ts";

/** An operator's changes of an account; absent fields stay as they are, and `null` removes a value. */
export interface ProjectChanges extends AccountChanges {
  /** The daily free quota in tokens; `null`: the quota of its role, or the configured quota. */
  readonly freeTokensPerDay?: number | null | undefined;
  /** Limits of the account; `null`: the limits of its role, or the configured limits. */
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  readonly concurrentCalls?: number | null | undefined;
  readonly budget?: OwnBudget | null | undefined;
  /** Its budget bounds premium calls instead of the wallet. */
  readonly isBilledAfterwards?: boolean | undefined;
  readonly isDisabled?: boolean | undefined;
}

/** Changes an account in one transaction, with an audit entry for each decision. @throws {GatewayError} */
export function changeProject(
  store: TransactionScope,
  { by, accountId, changes }: { by: Administrator; accountId: string; changes: ProjectChanges },
  now: () => number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    const actions = accountActions(createAudited(scope, now), now);
    const { name, email, role, allowedModels, freeTokensPerDay, isDisabled, budget, isBilledAfterwards } = changes;
    await scope.change(async (db) => {
      if (role !== undefined || isDisabled !== undefined) await lockOwners(db);
      await lockManaged(db, by, accountId);
    });
    if ([name, email, role, allowedModels].some((value) => value !== undefined)) {
      await actions.changeAccount(by, accountId, { name, email, role, allowedModels });
    }
    if (freeTokensPerDay !== undefined) await actions.setQuota(by, accountId, freeTokensPerDay ?? undefined);
    await setLimits(scope, { by, accountId, changes }, now());
    // This order ensures that an account always has a budget while it needs one.
    if (isBilledAfterwards === false) await setBilling(scope, { by, accountId, isBilledAfterwards }, now());
    if (budget !== undefined) {
      await scope.change((db) => setOwnBudget(db, { accountId }, budget ?? undefined, now()));
      const detail = { usd: budget && formatUsd(budget.limitNanodollars), period: budget?.period ?? null };
      await recordAudit(scope, { accountId: by.accountId, action: "team.budget", subject: accountId, detail }, now());
    }
    if (isBilledAfterwards === true) await setBilling(scope, { by, accountId, isBilledAfterwards }, now());
    if (isDisabled !== undefined) await actions.setDisabled(by, accountId, isDisabled);
  });
}

async function setBilling(
  scope: OpenTransaction,
  { by, accountId, isBilledAfterwards }: { by: Administrator; accountId: string; isBilledAfterwards: boolean },
  now: number,
): Promise<void> {
  await scope.change((db) => setBilledAfterwards(db, accountId, isBilledAfterwards));
  const entry = { accountId: by.accountId, action: "account.billing", subject: accountId };
  await recordAudit(scope, { ...entry, detail: { billed_afterwards: isBilledAfterwards } }, now);
}

async function setLimits(
  scope: OpenTransaction,
  { by, accountId, changes }: { by: Administrator; accountId: string; changes: ProjectChanges },
  now: number,
): Promise<void> {
  const columns = {
    ...(changes.requestsPerMinute !== undefined && { requests_per_minute: changes.requestsPerMinute }),
    ...(changes.tokensPerMinute !== undefined && { tokens_per_minute: changes.tokensPerMinute }),
    ...(changes.concurrentCalls !== undefined && { concurrent_calls: changes.concurrentCalls }),
  };
  const wrong = Object.entries(columns).find(([, limit]) => limit !== null && !(isAmount(limit) && limit >= 1));
  if (wrong !== undefined) {
    const message = `${wrong[0]} is ${wrong[1]}, expected a whole number from 1 to 2^53 - 1`;
    throw new GatewayError("invalid_request", message, { param: wrong[0] });
  }
  if (Object.keys(columns).length === 0) return;
  await scope.change((db) => db.updateTable("accounts").set(columns).where("id", "=", accountId).execute());
  const entry = { accountId: by.accountId, action: "account.limits", subject: accountId, detail: columns };
  await recordAudit(scope, entry, now);
}

interface NewProject {
  /** Needed without an e-mail. */
  readonly name?: string | undefined;
  /** Address of the person whose own account it is; absent: it is a team. */
  readonly email?: string | undefined;
  /** The address of a team, which programs use to find it; absent: it is derived from the name. */
  readonly address?: string;
}

/**
 * Creates an account with its settings. Without an e-mail it is a team without members, and its address cannot receive
 * mail.
 *
 * @returns Its id.
 * @throws {GatewayError} `invalid_request` for a field, `conflict` when an account with the e-mail exists.
 */
export function createProject(
  store: TransactionScope,
  { by, changes, ...fields }: NewProject & { by: Administrator; changes: ProjectChanges },
  now: () => number,
): Promise<string> {
  return inTransaction(store, async (scope) => {
    const accountId = await createEmpty(scope, { by, ...fields }, now);
    await changeProject(scope, { by, accountId, changes }, now);
    return accountId;
  });
}

async function createEmpty(
  scope: OpenTransaction,
  { by, name, email, address }: NewProject & { by: Administrator },
  now: () => number,
): Promise<string> {
  if (email !== undefined) {
    return (await accountActions(createAudited(scope, now), now).createAccount(by, { email, name })).id;
  }
  if (name === undefined) {
    throw new GatewayError("invalid_request", "name is missing; a team, which has no e-mail, needs one", {
      param: "name",
    });
  }
  const id = newAccountId();
  const place = address === undefined ? toTeamAddress(name, id) : parseTeamAddress(address);
  const row = accountRowOf({ id, email: place, name: parseName(name) }, now());
  try {
    await scope.db.insertInto("accounts").values(row).execute();
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw takenEmail(row.email, error);
  }
  const detail = { name: row.name, email: toRealEmail(row.email) };
  await recordAudit(scope, { accountId: by.accountId, action: "account.create", subject: id, detail }, now());
  return id;
}

/** A new user, with a role in the gateway and in teams. */
export interface NewUser {
  readonly email: string;
  readonly role: Role;
  readonly teams: readonly { readonly accountId: string; readonly role: TeamRole }[];
}

/**
 * Invites a person: opens the account with this e-mail if it does not exist, sets its role, adds its holder to the
 * teams, and creates the link for setting a password. An account with a merely claimed e-mail is first taken back.
 *
 * @throws {GatewayError} as `changeAccount` and `invite`
 */
export function inviteUser(
  store: TransactionScope,
  { by, user: { email, role, teams } }: { by: Administrator; user: NewUser },
  now: () => number,
): Promise<{ accountId: string; token: string; expiresAt: number }> {
  return inTransaction(store, async (scope) => {
    const person = await findAccount(scope, parseEmail(email));
    if (person?.holder === "verified") {
      throw new GatewayError("conflict", `The user ${email} exists already`, { param: "email" });
    }
    // Role and teams take effect at once, so a person who only claimed the e-mail must lose access first.
    if (person?.holder === "claimed") {
      const { id: accountId } = person;
      await scope.change(async (db) => {
        await lockOwners(db);
        await giveToHolder(db, { accountId, by: by.accountId }, now());
      });
    }
    const accountId = await admit(scope, { by, accountId: person?.id, user: { email, role, teams } }, now);
    await scope.change((db) => lockManaged(db, by, accountId));
    const made = await invite(scope, { accountId, by: by.accountId }, now());
    await recordAudit(
      scope,
      { accountId: by.accountId, action: "account.invite", subject: accountId, detail: {} },
      now(),
    );
    return { accountId, ...made };
  });
}

/** Gives a person the role and the teams, and opens their account if they have no account. Returns its id. */
async function admit(
  scope: OpenTransaction,
  { by, accountId, user: { email, role, teams } }: { by: Administrator; accountId: string | undefined; user: NewUser },
  now: () => number,
): Promise<string> {
  const actions = accountActions(createAudited(scope, now), now);
  const personId = accountId ?? (await actions.createAccount(by, { email })).id;
  await actions.changeAccount(by, personId, { role });
  for (const team of teams) await addPersonAudited(scope, { by, personId, ...team }, now());
  return personId;
}

/** Ends the invitation of an account. @throws {GatewayError} `not_found`, `forbidden` */
export function deleteInvitation(
  store: TransactionScope,
  { by, accountId }: { by: Administrator; accountId: string },
  now: () => number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    await scope.change(async (db) => {
      await lockManaged(db, by, accountId);
      await endInvitations(db, accountId);
    });
    const entry = { accountId: by.accountId, action: "account.invitation_delete", subject: accountId, detail: {} };
    await recordAudit(scope, entry, now());
  });
}

/** Adds an existing user to a team. @throws {GatewayError} `not_found`, `conflict` */
export function addToTeam(
  store: Pick<Store, "db" | "shared">,
  membership: { by: Administrator; accountId: string; personId: string; role: TeamRole },
  now: () => number,
): Promise<void> {
  return inQuietTransaction(store, (scope) => addPersonAudited(scope, membership, now()));
}

/**
 * Adds a person who does not sign in here yet to a team, and opens their account if it does not exist. They sign in by
 * an invitation or by single sign-on.
 *
 * @throws {GatewayError} `invalid_request`, `forbidden`, `conflict`
 */
export function addNewToTeam(
  store: TransactionScope,
  { by, accountId, email, role }: { by: Administrator; accountId: string; email: string; role: TeamRole },
  now: () => number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    const person = await findAccount(scope, parseEmail(email));
    if (person === undefined || person.holder === "none") {
      const user = { email, role: "member", teams: [{ accountId, role }] } as const;
      await admit(scope, { by, accountId: person?.id, user }, now);
      return;
    }
    // They may sign in by now, with a role that stays.
    expectKnownHolder(person, { param: "accounts", isPerson: true });
    await addPersonAudited(scope, { by, accountId, personId: person.id, role }, now());
  });
}

async function addPersonAudited(
  scope: OpenTransaction,
  { by, accountId, personId, role }: { by: Administrator; accountId: string; personId: string; role: TeamRole },
  now: number,
): Promise<void> {
  const email = await scope.change(async (db: Transaction<Database>) => {
    await lockManaged(db, by, accountId);
    return (await addPerson(db, { accountId, personId, role }, now)).email;
  });
  const detail = { email, role };
  await recordAudit(scope, { accountId: by.accountId, action: "team.add", subject: accountId, detail }, now);
}
