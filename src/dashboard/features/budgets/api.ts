import useSWR, { mutate } from "swr";
import { api, organization, readPages, request, slowRefresh } from "../../data/api.ts";

/** Stands for all accounts, each by itself, in place of the id of one. */
export const eachAccount = "";

const budgetsOf = (account: string) =>
  account === eachAccount ? organization.budgets : organization.projects({ project_id: account }).budgets;
const getBudgets = (account: string) => readPages((query) => request(budgetsOf(account).get({ query })));
const getSpending = (account: string, id: string) =>
  request(budgetsOf(account)({ budget_id: id }).usage.get({ query: { limit: 100 } }));

export type Budget = Awaited<ReturnType<typeof getBudgets>>[number];
export type BudgetSubject = Budget["subject"];
export type BudgetPeriod = Budget["budget_period"];

/** The budgets of any account, or of the gateway over each, for administrators. */
export function useBudgets(account: string) {
  return useSWR(["budget", account], () => getBudgets(account), slowRefresh);
}

const getAllBudgets = () => request(api.admin.budgets.get());

/** A budget of the gateway or of an account, with the subject that spent the most of it. */
export type AnyBudget = Awaited<ReturnType<typeof getAllBudgets>>["data"][number];

/**
 * The budgets of the gateway and of all accounts, the nearest to their amounts first, for administrators. They are not read again by
 * a timer: to find the nearest the gateway looks at what each account has spent.
 */
export function useAllBudgets() {
  return useSWR(["budget"], getAllBudgets, { keepPreviousData: true });
}

/** The subjects that have spent the most of a budget of each by itself. */
export function useSpending(account: string, id: string) {
  return useSWR(["budget-spending", id], () => getSpending(account, id), slowRefresh);
}

export async function deleteBudget(account: string, id: string): Promise<void> {
  await request(budgetsOf(account)({ budget_id: id }).delete());
  await mutate((key) => Array.isArray(key) && key[0] === "budget");
}
