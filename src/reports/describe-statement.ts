import { answerColumns, formatUsd, promptColumns, sumColumns, toRealEmail } from "../contract/index.ts";
import { endOfPeriod, startOfDay, startOfPeriod } from "../db/index.ts";
import type { MonthlyStatement, StatementLine, WalletSums } from "./statement.ts";

/** Models of one statement; what others cost is one line. */
const modelsMax = 500;

/** A UTC month as a span: its first moment, and the first moment of the next month. */
export interface MonthSpan {
  readonly from: number;
  readonly until: number;
}

/** The span of a month such as `2026-11`, or of the month of a moment. */
export function toMonthSpan(month: string | undefined, now: number): MonthSpan {
  const first = startOfPeriod(month === undefined ? now : Date.parse(`${month}-01T00:00:00Z`));
  return { from: startOfDay(first), until: endOfPeriod(first) };
}

/** A month as it is written, such as `2026-11`. */
const monthForm = /^(19|20)\d{2}-(0[1-9]|1[0-2])$/;
export const monthPattern = monthForm.source;

/** Whether a text has the form of {@link monthPattern}. */
export function isMonth(text: string): boolean {
  return monthForm.test(text);
}

interface StatementOf {
  readonly account: { readonly id: string; readonly email: string; readonly name?: string | null | undefined };
  readonly span: MonthSpan;
  readonly now: number;
}

function describeHead({ account: { id, email, name }, span: { from, until }, now }: StatementOf) {
  return {
    month: toMonth(from),
    from: toIso(from),
    until: toIso(Math.min(until, now)),
    /** Whether the month goes on. */
    open: until > now,
    account: { id, name: name ?? null, email: toRealEmail(email) },
  };
}

/**
 * Amounts are exact and add up: opening balance, charges and transactions are the closing balance. Charges are negative.
 * The cost of models that are not told apart, and of a call that ended this very moment, is the charge without a name.
 */
export function describeStatement(
  statement: MonthlyStatement,
  { nameOfModel, ...head }: StatementOf & { readonly nameOfModel: (id: string) => string },
) {
  const models = statement.models.slice(0, modelsMax);
  const rest = models.reduce((sum, { figures }) => sum + figures.charged_nanodollars, statement.chargesNanodollars);
  const charges = models.map(({ id, figures }) => ({
    name: nameOfModel(id) as string | null,
    requests: (figures.requests + figures.failures) as number | null,
    prompt_tokens: sumColumns(figures, promptColumns) as number | null,
    completion_tokens: sumColumns(figures, answerColumns) as number | null,
    charged_usd: formatUsd(0 - figures.charged_nanodollars),
  }));
  const unknown = { name: null, requests: null, prompt_tokens: null, completion_tokens: null };
  return {
    ...describeHead(head),
    first_month: toMonth(statement.firstMonth),
    opening_usd: formatUsd(statement.openingNanodollars),
    charges_usd: formatUsd(statement.chargesNanodollars),
    charges: rest === 0 ? charges : [...charges, { ...unknown, charged_usd: formatUsd(rest) }],
    transactions_usd: formatUsd(statement.transactions.reduce((sum, { nanodollars }) => sum + nanodollars, 0)),
    transactions: statement.transactions.map(toStatementLineJson),
    closing_usd: formatUsd(statement.closingNanodollars),
  };
}

/** A line of a statement, as pages and files have it. */
export function toStatementLineJson({ at, kind, nanodollars, note, balanceNanodollars }: StatementLine) {
  return {
    at: toIso(at),
    kind,
    amount_usd: formatUsd(nanodollars),
    balance_usd: formatUsd(balanceNanodollars),
    note: note ?? null,
  };
}

/** The statement of an account in one line; amounts add up to the closing balance. */
export function describeWalletSums(sums: WalletSums, head: StatementOf) {
  return { ...describeHead(head), ...describeAmounts(sums) };
}

/** The amounts of a statement in one line. */
export function describeAmounts(sums: WalletSums) {
  return {
    opening_usd: formatUsd(sums.openingNanodollars),
    credits_usd: formatUsd(sums.creditsNanodollars),
    debits_usd: formatUsd(sums.debitsNanodollars),
    charges_usd: formatUsd(sums.chargesNanodollars),
    closing_usd: formatUsd(sums.closingNanodollars),
  };
}

/** Columns of a statement as CSV, one row for each of its lines. */
export const statementColumns = [
  "section",
  "at",
  "name",
  "requests",
  "prompt_tokens",
  "completion_tokens",
  "amount_usd",
] as const;

/** The lines of a statement, from the opening balance to the closing one. */
export function toStatementRows(statement: ReturnType<typeof describeStatement>): object[] {
  const { from, until, opening_usd, charges, transactions, closing_usd } = statement;
  return [
    { section: "opening balance", at: from, amount_usd: opening_usd },
    ...charges.map(({ charged_usd, ...charge }) => ({
      ...charge,
      section: "charges",
      name: charge.name ?? "other charges",
      amount_usd: charged_usd,
    })),
    ...transactions.map(({ kind, note, ...line }) => ({ ...line, section: kind, name: note })),
    { section: "closing balance", at: until, amount_usd: closing_usd },
  ];
}

/** Columns of the statements of all accounts as CSV, one row for each account. */
export const statementsColumns = [
  "month",
  "account",
  "name",
  "email",
  "opening_usd",
  "credits_usd",
  "debits_usd",
  "charges_usd",
  "closing_usd",
] as const;

/** A line of the statements of all accounts as a row of the CSV. */
export function toStatementsRow({ account, ...sums }: ReturnType<typeof describeWalletSums>) {
  return { ...sums, account: account.id, name: account.name, email: account.email };
}

function toMonth(at: number): string {
  return toIso(at).slice(0, 7);
}

function toIso(at: number): string {
  return new Date(at).toISOString();
}
