import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, parseUsd } from "../../contract/index.ts";

/** Decimal US dollars as nanodollars. @throws {GatewayError} `invalid_request` */
export function readUsd(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars !== 0) return nanodollars;
  throw invalid("usd", "is not US dollars other than 0 such as 5.00, at most nine decimals");
}

/** The amount of a credit. @throws {GatewayError} `invalid_request` */
export function readCredit(text: string): number {
  const nanodollars = readUsd(text);
  if (nanodollars > 0) return nanodollars;
  throw invalid(
    "usd",
    "is below 0, and a credit only adds, such as 5.00; `modelgate wallet debit` takes out of a wallet",
  );
}

/** Decimal US dollars from 0 as nanodollars. @throws {GatewayError} `invalid_request` */
export function readBudget(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars >= 0) return nanodollars;
  throw invalid("budget_usd", "is not US dollars from 0 such as 5.00, at most nine decimals");
}

/** The query of a list that is read page by page: what stands after the last entry of the page before. */
export const CursorQuery = Type.Object({
  before: Type.Optional(Type.String({ maxLength: 40 })),
  before_id: Type.Optional(Type.String({ maxLength: 100 })),
});

export function readCursor({ before, before_id }: Static<typeof CursorQuery>) {
  return { before: before === undefined ? undefined : readMoment(before, "before"), beforeId: before_id };
}

/** A time in ISO 8601. @throws {GatewayError} `invalid_request` */
export function readMoment(text: string, param: string): number {
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw invalid(param, "is not a time such as 2027-01-31T00:00:00Z");
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param} ${fault}`, { param });
}
