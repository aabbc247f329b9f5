import { toCsvLine } from "../../http/forms/download.ts";
import {
  describeAmounts,
  describeStatement,
  describeWalletSums,
  isMonth,
  readMonthlyStatement,
  readStatements,
  readStatementTotals,
  statementColumns,
  statementsColumns,
  toMonthSpan,
  toStatementRows,
  toStatementsRow,
} from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { readModelNames } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

/** Accounts that are read at once. */
const accountsAtOnce = 200;
const formats = ["text", "csv"] as const;

export const statementShow = defineCommand({
  name: "statement",
  description: "Show the statement of an account for a month, or one line for each account",
  flags: {
    account: { value: "A", description: "Only this account, by id, e-mail or name of a team" },
    month: { value: "2026-11", description: "A UTC month (default: this month)" },
    format: { value: formats.join("|"), description: "Output format (default: text)", choices: formats },
  },
  args: [],
  example: "statement --month 2026-11 --format csv",
  async run(context, { flags, config, now }) {
    const { month, format = "text" } = flags;
    if (month !== undefined && !isMonth(month)) {
      throw new UsageError(`--month is ${month}, expected a month such as 2026-11`);
    }
    if (!formats.some((name) => name === format)) {
      throw new UsageError(`Cannot write --format ${format}, expected text or csv`);
    }
    const span = toMonthSpan(month, now);
    if (flags.account === undefined) {
      const { lines: json, totals } = await withStore(
        config,
        async ({ store }) => {
          const lines: ReturnType<typeof describeWalletSums>[] = [];
          for (let after: string | undefined; ; ) {
            const { rows, next } = await readStatements(store, span, { limit: accountsAtOnce, after });
            lines.push(...rows.map(({ account, sums }) => describeWalletSums(sums, { account, span, now })));
            if (next === undefined) return { lines, totals: describeAmounts(await readStatementTotals(store, span)) };
            after = next;
          }
        },
        now,
      );
      if (format === "csv") {
        return { json, text: toCsv(statementsColumns, json.map(toStatementsRow)) };
      }
      const head = ["account", "opening", "credits", "debits", "charges", "closing"];
      const toRow = (name: string, sums: typeof totals) => [
        name,
        sums.opening_usd,
        sums.credits_usd,
        sums.debits_usd,
        sums.charges_usd,
        sums.closing_usd,
      ];
      const rows = json.map(({ account, ...sums }) => toRow(account.email ?? account.name ?? account.id, sums));
      if (rows.length > 0) rows.push(toRow("in all", totals));
      return { json, text: rows.length === 0 ? "No account has any movement" : columns([head, ...rows]) };
    }
    const name = flags.account;
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const account = await expectAccount(accounts, name);
        const statement = await readMonthlyStatement(store, account.id, span);
        return describeStatement(statement, { account, span, now, nameOfModel });
      },
      now,
    );
    if (format === "csv") {
      return { json, text: toCsv(statementColumns, toStatementRows(json)) };
    }
    const lines = [
      ["opening balance", json.from.slice(0, 10), "", json.opening_usd],
      ...json.charges.map((charge) => ["charges", "", charge.name ?? "other charges", charge.charged_usd]),
      ...json.transactions.map(({ kind, at, note, amount_usd: usd }) => [kind, at.slice(0, 10), note ?? "", usd]),
      ["closing balance", json.until.slice(0, 10), "", json.closing_usd],
    ];
    return { json, text: columns([["section", "day (UTC)", "name", "USD"], ...lines]) };
  },
});

function toCsv(names: readonly string[], rows: readonly object[]): string {
  return `${names.join(",")}\n${rows.map((row) => toCsvLine(row, names)).join("")}`.replaceAll("\r\n", "\n").trimEnd();
}
