import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import Stripe from "stripe";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { type CheckoutOrder, nanodollarsOfCent, type Payment, type Payments } from "./payments.ts";
import { isReversal, toReversal, unreadableMessage } from "./stripe-reversals.ts";

export interface StripeOptions {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** The base URL of another server than Stripe's, such as `http://127.0.0.1:12111`. */
  readonly apiBase?: string | undefined;
}

const timeoutMs = 10_000;
/** The maximum age of a webhook, against replays; Stripe's default. */
const toleranceSeconds = 300;
/** The fields that every webhook has. `account` names the connected account (Stripe Connect) where it happened, not the own one. */
const Message = Type.Object({
  type: Type.String(),
  data: Type.Optional(Type.Unknown()),
  account: Type.Optional(Type.Unknown()),
});
/** The fields of a checkout's webhook. */
const CheckoutData = Type.Object({
  object: Type.Object({
    id: Type.String({ minLength: 1 }),
    metadata: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
    payment_status: Type.String(),
    amount_total: Type.Union([Type.Integer(), Type.Null()]),
    currency: Type.Union([Type.String(), Type.Null()]),
    payment_intent: Type.Optional(Type.Unknown()),
  }),
});
/** Metadata that marks a checkout of this gateway and its amount. */
const metadataKeys = { account: "modelgate_account", cents: "modelgate_cents" };
/** Immediate payments, and payment methods that take days. */
const paidEvents = ["checkout.session.completed", "checkout.session.async_payment_succeeded"];

/** Payments with Stripe Checkout and its signed webhooks. */
export function openStripe({ secretKey, webhookSecret, apiBase }: StripeOptions): Payments {
  const stripe = new Stripe(secretKey, {
    httpClient: Stripe.createFetchHttpClient(),
    timeout: timeoutMs,
    maxNetworkRetries: 1,
    telemetry: false,
    ...(apiBase !== undefined && parseApiBase(apiBase)),
  });
  const crypto = Stripe.createSubtleCryptoProvider();
  /** The account that got the money of a payment intent. Only the checkout's metadata says it. */
  const findAccount = async (paymentIntent: string): Promise<string | undefined> => {
    try {
      const { data } = await stripe.checkout.sessions.list({ payment_intent: paymentIntent, limit: 1 });
      const [checkout] = data;
      const isCredited =
        checkout?.currency === "usd" && String(checkout.amount_total) === checkout.metadata?.[metadataKeys.cents];
      return isCredited ? checkout.metadata?.[metadataKeys.account] : undefined;
    } catch (cause) {
      throw providerUnavailable(cause);
    }
  };
  return {
    name: "Stripe",
    async createCheckout(order) {
      try {
        const { url } = await stripe.checkout.sessions.create(toCheckoutSession(order));
        if (url !== null) return { url };
      } catch (cause) {
        throw providerUnavailable(cause);
      }
      throw providerUnavailable(new Error("Stripe created a checkout without a URL"));
    },
    async readWebhook(body, headers) {
      const signature = headers.get("stripe-signature") ?? "";
      let event: unknown;
      try {
        const { webhooks } = stripe;
        event = await webhooks.constructEventAsync(body, signature, webhookSecret, toleranceSeconds, crypto);
      } catch (cause) {
        const message = "This webhook is not signed with STRIPE_WEBHOOK_SECRET, or is too old";
        throw new GatewayError("invalid_request", message, { publicCode: "invalid_signature", cause });
      }
      if (!Value.Check(Message, event)) throw unreadableMessage();
      // The owner of a connected account writes the metadata of its checkouts, and gets their money.
      if (event.account !== undefined && event.account !== null) return undefined;
      if (isReversal(event.type)) return toReversal(event.type, event.data, findAccount);
      return paidEvents.includes(event.type) ? toPayment(event.data) : undefined;
    },
  };
}

function toCheckoutSession({
  accountId,
  email,
  nanodollars,
  returnTo,
}: CheckoutOrder): Stripe.Checkout.SessionCreateParams {
  const cents = nanodollars / nanodollarsOfCent;
  return {
    mode: "payment",
    line_items: [
      { quantity: 1, price_data: { currency: "usd", unit_amount: cents, product_data: { name: "API credit" } } },
    ],
    client_reference_id: accountId,
    ...(email !== undefined && { customer_email: email }),
    metadata: { [metadataKeys.account]: accountId, [metadataKeys.cents]: String(cents) },
    success_url: returnTo.paid,
    cancel_url: returnTo.cancelled,
  };
}

function toPayment(data: unknown): Payment | undefined {
  if (!Value.Check(CheckoutData, data)) throw unreadableMessage();
  const session = data.object;
  const accountId = session.metadata?.[metadataKeys.account];
  // A checkout of another shop on the same Stripe account, or a payment that is still pending.
  if (accountId === undefined || session.payment_status !== "paid") return undefined;
  const cents = Number(session.metadata?.[metadataKeys.cents]);
  const { amount_total: paid, currency } = session;
  if (currency !== "usd" || paid !== cents || !Number.isSafeInteger(cents) || cents <= 0) {
    const message = `Checkout ${session.id} paid ${paid} ${currency}, expected ${cents} cents in usd; nothing was credited`;
    throw new GatewayError("invalid_request", message, { publicCode: "amount_mismatch" });
  }
  const nanodollars = cents * nanodollarsOfCent;
  const payment = typeof session.payment_intent === "string" ? session.payment_intent : session.id;
  return {
    kind: "payment",
    accountId,
    nanodollars,
    isTotal: false,
    reference: `stripe:${session.id}`,
    note: `Paid ${formatUsd(nanodollars)} USD by Stripe, ${payment}`,
  };
}

function providerUnavailable(cause: unknown): GatewayError {
  const message = "The payment provider does not respond or refused; nothing was charged, try again later";
  return new GatewayError("unavailable", message, { retryAfterMs: 10_000, cause });
}

function parseApiBase(apiBase: string): Pick<Stripe.StripeConfig, "host" | "port" | "protocol"> {
  const { hostname, port, protocol } = new URL(apiBase);
  return { host: hostname, port, protocol: protocol === "http:" ? "http" : "https" };
}
