import { GatewayError } from "../../contract/index.ts";
import { RateLimiter } from "../rate-limiter.ts";
import { isEmailTaken } from "../sign-in-address.ts";
import { nanodollarsOfCent, type Payments, payNanodollarsMax, payNanodollarsMin } from "./payments.ts";

/** What an account holder asks for. */
export interface CheckoutRequest {
  readonly accountId: string;
  readonly email: string;
  readonly nanodollars: number;
}

interface PaymentGround {
  readonly payments: Payments | undefined;
  readonly publicOrigin: string;
  readonly now: () => number;
  report(error: unknown): void;
}

const checkoutsPerMinuteMax = 10;

/** Makes the function that begins payments of account holders. */
export function createCheckout({ payments, publicOrigin, now, report }: PaymentGround) {
  const limit = new RateLimiter(checkoutsPerMinuteMax, now, { what: "payments begun" });
  const returnTo = { paid: `${publicOrigin}/billing?paid=1`, cancelled: `${publicOrigin}/billing` };
  return async ({ accountId, email, nanodollars }: CheckoutRequest): Promise<{ url: string }> => {
    if (payments === undefined) {
      throw new GatewayError("not_found", "This gateway takes no payments; ask who runs it for a voucher or a credit");
    }
    if (nanodollars % nanodollarsOfCent !== 0 || nanodollars < payNanodollarsMin || nanodollars > payNanodollarsMax) {
      const sentence = "usd is not an amount from 1.00 to 10000.00 in whole cents";
      throw new GatewayError("invalid_request", sentence, { param: "usd" });
    }
    limit.take(accountId);
    try {
      return await payments.createCheckout({
        accountId,
        nanodollars,
        returnTo,
        email: isEmailTaken(email) ? email : undefined,
      });
    } catch (error) {
      report(error instanceof Error && error.cause !== undefined ? error.cause : error);
      throw error;
    }
  };
}
