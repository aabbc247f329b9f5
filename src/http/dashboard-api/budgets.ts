import { formatUsd } from "../../contract/index.ts";
import { endOfPeriod, startOfPeriod } from "../../db/index.ts";
import { toJson } from "../../lib/fields.ts";
import { budgetFields, eachAccount, namesOf, readNearestBudgets } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { nameOfModel } from "../forms/read-fields.ts";
import { toIso } from "../forms/serializers.ts";
import { withAdminSession } from "../lifecycle/session.ts";

/** Budgets that the page shows; an account can have a thousand. */
const budgetsMax = 500;

/** GET /admin/budgets: the budgets of the gateway and of all accounts, the nearest to their amounts first. */
export function allBudgetsController(deps: HttpDeps) {
  const { store } = deps;
  const route = withAdminSession(deps, "/admin");
  return [
    route.get("/budgets", async () => {
      const now = deps.now();
      const rows = await readNearestBudgets(store, { limit: budgetsMax + 1, now });
      const shown = rows.slice(0, budgetsMax);
      const ofKeys = shown.filter(({ budget }) => budget.subject === "key");
      const [owners, keys] = await Promise.all([
        namesOf(store, [
          ...new Set(shown.flatMap(({ budget, top }) => [budget.account_id, ...(top ? [top.accountId] : [])])),
        ]),
        readKeyNames(deps, [
          ...shown.map(({ budget }) => budget.key_id),
          ...ofKeys.flatMap(({ budget, top }) => [budget.name, top?.name ?? null]),
        ]),
      ]);
      const labelOf = (id: string) => owners.get(id)?.label ?? id;
      const data = shown.map(({ budget, replacesWallet, limitNanodollars, top }) => {
        const { id, account_id: account, subject, name, key_id: key, budget_period: period } = budget;
        const toName = (text: string) => {
          if (subject === "key") return keys.get(text) ?? text;
          return subject === "model" ? (nameOfModel(deps, text) ?? text) : text;
        };
        const isOfOne = account !== eachAccount && (name !== null || subject === "account");
        const isEndless = period === "lifetime" || period === "session";
        const spent = formatUsd(top?.spentNanodollars ?? 0);
        return {
          id,
          object: account === eachAccount ? ("organization.budget" as const) : ("organization.project.budget" as const),
          ...toJson(budgetFields, budget),
          created_at: Math.floor(budget.created_at / 1000),
          used_usd: isOfOne ? spent : null,
          resets_at: isEndless ? null : toIso(endOfPeriod(startOfPeriod(now, period), period)),
          /** `null`: a budget of the gateway. */
          account: account === eachAccount ? null : { id: account, label: labelOf(account) },
          name_label: name === null ? null : toName(name),
          key_label: key === null ? null : (keys.get(key) ?? key),
          limit_usd: formatUsd(limitNanodollars),
          spent_usd: spent,
          /** The largest spender of a budget of each by itself. */
          top:
            top === undefined || isOfOne
              ? null
              : { account: top.accountId, account_label: labelOf(top.accountId), name: toName(top.name) },
          replaces_wallet: replacesWallet,
        };
      });
      return { data, has_more: rows.length > budgetsMax };
    }),
  ];
}

async function readKeyNames(
  { store: { db } }: HttpDeps,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const present = [...new Set(ids.filter((id) => id !== null))];
  if (present.length === 0) return new Map();
  const rows = await db.selectFrom("keys").select(["id", "name"]).where("id", "in", present).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}
