import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { mutantsOf } from "../properties/mutants.ts";
import { answerWith, api, asked, fixture, paidEvent, useStripe } from "./stripe-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
useStripe();

const dollar = 1_000_000_000;

/** An account at Stripe whose one checkout is that of `paidEvent`. */
async function customer(checkout: Record<string, unknown> = {}) {
  const parts = await fixture();
  const session = { ...paidEvent(parts.ada.account.id).data.object, ...checkout };
  answerWith(() => Response.json({ object: "list", data: [session], has_more: false, url: "/v1/checkout/sessions" }));
  const admin = await parts.enter("admin@example.org", "admin");
  /** What an administrator sees of it, oldest first. */
  const audit = async () => {
    const { data } = await (await admin.get(`${api}/admin/audit`)).json();
    return (data as { action: string; subject: string; detail: { usd: string } }[])
      .map(({ action, subject, detail }) => [action, subject, detail.usd])
      .reverse();
  };
  const pay = () => parts.tell(paidEvent(parts.ada.account.id));
  return { ...parts, pay, audit, account: parts.ada.account.id };
}

function event(type: string, object: Record<string, unknown>) {
  return { id: `evt_${type}`, object: "event", type, data: { object } };
}

/** As Stripe tells that so many cents of the charge were refunded in all. */
function refunded(cents: number, changes: Record<string, unknown> = {}) {
  const charge = { id: "ch_1", object: "charge", amount: 2500, currency: "usd", payment_intent: "pi_1" };
  return event("charge.refunded", { ...charge, amount_refunded: cents, ...changes });
}

function dispute(type: string, changes: Record<string, unknown> = {}) {
  const object = {
    id: "dp_1",
    object: "dispute",
    amount: 2500,
    currency: "usd",
    charge: "ch_1",
    payment_intent: "pi_1",
  };
  return event(`charge.dispute.${type}`, { ...object, status: "needs_response", ...changes });
}

describe("a refund by Stripe", () => {
  test("takes its credit back once, below zero too, with an entry and an audit entry", async () => {
    const { pay, tell, balance, audit, account, ada, log } = await customer();
    await pay();
    const answers = await Promise.all([tell(refunded(2500)), tell(refunded(2500)), tell(refunded(2500))]);
    for (const answer of [...answers, await tell(refunded(2500))]) {
      expect([answer.status, await answer.json()]).toEqual([200, { received: true, credited: false }]);
    }
    expect(await balance()).toBe(0);
    expect(asked[0]?.path).toBe("/v1/checkout/sessions");
    const entries = await (await ada.get(`${api}/entries`)).json();
    expect(entries.data).toHaveLength(2);
    const debit = { kind: "debit", amount_usd: "-25", note: "Refunded by Stripe, pi_1" };
    expect(entries.data.find(({ kind }: { kind: string }) => kind === "debit")).toMatchObject(debit);
    expect(await audit()).toEqual([["payment.refund", account, "-25"]]);
    expect(log.lines.filter(({ event }) => event === "payment_reversed")).toHaveLength(1);
    await tell(dispute("created"));
    expect(await balance()).toBe(-25 * dollar);
  });

  test.each([
    ["in order", [500, 1500, 2500]],
    ["repeated", [500, 500, 1500, 500, 2500, 1500, 2500]],
    ["in the wrong order", [2500, 500, 1500]],
    ["with one left out", [500, 2500]],
  ])("in parts %s takes back their sum", async (_order, totals) => {
    const { pay, tell, balance, audit } = await customer();
    await pay();
    for (const cents of totals) expect((await tell(refunded(cents))).status).toBe(200);
    expect(await balance()).toBe(0);
    const taken = (await audit()).map(([, , usd]) => Number(usd)).reduce((sum, usd) => sum + usd, 0);
    expect(taken).toBe(-25);
  });

  test("in parts that arrive at once takes back their sum", async () => {
    const { pay, tell, balance } = await customer();
    await pay();
    const answers = await Promise.all([500, 1500, 2000, 500, 2000].map((cents) => tell(refunded(cents))));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(await balance()).toBe(5 * dollar);
  });

  test("that arrives before the payment leaves nothing", async () => {
    const { pay, tell, balance } = await customer();
    await tell(refunded(2500));
    expect(await balance()).toBe(-25 * dollar);
    await pay();
    expect(await balance()).toBe(0);
  });

  test.each([
    ["another shop's checkout", {}, { metadata: {} }],
    ["a payment that was not credited, because its amount was another", {}, { amount_total: 2499 }],
    ["a payment without a checkout", { payment_intent: null }, {}],
    ["nothing yet", { amount_refunded: 0 }, {}],
  ])("of %s is accepted and moves nothing", async (_what, changes, checkout) => {
    const { tell, store } = await customer(checkout);
    expect((await tell(refunded(2500, changes))).status).toBe(200);
    expect(await store.db.selectFrom("transactions").selectAll().execute()).toEqual([]);
  });

  test("is 503 while Stripe does not say whose it is, so that it is sent again", async () => {
    const { tell, balance } = await customer();
    answerWith(() => Response.json({ error: { message: "down", type: "api_error" } }, { status: 400 }));
    await expectError(await tell(refunded(2500)), { status: 503, code: "unavailable" });
    expect(await balance()).toBe(0);
  });

  test("or dispute with one wrong field moves its amount or nothing", async () => {
    const { tell, store, log } = await customer();
    for (const sound of [refunded(2500), dispute("created")]) {
      for (const mutant of mutantsOf(sound)) {
        const { status } = await tell(mutant);
        expect({ mutant, isOurs: status >= 500 }).toEqual({ mutant, isOurs: false });
      }
    }
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    const entries = await store.db.selectFrom("transactions").select("amount_nanodollars").execute();
    for (const { amount_nanodollars: amount } of entries) expect(amount).toBeLessThan(0);
  });
});

describe("a dispute at Stripe", () => {
  test.each([
    ["created", ["created"], -25],
    ["withdrawn", ["funds_withdrawn"], -25],
    ["created and withdrawn", ["created", "funds_withdrawn", "created", "funds_withdrawn"], -25],
    ["won", ["created", "funds_withdrawn", "funds_reinstated", "funds_reinstated"], 0],
    ["won, told in the wrong order", ["funds_reinstated", "funds_withdrawn", "created", "funds_reinstated"], 0],
  ])("that is %s moves its amount once", async (_what, types, dollars) => {
    const { pay, tell, balance, audit } = await customer();
    await pay();
    for (const type of types) expect((await tell(dispute(type))).status).toBe(200);
    expect(await balance()).toBe((25 + dollars) * dollar);
    const actions = (await audit()).map(([action]) => action).sort();
    expect(actions).toEqual(dollars === 0 ? ["payment.dispute", "payment.dispute_won"] : ["payment.dispute"]);
  });

  test("that is only an inquiry takes nothing until the bank does", async () => {
    const { pay, tell, balance } = await customer();
    await pay();
    await tell(dispute("created", { status: "warning_needs_response" }));
    expect(await balance()).toBe(25 * dollar);
    await tell(dispute("funds_withdrawn", { amount: 1000 }));
    expect(await balance()).toBe(15 * dollar);
  });

  test("in another currency is refused", async () => {
    const { tell, store } = await customer();
    const refused = await tell(dispute("created", { currency: "eur" }));
    await expectError(refused, { status: 400, code: "amount_mismatch", says: "2500 cents in eur" });
    expect(await store.db.selectFrom("transactions").selectAll().execute()).toEqual([]);
  });
});
