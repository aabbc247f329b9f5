import { GatewayError, parseUsd } from "../../contract/index.ts";

/** Decimal US dollars as nanodollars. @throws {GatewayError} `invalid_request` */
export function readUsd(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars !== 0) return nanodollars;
  throw new GatewayError("invalid_request", "usd is not US dollars other than 0 such as 5.00, at most nine decimals", {
    param: "usd",
  });
}

/** The amount of a credit. @throws {GatewayError} `invalid_request` */
export function readCredit(text: string): number {
  const nanodollars = readUsd(text);
  if (nanodollars > 0) return nanodollars;
  throw new GatewayError(
    "invalid_request",
    "usd is below 0, and a credit only adds, such as 5.00; `modelgate wallet debit` takes out of a wallet",
    { param: "usd" },
  );
}

/** Decimal US dollars from 0 as nanodollars. @throws {GatewayError} `invalid_request` */
export function readBudget(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars >= 0) return nanodollars;
  throw new GatewayError("invalid_request", "budget_usd is not US dollars from 0 such as 5.00, at most nine decimals", {
    param: "budget_usd",
  });
}

/** A time in ISO 8601. @throws {GatewayError} `invalid_request` */
export function readMoment(text: string, param: string): number {
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new GatewayError("invalid_request", `${param} is not a moment such as 2027-01-31T00:00:00Z`, { param });
}
