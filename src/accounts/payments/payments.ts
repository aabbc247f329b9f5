/** What somebody wants to pay. */
export interface CheckoutOrder {
  readonly accountId: string;
  /** Shown to the payer; absent when the account's e-mail is no address. */
  readonly email: string | undefined;
  /** Whole cents, from {@link payNanodollarsMin} to {@link payNanodollarsMax}. */
  readonly nanodollars: number;
  /** Where the browser goes afterwards, paid or not. */
  readonly returnTo: { readonly paid: string; readonly cancelled: string };
}

/** Money that has arrived. */
export interface Payment {
  readonly accountId: string;
  readonly nanodollars: number;
  /** The same for every message about this payment, so that it is credited once. */
  readonly reference: string;
  /** For the account holder's statement. */
  readonly note: string;
}

/** Takes payments. A provider of them is these two functions. */
export interface Payments {
  /** As people know it. */
  readonly name: string;
  /** Begins a payment and says where the browser goes to make it. @throws {GatewayError} `unavailable` */
  createCheckout(order: CheckoutOrder): Promise<{ url: string }>;
  /**
   * Reads a message of the provider, by its very bytes as text.
   *
   * @returns `undefined` for one that is true and brings no money here.
   * @throws {GatewayError} `invalid_request` for one that is forged, old, or of another amount than was asked for.
   */
  readWebhook(body: string, headers: Headers): Promise<Payment | undefined>;
}

export const nanodollarsOfCent = 10_000_000;
export const payNanodollarsMin = 100 * nanodollarsOfCent;
export const payNanodollarsMax = 1_000_000 * nanodollarsOfCent;
