import { accountLabel, formatUsd } from "../../contract/index.ts";
import { endOfPeriod, readSpentBudgets, type Store, startOfPeriod } from "../../db/index.ts";
import { listExpiringKeys } from "../../keys/index.ts";
import {
  pickMovers,
  readFigures,
  readLowWallets,
  readRefusedWallets,
  readSpendChanges,
  readSum,
} from "../../reports/index.ts";
import { findTeamsWithoutAdmin, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { nameOfModel } from "../forms/read-fields.ts";
import { toIso, toOwnerJson } from "../forms/serializers.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { toFiguresJson } from "./statistics-json.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const dayHours = 24;
/** The spend of this many days is compared with the spend of the same number of days before them. */
const moversDays = 7;
/** Groups that are compared: those that spent the most. */
const comparedMax = 200;
const listedMax = 8;
/** Keys that expire within this time are listed. */
const expiryDays = 14;
/** A budget is listed once this share of it is spent, or all of it will be at this pace. */
const budgetShare = 0.9;
const budgetsReadMax = 500;

/** GET /admin/home: what an operator looks at first, of all accounts. */
export function homeController(deps: HttpDeps) {
  const { store } = deps;
  const route = withAdminSession(deps, "/admin");
  return [
    route.get("/home", async () => {
      const now = deps.now();
      await deps.rollup?.freshen();
      const [today, month, accounts, models, keys, budgets, wallets, orphans] = await Promise.all([
        comparePeriods(store, toToday(now)),
        comparePeriods(store, toMonth(now)),
        readMovers(deps, "account", now),
        readMovers(deps, "model", now),
        readExpiringKeys(store, now),
        readBudgets(store, now),
        toLowWallets(store, now),
        findTeamsWithoutAdmin(store, { limit: listedMax + 1 }),
      ]);
      return {
        today,
        month,
        movers: { days: moversDays, accounts, models },
        expiring_keys: keys,
        budgets,
        low_wallets: wallets,
        /** Teams that nobody can manage until an operator makes another member admin. */
        teams_without_admin: orphans.map(({ id, ...names }) => ({ id, label: accountLabel(names) })),
      };
    }),
  ];
}

/** A time in hours since 1970, and the one that it is compared with. */
interface Comparison {
  readonly from: number;
  readonly until: number;
  readonly beforeFrom: number;
  readonly beforeUntil: number;
}

/** Today so far, and yesterday up to the same hour. */
function toToday(now: number): Comparison {
  const until = Math.floor(now / hourMs) + 1;
  const from = Math.floor(now / dayMs) * dayHours;
  return { from, until, beforeFrom: from - dayHours, beforeUntil: until - dayHours };
}

/** This month so far, and the last one up to the same hour of the same day, or its end. */
function toMonth(now: number): Comparison {
  const date = new Date(now);
  const startOf = (month: number) => Date.UTC(date.getUTCFullYear(), month, 1) / hourMs;
  const from = startOf(date.getUTCMonth());
  const beforeFrom = startOf(date.getUTCMonth() - 1);
  const until = Math.floor(now / hourMs) + 1;
  return { from, until, beforeFrom, beforeUntil: Math.min(from, beforeFrom + until - from) };
}

async function comparePeriods(store: Store, { from, until, beforeFrom, beforeUntil }: Comparison) {
  const [now, before] = await Promise.all([
    readSum(store, {}, { from, until }),
    readSum(store, {}, { from: beforeFrom, until: beforeUntil }),
  ]);
  return {
    from: toIso(from * hourMs),
    now: toFiguresJson(readFigures(now)),
    before: toFiguresJson(readFigures(before)),
  };
}

/** The accounts or models whose spend changed the most, of those that spent the most in both weeks together. */
async function readMovers(deps: HttpDeps, group: "account" | "model", now: number) {
  const { store } = deps;
  const from = (Math.floor(now / dayMs) - moversDays + 1) * dayHours;
  const period = { from, hours: moversDays * dayHours, step: dayHours, limit: comparedMax } as const;
  const shown = pickMovers(await readSpendChanges(store, group, period), listedMax);
  const owners = await namesOf(store, group === "account" ? shown.map(({ id }) => id) : []);
  return shown.map(({ id: value, spendNanodollars, beforeNanodollars }) => ({
    value,
    name: owners.get(value)?.label ?? nameOfModel(deps, value) ?? value,
    cost_usd: formatUsd(spendNanodollars),
    before_usd: formatUsd(beforeNanodollars),
  }));
}

/** The keys that end next, the first one first. */
async function readExpiringKeys(store: Store, now: number) {
  const keys = await listExpiringKeys(store, { now, days: expiryDays, limit: listedMax });
  const owners = await namesOf(
    store,
    keys.map(({ accountId }) => accountId),
  );
  return keys.map(({ id, name, accountId: account, expiresAt, lastUsedAt }) => ({
    id,
    name,
    account,
    ...toOwnerJson(owners, account),
    expires_at: toIso(expiresAt),
    last_used_at: toIso(lastUsedAt),
  }));
}

/** Budgets that are nearly spent, or will be before their period ends if it goes on like this; the worst first. */
async function readBudgets(store: Store, now: number) {
  const rows = await readSpentBudgets(store, now, { leastShare: 0, limit: budgetsReadMax });
  const data = rows.flatMap((row) => {
    const { subject, accountId: account, period, budgetNanodollars: budget, spentNanodollars: spent } = row;
    const isOfOwner = subject === "account" || subject === "team" || subject === "key";
    // A budget that never ends has no pace.
    if (!isOfOwner || period === "lifetime" || period === "session") return [];
    const firstDay = startOfPeriod(now, period);
    const [start, end] = [firstDay * dayMs, endOfPeriod(firstDay, period)];
    // In the first hour a single call would be a forecast.
    const elapsed = Math.max(hourMs, now - start);
    const forecast = Math.round((spent * (end - start)) / Math.min(elapsed, end - start));
    if (forecast < budget && spent < budget * budgetShare) return [];
    const [key, name] = row.keyId === undefined ? [null, null] : [row.keyId, row.name];
    const share = Math.max(spent, forecast) / budget;
    return [{ account, key, name, period, budget, spent, forecast, share, ends_at: toIso(end) }];
  });
  data.sort((one, other) => other.share - one.share);
  const shown = data.slice(0, listedMax);
  const owners = await namesOf(
    store,
    shown.map(({ account }) => account),
  );
  return shown.map(({ budget, spent, forecast, share: _share, ...row }) => ({
    ...row,
    ...toOwnerJson(owners, row.account),
    budget_usd: formatUsd(budget),
    spent_usd: formatUsd(spent),
    forecast_usd: formatUsd(forecast),
  }));
}

/** Empty wallets that had refused requests today, then the wallets that run out first. */
async function toLowWallets(store: Store, now: number) {
  const refused = await readRefusedWallets(store, now, listedMax);
  const isRefused = new Set(refused.map(({ accountId }) => accountId));
  const pacing = (await readLowWallets(store, now, listedMax)).filter(({ accountId }) => !isRefused.has(accountId));
  const low = [...refused, ...pacing].slice(0, listedMax);
  const owners = await namesOf(
    store,
    low.map(({ accountId }) => accountId),
  );
  return low.map(({ accountId, balanceNanodollars, daysLeft }) => ({
    account: accountId,
    ...toOwnerJson(owners, accountId),
    balance_usd: formatUsd(balanceNanodollars),
    days_left: daysLeft,
  }));
}
