/**
 * Markups: the percentage that accounts pay above the price in force. The most specific applies: that of the account, then that in
 * the row of the model, then that of the provider whose price it is, then that of the gateway.
 */
import { randomBytes } from "node:crypto";
import { Type } from "@sinclair/typebox";
import {
  formatPercent,
  GatewayError,
  markupBasisPoints,
  optional,
  parsePercent,
  quoteValue,
} from "../contract/index.ts";
import type { MarkupsTable, Store, TransactionScope } from "../db/index.ts";
import { defineFields, textOrEmpty, type Unit } from "../lib/fields.ts";
import { eachAccount, type OwnedBy, ownedRows } from "./owned-rows.ts";

const percent: Unit = {
  toColumn(value, name) {
    const basisPoints = parsePercent(String(value));
    if (basisPoints !== undefined) return basisPoints;
    const { min, max } = markupBasisPoints;
    const expected = `a percentage from ${formatPercent(min)} to ${formatPercent(max)} with at most two decimals, such as 12.5`;
    throw invalid(name, `is ${quoteValue(String(value))}, expected ${expected}`);
  },
  toJson: (value) => formatPercent(Number(value)),
};

/** The fields of a markup. Whose prices it raises is fixed when it is created. */
export const markupFields = defineFields<MarkupsTable>()({
  provider: {
    schema: optional(
      Type.String({
        minLength: 1,
        maxLength: 60,
        description: "Only the prices of this provider; `null`: all prices. A project has one for all prices",
      }),
    ),
    column: "provider",
    unit: textOrEmpty,
  },
  markup_percent: {
    schema: Type.String({
      minLength: 1,
      maxLength: 10,
      description: "Percent above the price in force, at most two decimals; negative: below it",
    }),
    column: "basis_points",
    unit: percent,
    changes: true,
    form: { label: "Markup (%)", isDecimal: true },
  },
});

/** A markup as it is stored. */
export type StoredMarkup = MarkupsTable;
/** Without a provider it is on all prices. */
export type NewMarkup = Pick<MarkupsTable, "basis_points"> & Partial<Pick<MarkupsTable, "provider">>;

const rows = ownedRows({
  table: "markups",
  things: "is no markup",
  action: "markup",
  actions: { change: "set", remove: "delete" },
  fields: markupFields,
});
export const { read: readMarkup, change: changeMarkup, remove: deleteMarkup } = rows;

/**
 * Sets a markup, in place of one that is there. Calls that run keep theirs.
 *
 * @throws {GatewayError} `invalid_request`, `not_found`, `forbidden`
 */
export async function setMarkup(
  store: TransactionScope,
  { by, accountId, ...columns }: OwnedBy & NewMarkup,
  now: number,
): Promise<StoredMarkup> {
  checkMarkup({ ...columns, account_id: accountId });
  const { provider = "", basis_points } = columns;
  return await rows.inOwner(store, { by, accountId }, async (db) => {
    const id = `mk_${randomBytes(9).toString("hex")}`;
    const row = await db
      .insertInto("markups")
      .values({ id, account_id: accountId, provider, basis_points, created_at: now })
      .onConflict((conflict) => conflict.columns(["account_id", "provider"]).doUpdateSet({ basis_points }))
      .returningAll()
      .executeTakeFirstOrThrow();
    await rows.record(db, by, "set", row, now);
    return row;
  });
}

/**
 * Lists the markups: that of the gateway first, then those of providers, then those of accounts.
 *
 * @param accountIds Those of these accounts only; absent: all.
 */
export async function listMarkups(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[] | undefined,
  { limit, after }: { readonly limit: number; readonly after?: StoredMarkup | undefined },
): Promise<StoredMarkup[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("markups").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  if (after !== undefined) {
    query = query.where(({ and, eb, or }) =>
      or([
        eb("account_id", ">", after.account_id),
        and([eb("account_id", "=", after.account_id), eb("provider", ">", after.provider)]),
      ]),
    );
  }
  return await query.orderBy("account_id").orderBy("provider").limit(limit).execute();
}

/** @throws {GatewayError} `invalid_request` for a markup that cannot be, whatever there is. */
export function checkMarkup({
  provider = "",
  account_id: accountId,
}: Partial<NewMarkup> & { readonly account_id?: string | undefined }): void {
  if (provider !== "" && accountId !== eachAccount) {
    throw invalid("provider", "a project has one markup, for the prices of all providers; leave it out");
  }
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}
