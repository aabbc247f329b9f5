import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import Stripe from "stripe";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { type CheckoutOrder, nanodollarsOfCent, type Payment, type Payments } from "./payments.ts";

export interface StripeOptions {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Another address than Stripe's own, as `http://127.0.0.1:12111`. */
  readonly apiBase?: string | undefined;
}

const waitMs = 10_000;
/** How old a message may be, which somebody might have caught and sent again: Stripe's own figure. */
const toleranceSeconds = 300;
/** What is read of any message. */
const Message = Type.Object({ type: Type.String(), data: Type.Optional(Type.Unknown()) });
/** What is read of one that tells of a checkout. */
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
/** Says of a checkout that it is one of this gateway's, and what was asked for. */
const mark = { account: "modelgate_account", cents: "modelgate_cents" };
/** Both say that the money is there: at once, or for ways of paying that take days. */
const paidEvents = ["checkout.session.completed", "checkout.session.async_payment_succeeded"];

/** Payments by Stripe: its own page takes the card, and a signed message says that the money is there. */
export function openStripe({ secretKey, webhookSecret, apiBase }: StripeOptions): Payments {
  const stripe = new Stripe(secretKey, {
    httpClient: Stripe.createFetchHttpClient(),
    timeout: waitMs,
    maxNetworkRetries: 1,
    telemetry: false,
    ...(apiBase !== undefined && addressOf(apiBase)),
  });
  const crypto = Stripe.createSubtleCryptoProvider();
  return {
    name: "Stripe",
    async createCheckout(order) {
      try {
        const { url } = await stripe.checkout.sessions.create(sessionOf(order));
        if (url !== null) return { url };
      } catch (cause) {
        throw notNow(cause);
      }
      throw notNow(new Error("Stripe made a checkout without an address"));
    },
    async readWebhook(body, headers) {
      const signature = headers.get("stripe-signature") ?? "";
      let event: unknown;
      try {
        const { webhooks } = stripe;
        event = await webhooks.constructEventAsync(body, signature, webhookSecret, toleranceSeconds, crypto);
      } catch (cause) {
        const sentence = "This message is not signed by Stripe with STRIPE_WEBHOOK_SECRET, or is too old";
        throw new GatewayError("invalid_request", sentence, { shownCode: "invalid_signature", cause });
      }
      if (!Value.Check(Message, event)) throw notReadable();
      return paidEvents.includes(event.type) ? paymentOf(event.data) : undefined;
    },
  };
}

function sessionOf({ accountId, email, nanodollars, returnTo }: CheckoutOrder): Stripe.Checkout.SessionCreateParams {
  const cents = nanodollars / nanodollarsOfCent;
  return {
    mode: "payment",
    line_items: [
      { quantity: 1, price_data: { currency: "usd", unit_amount: cents, product_data: { name: "API credit" } } },
    ],
    client_reference_id: accountId,
    ...(email !== undefined && { customer_email: email }),
    metadata: { [mark.account]: accountId, [mark.cents]: String(cents) },
    success_url: returnTo.paid,
    cancel_url: returnTo.cancelled,
  };
}

function paymentOf(data: unknown): Payment | undefined {
  if (!Value.Check(CheckoutData, data)) throw notReadable();
  const session = data.object;
  const accountId = session.metadata?.[mark.account];
  // Another shop on the same Stripe account, or money that is still on its way.
  if (accountId === undefined || session.payment_status !== "paid") return undefined;
  const cents = Number(session.metadata?.[mark.cents]);
  const { amount_total: paid, currency } = session;
  if (currency !== "usd" || paid !== cents || !Number.isSafeInteger(cents) || cents <= 0) {
    const sentence = `Checkout ${session.id} brought ${paid} ${currency}, and ${cents} cents of usd were asked for; nothing is credited`;
    throw new GatewayError("invalid_request", sentence, { shownCode: "amount_mismatch" });
  }
  const nanodollars = cents * nanodollarsOfCent;
  const by = typeof session.payment_intent === "string" ? session.payment_intent : session.id;
  return {
    accountId,
    nanodollars,
    reference: `stripe:${session.id}`,
    note: `Paid ${formatUsd(nanodollars)} USD by Stripe, ${by}`,
  };
}

function notReadable(): GatewayError {
  const sentence = "This message of Stripe's is not of the form that is read here; nothing is credited";
  return new GatewayError("invalid_request", sentence, { shownCode: "invalid_message" });
}

function notNow(cause: unknown): GatewayError {
  const sentence = "The provider of payments does not answer, or refuses; nothing is charged, try again later";
  return new GatewayError("unavailable", sentence, { retryAfterMs: 10_000, cause });
}

function addressOf(apiBase: string): Pick<Stripe.StripeConfig, "host" | "port" | "protocol"> {
  const { hostname, port, protocol } = new URL(apiBase);
  return { host: hostname, port, protocol: protocol === "http:" ? "http" : "https" };
}
