import { recordAudit } from "../../audit/index.ts";
import { formatUsd, GatewayError, makeCallId } from "../../contract/index.ts";
import { inTransaction, moveWallet, type OpenTransaction, type TransactionScope } from "../../db/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { dataHeaders } from "../../http/lifecycle/headers.ts";
import type { Route } from "../../http/lifecycle/route.ts";
import { readSmall } from "../../http/lifecycle/session.ts";
import { creditWallet } from "../../ledger/index.ts";
import type { Payment, Payments } from "./payments.ts";

/**
 * POST /webhooks/stripe: payments, refunds and disputes that Stripe reports, authorized by their signature. A message that
 * comes twice, or twice at once, counts once; a 5xx makes Stripe send it again.
 */
export function webhookRoutes(deps: HttpDeps, payments: Payments | undefined): Route[] {
  const answer = async ({ request }: { request: Request }): Promise<Response> => {
    try {
      const credited = await receive(deps, payments, request);
      const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
      return Response.json({ received: true, credited }, { headers });
    } catch (error) {
      deps.log.warn("payment_refused", { error });
      throw error;
    }
  };
  return [{ method: "POST", path: "/webhooks/stripe", answer }];
}

async function receive(deps: HttpDeps, payments: Payments | undefined, request: Request): Promise<boolean> {
  const { store, log, now } = deps;
  if (payments === undefined) {
    const message = "This gateway does not accept payments: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set";
    throw new GatewayError("not_found", message);
  }
  const payment = await payments.readWebhook(await readSmall(deps, request), request.headers);
  if (payment === undefined) return false;
  const nanodollars = await inTransaction(store, (scope) => movePayment(scope, payment, now));
  if (nanodollars === 0) return false;
  const { kind, accountId: account, reference } = payment;
  const event = kind === "payment" ? "payment_received" : "payment_reversed";
  log.info(event, { account, usd: formatUsd(nanodollars), reference, ...(kind !== "payment" && { kind }) });
  return kind === "payment";
}

/** Moves what was not moved before, and returns how much. Everything but a payment leaves an audit entry. */
async function movePayment(scope: OpenTransaction, payment: Payment, now: () => number): Promise<number> {
  const { kind, accountId, isTotal, note } = payment;
  let { nanodollars, reference } = payment;
  if (isTotal) {
    nanodollars -= await readMoved(scope, payment);
    // Messages may be overtaken by later ones with a larger total.
    if (Math.sign(nanodollars) !== Math.sign(payment.nanodollars)) return 0;
    reference = `${reference}:${formatUsd(Math.abs(payment.nanodollars))}`;
  }
  const { repeated } = await creditWallet(scope, { accountId, nanodollars, reference, note, isPayment: true }, now);
  if (repeated) return 0;
  if (kind === "payment") return nanodollars;
  const detail = { usd: formatUsd(nanodollars), note };
  await recordAudit(scope, { accountId: "stripe", action: `payment.${kind}`, subject: accountId, detail }, now());
  return nanodollars;
}

/** The amount moved for a reference so far. Locks the wallet, so concurrent messages wait for each other. */
async function readMoved(scope: TransactionScope, { accountId, reference }: Payment): Promise<number> {
  await scope.change((db) => moveWallet(db, accountId, 0));
  const prefix = `payment:${accountId}:${reference}:`;
  const { moved } = await scope.db
    .selectFrom("transactions")
    .select(({ fn }) => fn.sum<number | null>("amount_nanodollars").as("moved"))
    .where("account_id", "=", accountId)
    .where(({ fn, val }) => fn("substr", ["id", val(1), val(prefix.length)]), "=", prefix)
    .executeTakeFirstOrThrow();
  return moved === null ? 0 : Number(moved);
}
