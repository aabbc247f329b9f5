import { type Static, Type } from "@sinclair/typebox";
import { answerColumns, formatUsd, promptColumns, sumColumns } from "../../contract/index.ts";
import { endOfPeriod, startOfPeriod } from "../../db/index.ts";
import type { SessionUser } from "../../identity/index.ts";
import { readMonthlyStatement } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";
import { nameOfModel } from "../forms/read-fields.ts";
import { toStatementLineJson } from "../forms/serializers.ts";
import { withSession } from "../lifecycle/session.ts";
import { streamDownload } from "./download.ts";

const dayMs = 86_400_000;
/** Models of one statement; what others cost is one line. */
const modelsMax = 500;

const Query = Type.Object({
  /** A UTC month; absent: the present one. */
  month: Type.Optional(Type.String({ pattern: "^(19|20)\\d{2}-(0[1-9]|1[0-2])$", title: "a month such as 2026-11" })),
});

const columns = ["section", "at", "name", "requests", "prompt_tokens", "completion_tokens", "amount_usd"] as const;

/** The statement of a month, to be printed or downloaded: of the account of the session. */
export function statementController(deps: HttpDeps) {
  const route = withSession(deps);
  return [
    route.get("/statement", ({ user, query }) => toStatementJson(deps, user, query), { query: Query }),
    route.get(
      "/statement.csv",
      async ({ user, query }) => {
        const statement = await toStatementJson(deps, user, query);
        const { from, until, opening_usd, charges, transactions, closing_usd } = statement;
        const rows = [
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
        return streamDownload({
          name: `statement-${statement.month}`,
          format: "csv",
          columns,
          toJson: (row: object) => row,
          readPage: async () => ({ rows }),
        });
      },
      { query: Query },
    ),
  ];
}

/**
 * Amounts are exact and add up: opening balance, charges and transactions are the closing balance. Charges are negative.
 * The cost of models that are not told apart, and of a call that ended this very moment, is the charge without a name.
 */
async function toStatementJson(
  deps: HttpDeps,
  { accountId, accountEmail, accountName }: SessionUser,
  params: Static<typeof Query>,
) {
  const now = deps.now();
  const moment = params.month === undefined ? now : Date.parse(`${params.month}-01T00:00:00Z`);
  const first = startOfPeriod(moment);
  const [from, until] = [first * dayMs, endOfPeriod(first)];
  await deps.rollup?.freshen();
  const statement = await readMonthlyStatement(deps.store, accountId, { from, until });
  const models = statement.models.slice(0, modelsMax);
  const rest = models.reduce((sum, { figures }) => sum + figures.charged_nanodollars, statement.chargesNanodollars);
  const charges = models.map(({ id, figures }) => ({
    name: (nameOfModel(deps, id) ?? id) as string | null,
    requests: figures.requests + figures.failures,
    prompt_tokens: sumColumns(figures, promptColumns),
    completion_tokens: sumColumns(figures, answerColumns),
    charged_usd: formatUsd(-figures.charged_nanodollars),
  }));
  const unknown = { requests: null, prompt_tokens: null, completion_tokens: null };
  return {
    month: new Date(from).toISOString().slice(0, 7),
    from: new Date(from).toISOString(),
    until: new Date(Math.min(until, now)).toISOString(),
    /** Whether the month goes on. */
    open: until > now,
    first_month: new Date(statement.firstMonth).toISOString().slice(0, 7),
    account: { id: accountId, name: accountName ?? null, email: accountEmail },
    opening_usd: formatUsd(statement.openingNanodollars),
    charges_usd: formatUsd(statement.chargesNanodollars),
    charges: rest === 0 ? charges : [...charges, { name: null, ...unknown, charged_usd: formatUsd(rest) }],
    transactions_usd: formatUsd(statement.transactions.reduce((sum, { nanodollars }) => sum + nanodollars, 0)),
    transactions: statement.transactions.map((line) => toStatementLineJson(line)),
    closing_usd: formatUsd(statement.closingNanodollars),
  };
}
