import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { GatewayError } from "../../contract/index.ts";
import { nanodollarsOfCent, type Payment } from "./payments.ts";

const common = {
  id: Type.String({ minLength: 1, maxLength: 100 }),
  currency: Type.String(),
  payment_intent: Type.Union([Type.String(), Type.Null()]),
};
const Charge = Type.Object({
  object: Type.Object({ ...common, amount_refunded: Type.Integer({ minimum: 0 }) }),
});
const Dispute = Type.Object({
  object: Type.Object({ ...common, amount: Type.Integer({ minimum: 0 }), status: Type.String() }),
});

const reversalEvents = [
  "charge.refunded",
  "charge.dispute.created",
  "charge.dispute.funds_withdrawn",
  "charge.dispute.funds_reinstated",
] as const;
type ReversalEvent = (typeof reversalEvents)[number];

export function isReversal(type: string): type is ReversalEvent {
  return (reversalEvents as readonly string[]).includes(type);
}

/**
 * Reads a refund or dispute of Stripe. Messages may be repeated and come in any order: a refund says how much of the charge
 * was refunded in all, and a dispute takes its amount once, by whichever message comes first, and gives it back once.
 *
 * @returns `undefined` when no money of a checkout of this gateway was moved.
 * @throws {GatewayError} `invalid_request`, and what `findAccount` throws
 */
export async function toReversal(
  type: ReversalEvent,
  data: unknown,
  findAccount: (paymentIntent: string) => Promise<string | undefined>,
): Promise<Payment | undefined> {
  const { kind, cents, reversed } = readReversal(type, data);
  const { id, currency, payment_intent: paymentIntent } = reversed;
  if (cents === 0 || paymentIntent === null) return undefined;
  const accountId = await findAccount(paymentIntent);
  if (accountId === undefined) return undefined;
  if (currency !== "usd" || !Number.isSafeInteger(cents * nanodollarsOfCent)) {
    const message = `${id} has ${cents} cents in ${currency}, expected usd as in the checkout; nothing was moved`;
    throw new GatewayError("invalid_request", message, { publicCode: "amount_mismatch" });
  }
  const isWon = kind === "dispute_won";
  return {
    kind,
    accountId,
    nanodollars: cents * (isWon ? nanodollarsOfCent : -nanodollarsOfCent),
    isTotal: kind === "refund",
    reference: `stripe:${id}${isWon ? ":won" : ""}`,
    note: `${notes[kind]} by Stripe, ${paymentIntent}`,
  };
}

const notes = { refund: "Refunded", dispute: "Disputed payment taken back", dispute_won: "Disputed payment returned" };

function readReversal(type: ReversalEvent, data: unknown) {
  if (type === "charge.refunded") {
    if (!Value.Check(Charge, data)) throw unreadableMessage();
    return { kind: "refund", cents: data.object.amount_refunded, reversed: data.object } as const;
  }
  if (!Value.Check(Dispute, data)) throw unreadableMessage();
  const { amount, status } = data.object;
  // An inquiry is a dispute where the bank has not taken money yet.
  const isInquiry = type === "charge.dispute.created" && status.startsWith("warning_");
  const kind = type === "charge.dispute.funds_reinstated" ? "dispute_won" : "dispute";
  return { kind, cents: isInquiry ? 0 : amount, reversed: data.object } as const;
}

export function unreadableMessage(): GatewayError {
  const message = "This webhook from Stripe does not have the expected fields; nothing was credited";
  return new GatewayError("invalid_request", message, { publicCode: "invalid_message" });
}
