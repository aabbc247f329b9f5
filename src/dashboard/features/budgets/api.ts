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
  return useSWR(["budgets", account], () => getBudgets(account), slowRefresh);
}

const getAllBudgets = () => request(api.admin.budgets.get());

/** A budget of the gateway or of an account, with the subject that spent the most of it. */
export type AnyBudget = Awaited<ReturnType<typeof getAllBudgets>>["data"][number];

/**
 * The budgets of the gateway and of all accounts, the nearest to their amounts first, for administrators. They are not read again by
 * a timer: to find the nearest the gateway looks at what each account has spent.
 */
export function useAllBudgets() {
  return useSWR("all-budgets", getAllBudgets, { keepPreviousData: true });
}

/** The subjects that have spent the most of a budget of each by itself. */
export function useSpending(account: string, id: string) {
  return useSWR(["budget-spending", id], () => getSpending(account, id), slowRefresh);
}

/** Changes budgets, and then loads them anew. */
async function change<Result>(account: string, pending: Promise<Result>): Promise<Result> {
  const result = await pending;
  await Promise.all([mutate(["budgets", account]), mutate("all-budgets")]);
  return result;
}

export interface NewBudget {
  readonly subject: BudgetSubject;
  /** `null`: each by itself. */
  readonly name: string | null;
  /** `null`: all keys of the account. */
  readonly api_key_id: string | null;
  readonly budget_usd: string;
  readonly budget_period: BudgetPeriod;
}

export function createBudget(account: string, budget: NewBudget) {
  return change(account, request(budgetsOf(account).post(budget)));
}

/** `null` ends the raise. Its end is in seconds since 1970. */
export function changeBudget(
  account: string,
  id: string,
  fields: {
    readonly budget_usd: string;
    /** Absent: it stays. */
    readonly budget_period?: BudgetPeriod;
    readonly raise_usd: string | null;
    readonly raise_until: number | null;
  },
) {
  return change(account, request(budgetsOf(account)({ budget_id: id }).post(fields)));
}

export function deleteBudget(account: string, id: string) {
  return change(account, request(budgetsOf(account)({ budget_id: id }).delete()));
}
