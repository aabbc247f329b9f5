import { type Static, Type } from "@sinclair/typebox";
import { formatUsd } from "../../../contract/index.ts";
import { ownBudgetId } from "../../../db/index.ts";
import {
  changeBudget,
  checkBudget,
  createBudget,
  deleteBudget,
  eachAccount,
  listBudgets,
  type StoredBudget,
} from "../../../tenants/index.ts";
import { readBudget, Usd } from "../../forms/read-fields.ts";
import { budgetAmounts, budgetTarget, readBudgetChanges, toTarget } from "../budgets.ts";
import { invalid } from "../lists.ts";
import {
  closed,
  entriesMax,
  entriesOf,
  expectFew,
  findOwner,
  OptionalAccount,
  planEntries,
  readAccountNames,
  readOwnerId,
  Status,
  toKeyIdHere,
} from "./plan-entries.ts";
import { defineSection } from "./section.ts";

const BudgetEntry = Type.Object(
  {
    account: OptionalAccount,
    ...budgetTarget,
    ...budgetAmounts,
    budget_usd: Type.Optional(Usd),
    status: Status,
  },
  closed,
);
type BudgetEntry = Static<typeof BudgetEntry>;

/** The budgets, but for those that accounts and keys have among their fields. One is found by what it counts. */
export const budgets = defineSection({
  schema: entriesOf(BudgetEntry),
  area: "accounts",
  async read(deps) {
    const emails = await readAccountNames(deps);
    const stored = await listBudgets(deps.store, undefined, { limit: entriesMax + 1 });
    expectFew("budgets", stored.length);
    const entries = stored.flatMap((budget) => {
      const entry = toEntry(budget, deps.now());
      if (budget.isOfGateway) return [entry];
      const account = emails.get(budget.accountId);
      return account === undefined || (isOwn(budget) && entry.raise_usd === null) ? [] : [{ account, ...entry }];
    });
    // Those of one document are made in the same millisecond: only what they count tells their order again.
    return entries.sort((a, b) => (label(a) < label(b) ? -1 : 1));
  },
  async plan(planning, entries) {
    const { deps, admin: by } = planning;
    const { store, now } = deps;
    const ownerOf = ({ account: email }: BudgetEntry) =>
      email === undefined ? undefined : findOwner(planning, { section: "budgets", what: "a budget", email });
    const owners = entries.flatMap(({ account = "" }) => planning.accounts.get(account)?.id ?? []);
    const stored = await listBudgets(store, [eachAccount, ...owners], { limit: entriesMax });
    /** The keys have the ids that they have here, as far as they are here yet. */
    const targetOf = (entry: BudgetEntry) => {
      const { keyId, name, ...target } = toTarget(deps, entry);
      const isOfKey = target.subject === "key";
      return { ...target, keyId: toKeyIdHere(planning, keyId), name: isOfKey ? toKeyIdHere(planning, name) : name };
    };
    const amountsOf = (entry: BudgetEntry) => {
      const { budget_usd: usd, raise_usd: raise, raise_until: until } = entry;
      const isOver = until != null && until * 1000 <= now();
      return {
        budget_usd: usd === undefined ? undefined : formatUsd(readBudget(usd)),
        raise_usd: isOver ? null : typeof raise === "string" ? formatUsd(readBudget(raise, "raise_usd")) : raise,
        raise_until: isOver ? null : until,
      };
    };
    const readNew = (entry: BudgetEntry) => {
      const { limitNanodollars, raise } = readBudgetChanges(amountsOf(entry));
      if (limitNanodollars === undefined) throw invalid("budgets", `The budget ${label(entry)} has no budget_usd`);
      return { ...targetOf(entry), limitNanodollars, raise: raise ?? undefined };
    };
    return await planEntries<BudgetEntry, StoredBudget>(entries, {
      section: "budgets",
      label,
      owner: ownerOf,
      find(entry) {
        const owner = entry.account === undefined ? eachAccount : ownerOf(entry)?.id;
        const target = targetOf(entry);
        return stored.find((one) => {
          const isSame = (["subject", "name", "keyId", "period"] as const).every(
            (field) => one[field] === target[field],
          );
          return isSame && one.accountId === owner;
        });
      },
      toTarget: amountsOf,
      toCurrent: (budget) => toEntry(budget, now()),
      check(entry, present) {
        const accountId = entry.account === undefined ? eachAccount : ownerOf(entry)?.id;
        if (present === undefined) checkBudget({ ...readNew(entry), accountId }, now());
        else readBudgetChanges(amountsOf(entry));
      },
      async create(entry) {
        const accountId = entry.account === undefined ? eachAccount : await readOwnerId(planning, entry.account);
        return await createBudget(store, { by, accountId, ...readNew(entry) }, now());
      },
      change: ({ id, accountId }, entry) =>
        changeBudget(store, { by, accountId, id, changes: readBudgetChanges(amountsOf(entry)) }, now()),
      remove: ({ id, accountId }) => deleteBudget(store, { by, accountId, id }, now()),
    });
  },
});

/** Whether it is the budget that an account or a key has among its fields. */
function isOwn({ id, accountId, name }: StoredBudget): boolean {
  return id === ownBudgetId(name ?? accountId);
}

/** A raise that is over is left out. */
function toEntry({ subject, name, keyId, period, limitNanodollars, raise }: StoredBudget, now: number) {
  const isRaised = raise !== undefined && raise.until > now;
  return {
    subject,
    name: name ?? null,
    api_key_id: keyId ?? null,
    budget_period: period,
    budget_usd: formatUsd(limitNanodollars),
    raise_usd: isRaised ? formatUsd(raise.nanodollars) : null,
    raise_until: isRaised ? Math.floor(raise.until / 1000) : null,
  };
}

/** The label of a budget, by which it is also found: "ada@example.com tag each week key_1". */
function label({ account, subject, name, api_key_id: key, budget_period: period }: BudgetEntry): string {
  return [
    ...(account === undefined ? [] : [account]),
    subject,
    name ?? "each",
    period,
    ...(key == null ? [] : [key]),
  ].join(" ");
}
