import { Type } from "@sinclair/typebox";
import {
  describeStatement,
  describeWalletSums,
  monthPattern,
  readMonthlyStatement,
  readStatements,
  statementsColumns,
  toMonthSpan,
  toStatementsRow,
} from "../../reports/index.ts";
import type { Account } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type Page, streamDownload } from "./download.ts";
import { displayNameOf } from "./read-fields.ts";

/** A UTC month; absent: the present one. */
export const MonthQuery = Type.Object({
  month: Type.Optional(Type.String({ pattern: monthPattern, title: "a month such as 2026-11" })),
});

/** The statement of an account, in the words of both APIs. */
export async function readStatementJson(
  deps: HttpDeps,
  account: Pick<Account, "id" | "email" | "name">,
  month: string | undefined,
) {
  const now = deps.now();
  const span = toMonthSpan(month, now);
  await deps.rollup?.freshen();
  const statement = await readMonthlyStatement(deps.store, account.id, span);
  return describeStatement(statement, { account, span, now, nameOfModel: (id) => displayNameOf(deps, id) });
}

/** The statements of all accounts as CSV, read page by page while the client takes them. */
export function streamStatements({ store, now }: HttpDeps, month: string | undefined): Response {
  const [at, span] = [now(), toMonthSpan(month, now())];
  return streamDownload({
    name: `statements-${new Date(span.from).toISOString().slice(0, 7)}`,
    format: "csv",
    columns: statementsColumns,
    toJson: toStatementsRow,
    readPage: async ({ limit, before: after }: Page<string>) => {
      const { rows, next } = await readStatements(store, span, { limit, after });
      return { rows: rows.map(({ account, sums }) => describeWalletSums(sums, { account, span, now: at })), next };
    },
  });
}
