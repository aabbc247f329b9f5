import { GatewayError } from "../../contract/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { isAcceptedEmail } from "../../tenants/index.ts";

/** A payment to begin. */
export interface CheckoutOrder {
  readonly accountId: string;
  /** Prefilled at the payment provider; absent when it would not accept the account's e-mail. */
  readonly email: string | undefined;
  /** Whole cents, from {@link payNanodollarsMin} to {@link payNanodollarsMax}. */
  readonly nanodollars: number;
  /** Where the browser returns after a payment or its cancellation. */
  readonly returnTo: { readonly paid: string; readonly cancelled: string };
}

/** Money that was paid, or taken back. */
export interface Payment {
  readonly kind: "payment" | "refund" | "dispute" | "dispute_won";
  readonly accountId: string;
  /** Amount added to the wallet; negative if it was taken back. */
  readonly nanodollars: number;
  /** Whether `nanodollars` is the sum of all movements with this reference so far, rather than one of them. */
  readonly isTotal: boolean;
  /** Identifies the movement in every webhook about it; it is counted once. */
  readonly reference: string;
  /** Shown in the account's statement. */
  readonly note: string;
}

/** A payment provider. */
export interface Payments {
  /** Shown in the dashboard. */
  readonly name: string;
  /** Begins a payment and returns the provider's page for the browser. @throws {GatewayError} `unavailable` */
  createCheckout(order: CheckoutOrder): Promise<{ url: string }>;
  /**
   * Verifies and reads a webhook of the provider.
   *
   * @returns `undefined` for a valid message that moves no money of this gateway.
   * @throws {GatewayError} `invalid_request` for a message that is forged, too old, or has another amount or currency
   * than the checkout; `unavailable` when the provider has to be queried and does not respond.
   */
  readWebhook(body: string, headers: Headers): Promise<Payment | undefined>;
}

export const nanodollarsOfCent = 10_000_000;
const payNanodollarsMin = 100 * nanodollarsOfCent;
const payNanodollarsMax = 1_000_000 * nanodollarsOfCent;

/** A checkout of an account holder. */
export interface CheckoutRequest {
  readonly accountId: string;
  readonly email: string;
  readonly nanodollars: number;
}

interface CheckoutOptions {
  readonly payments: Payments | undefined;
  readonly publicOrigin: string;
  readonly now: () => number;
  report(error: unknown): void;
}

const checkoutsPerMinuteMax = 10;

/** Creates the function that begins payments of account holders. */
export function createCheckout({ payments, publicOrigin, now, report }: CheckoutOptions) {
  const limit = new RateLimiter(checkoutsPerMinuteMax, now, { what: "checkouts" });
  const returnTo = { paid: `${publicOrigin}/billing?paid=1`, cancelled: `${publicOrigin}/billing` };
  return async ({ accountId, email, nanodollars }: CheckoutRequest): Promise<{ url: string }> => {
    if (payments === undefined) {
      throw new GatewayError(
        "not_found",
        "This gateway does not accept payments; ask its operator for a voucher or a credit",
      );
    }
    if (nanodollars % nanodollarsOfCent !== 0 || nanodollars < payNanodollarsMin || nanodollars > payNanodollarsMax) {
      const message = "usd must be an amount from 1.00 to 10000.00 in whole cents";
      throw new GatewayError("invalid_request", message, { param: "usd" });
    }
    limit.take(accountId);
    try {
      return await payments.createCheckout({
        accountId,
        nanodollars,
        returnTo,
        email: isAcceptedEmail(email) ? email : undefined,
      });
    } catch (error) {
      report(error instanceof Error && error.cause !== undefined ? error.cause : error);
      throw error;
    }
  };
}
