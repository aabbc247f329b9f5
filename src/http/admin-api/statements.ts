import { type Static, Type } from "@sinclair/typebox";
import { formatUsd, nullable, quoteValue } from "../../contract/index.ts";
import { irreversibleReasons, readReversed, whyIrreversible } from "../../ledger/index.ts";
import {
  describeAmounts,
  describeWalletSums,
  isMonth,
  monthPattern,
  readStatements,
  readStatementTotals,
  readTransactions,
  toMonthSpan,
  type WalletTransaction,
} from "../../reports/index.ts";
import { responses } from "../api/openapi.ts";
import type { HttpDeps } from "../deps.ts";
import { reverseAudited } from "../forms/reverse-credit.ts";
import { readStatementJson, streamStatements } from "../forms/statement-json.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, parameters, readPage, toList, toSeconds } from "./lists.ts";
import { readProject } from "./projects.ts";

const Usd = Type.String({ description: "Exact decimal text" });
const Time = Type.String({ format: "date-time" });
const head = {
  project_id: Type.String(),
  project_name: nullable(Type.String()),
  email: nullable(Type.String({ description: "`null`: a team without an e-mail" })),
  month: Type.String({ description: "A UTC month, such as `2026-11`" }),
  from: Time,
  until: Time,
  open: Type.Boolean({ description: "Whether the month is not over" }),
  opening_usd: Usd,
};
const StatementObject = Type.Object({
  object: Type.Literal("organization.project.statement"),
  ...head,
  charges_usd: Type.String({ description: "Negative where the wallet paid" }),
  charges: Type.Array(
    Type.Object({
      model: nullable(Type.String({ description: "`null`: charges that are not counted by model" })),
      requests: nullable(Type.Integer()),
      prompt_tokens: nullable(Type.Integer()),
      completion_tokens: nullable(Type.Integer()),
      charged_usd: Usd,
    }),
  ),
  transactions_usd: Usd,
  transactions: Type.Array(
    Type.Object({ at: Time, kind: Type.String(), amount_usd: Usd, balance_usd: Usd, note: nullable(Type.String()) }),
  ),
  closing_usd: Usd,
});
const StatementLine = Type.Object({
  object: Type.Literal("organization.statement"),
  ...head,
  credits_usd: Usd,
  debits_usd: Type.String({ description: "Negative" }),
  charges_usd: Type.String({ description: "Negative where the wallet paid" }),
  closing_usd: Usd,
});
const Totals = Type.Object(
  { opening_usd: Usd, credits_usd: Usd, debits_usd: Usd, charges_usd: Usd, closing_usd: Usd },
  {
    description:
      "The sums of all projects, on each page. The CSV has no row for them: whoever adds up its rows would count twice",
  },
);
const TransactionObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.transaction"),
  created_at: Type.Integer(),
  kind: Type.String({ description: "`credit` or `debit`" }),
  amount_usd: Usd,
  note: nullable(Type.String()),
  irreversible: nullable(
    Type.Union(
      irreversibleReasons.map((reason) => Type.Literal(reason)),
      { description: "Why it cannot be reversed; `null`: it can" },
    ),
  ),
});
const NewReversal = formBody({
  transaction_id: Type.String({ minLength: 1, maxLength: 300, description: "The id of a credit" }),
  note: Type.Optional(Type.String({ minLength: 1, maxLength: 400, description: "Default: the note of the credit" })),
});
const ReversalObject = Type.Object({
  id: Type.String({ description: "The id of the debit" }),
  object: Type.Literal("organization.project.reversal"),
  transaction_id: Type.String(),
  amount_usd: Type.String({ description: "Negative" }),
  note: Type.String(),
  balance_usd: Usd,
});

const monthParameter = {
  month: { description: "A UTC month; default the current one", schema: { type: "string", pattern: monthPattern } },
};

/** The money of months: the statement and the transactions of a project, and the statements of all projects. */
export function statementsController(deps: HttpDeps, api: AdminApi) {
  return [...ofProject(deps, api), ...ofAll(deps, api)];
}

function ofProject(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/projects", area: "accounts" });
  return [
    route.get(
      "/:project_id/statement",
      async ({ request, params }): Promise<Static<typeof StatementObject>> => {
        const project = await readProject(deps, params.project_id);
        const month = readMonth(parseUrl(request).searchParams);
        const { account, first_month: _, charges, ...statement } = await readStatementJson(deps, project, month);
        return {
          object: "organization.project.statement",
          ...toProject(account),
          ...statement,
          charges: charges.map(({ name: model, ...charge }) => ({ model, ...charge })),
        };
      },
      {
        detail: describeRead("Retrieve the statement of a project for a month", StatementObject, {
          description: "The opening balance, charges and transactions add up to the closing balance.",
          query: monthParameter,
        }),
      },
    ),
    route.get(
      "/:project_id/transactions",
      async ({ request, params }) => {
        const { id } = await readProject(deps, params.project_id);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const rows = await readTransactions(deps.store, id, { limit: limit + 1, after });
        const reversed = await readReversed(deps.store, id);
        return toList(rows, limit, (row) => toTransaction(row, reversed));
      },
      {
        detail: describeRead("List credits and debits of a project, newest first", listOf(TransactionObject), {
          description: "Charges of requests are in the statement and in the costs.",
          query: listParameters,
        }),
      },
    ),
    route.post(
      "/:project_id/reversals",
      async ({ admin, params, body }): Promise<Static<typeof ReversalObject>> => {
        const { id: accountId } = await readProject(deps, params.project_id);
        const { transaction_id: transactionId, note } = body;
        const reversal = await reverseAudited(deps.store, { by: admin, accountId, transactionId, note }, deps.now);
        return {
          id: reversal.entryId,
          object: "organization.project.reversal",
          transaction_id: transactionId,
          amount_usd: formatUsd(reversal.nanodollars),
          note: reversal.note,
          balance_usd: formatUsd(reversal.balanceNanodollars),
        };
      },
      {
        body: NewReversal,
        detail: describeWrite("Reverse a credit of a project", ReversalObject, {
          description:
            "Takes the whole credit back, once. The balance may become negative, and running requests keep what they hold. " +
            "Payments are refunded at the payment provider, and vouchers are not reversed.",
        }),
      },
    ),
  ];
}

function ofAll(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization", area: "accounts" });
  return [
    route.get(
      "/statements",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const [now, span] = [deps.now(), toMonthSpan(readMonth(query), deps.now())];
        const { rows, next } = await readStatements(deps.store, span, { limit, after });
        const data = rows.map(({ account, sums }): Static<typeof StatementLine> => {
          const { account: project, ...line } = describeWalletSums(sums, { account, span, now });
          return { object: "organization.statement", ...toProject(project), ...line };
        });
        return {
          object: "list" as const,
          data,
          first_id: data[0]?.project_id ?? null,
          last_id: next ?? data.at(-1)?.project_id ?? null,
          has_more: next !== undefined,
          totals: describeAmounts(await readStatementTotals(deps.store, span)),
        };
      },
      {
        detail: describeRead(
          "List the statements of all projects for a month, one line each",
          Type.Object({ ...listOf(StatementLine).properties, totals: Totals }),
          {
            description:
              "Projects without any movement until the end of the month are left out, so a page may have fewer entries than its " +
              "limit: while `has_more` is true, continue with `last_id`.",
            query: { ...listParameters, ...monthParameter },
          },
        ),
      },
    ),
    route.get("/statements/csv", ({ request }) => streamStatements(deps, readMonth(parseUrl(request).searchParams)), {
      detail: {
        summary: "The statements of all projects for a month as CSV, one row each",
        tags: ["Management"],
        security: [{ admin: [] }],
        parameters: parameters(monthParameter),
        responses: responses({ "text/csv": Type.String() }, [400, 401, 403, 429, 500, 503]),
      },
    }),
  ];
}

/** @throws {GatewayError} `invalid_request` */
function readMonth(query: URLSearchParams): string | undefined {
  const month = query.get("month") || undefined;
  if (month === undefined || isMonth(month)) return month;
  throw invalid("month", `month is ${quoteValue(month)}, expected a month such as 2026-11`);
}

function toProject({ id, name, email }: { id: string; name: string | null; email: string | null }) {
  return { project_id: id, project_name: name, email };
}

function toTransaction(
  { id, at, kind, nanodollars, note }: WalletTransaction,
  reversed: ReadonlySet<string>,
): Static<typeof TransactionObject> {
  return {
    id,
    object: "organization.project.transaction",
    created_at: toSeconds(at),
    kind,
    amount_usd: formatUsd(nanodollars),
    note: note ?? null,
    irreversible: whyIrreversible({ id, nanodollars }, reversed) ?? null,
  };
}
