import { type Static, Type } from "@sinclair/typebox";
import { GatewayError } from "../../contract/index.ts";
import type { SessionUser } from "../../identity/index.ts";
import {
  describeAmounts,
  describeWalletSums,
  readFirstMoment,
  readStatements,
  readStatementTotals,
  statementColumns,
  toMonthSpan,
  toStatementRows,
} from "../../reports/index.ts";
import { maySeeAll } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { streamDownload } from "../forms/download.ts";
import { MonthQuery, readStatementJson, streamStatements } from "../forms/statement-json.ts";
import { withAdminSession, withSession } from "../lifecycle/session.ts";

/** `account`: by its id; absent: the account of the session. */
const Query = Type.Composite([
  MonthQuery,
  Type.Object({ account: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) }),
]);
const PageQuery = Type.Composite([
  MonthQuery,
  Type.Object({ after: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) }),
]);

/** Accounts of one page of the statements of all. */
const pageSize = 100;

/** The statement of a month, to be printed or downloaded: of the account of the session, for operators of any account. */
export function statementController(deps: HttpDeps) {
  const route = withSession(deps);
  const read = async (user: SessionUser, { account: id = user.accountId, month }: Static<typeof Query>) => {
    if (id !== user.accountId && !maySeeAll(user.role)) {
      throw new GatewayError("forbidden", "Only administrators can see the statements of other accounts");
    }
    const account = await deps.accounts.find(id);
    if (account?.id !== id) throw new GatewayError("not_found", "There is no account with this id");
    return await readStatementJson(deps, account, month);
  };
  return [
    route.get("/statement", ({ user, query }) => read(user, query), { query: Query }),
    route.get(
      "/statement.csv",
      async ({ user, query }) => {
        const statement = await read(user, query);
        return streamDownload({
          name: `statement-${statement.month}`,
          format: "csv",
          columns: statementColumns,
          toJson: (row: object) => row,
          readPage: async () => ({ rows: toStatementRows(statement) }),
        });
      },
      { query: Query },
    ),
  ];
}

function toMonth(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** The statements of all accounts, one line each. */
export function statementsController(deps: HttpDeps) {
  const route = withAdminSession(deps, "/admin");
  return [
    route.get(
      "/statements",
      async ({ query: { month, after } }) => {
        const now = deps.now();
        const span = toMonthSpan(month, now);
        const { rows, next } = await readStatements(deps.store, span, { limit: pageSize, after });
        return {
          month: toMonth(span.from),
          first_month: toMonth(await readFirstMoment(deps.store, now)),
          data: rows.map(({ account, sums }) => describeWalletSums(sums, { account, span, now })),
          totals: describeAmounts(await readStatementTotals(deps.store, span)),
          next: next ?? null,
        };
      },
      { query: PageQuery },
    ),
    route.get("/statements.csv", ({ query: { month } }) => streamStatements(deps, month), { query: MonthQuery }),
  ];
}
