import { Elysia } from "elysia";
import { creditWallet } from "../../billing/index.ts";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { makeCallId } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders } from "../middleware/security-headers.ts";
import { readSmall } from "./read-small-body.ts";

/**
 * POST /webhooks/stripe: payments that Stripe reports, authorized by their signature. A message that comes twice, or twice
 * at once, is credited once; a 5xx makes Stripe send it again.
 */
export function webhooksController(deps: HttpDeps) {
  const answer = async ({ request }: { request: Request }): Promise<Response> => {
    try {
      const credited = await receive(deps, request);
      const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
      return Response.json({ received: true, credited }, { headers });
    } catch (error) {
      deps.log.warn("payment_refused", { error });
      throw error;
    }
  };
  return new Elysia().post("/webhooks/stripe", answer, { parse: "none", detail: { hide: true } });
}

async function receive({ payments, store, log, now }: HttpDeps, request: Request): Promise<boolean> {
  if (payments === undefined) {
    const sentence = "This gateway does not accept payments: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set";
    throw new GatewayError("not_found", sentence);
  }
  const payment = await payments.readWebhook(await readSmall(request), request.headers);
  if (payment === undefined) return false;
  const { repeated } = await creditWallet(store, payment, now);
  const { accountId: account, nanodollars, reference } = payment;
  if (!repeated) log.info("payment_received", { account, usd: formatUsd(nanodollars), reference });
  return !repeated;
}
