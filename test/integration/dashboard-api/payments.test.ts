import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";
import { mutantsOf } from "../properties/mutants.ts";
import {
  answerWith,
  api,
  asked,
  fixture,
  paidEvent,
  secretKey,
  useStripe,
  webhookSecret,
  webhooks,
} from "./stripe-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
useStripe();

describe("beginning a payment", () => {
  test("creates a checkout at Stripe for the signed-in account and returns its URL", async () => {
    const { ada, balance } = await fixture();
    const response = await ada.post(`${api}/checkout`, { usd: "25" });
    expect(await response.json()).toEqual({ url: "https://checkout.example/cs_1" });
    const [{ path, form, headers } = { path: "", form: new URLSearchParams(), headers: new Headers() }] = asked;
    expect(path).toBe("/v1/checkout/sessions");
    expect(headers.get("authorization")).toBe(`Bearer ${secretKey}`);
    expect(Object.fromEntries(form)).toMatchObject({
      mode: "payment",
      "line_items[0][price_data][currency]": "usd",
      "line_items[0][price_data][unit_amount]": "2500",
      "line_items[0][quantity]": "1",
      "metadata[modelgate_account]": ada.account.id,
      "metadata[modelgate_cents]": "2500",
      customer_email: "ada@example.org",
      success_url: "https://gate.example.com/billing?paid=1",
      cancel_url: "https://gate.example.com/billing",
    });
    expect(await balance()).toBe(0);
  });

  test.each(["0", "0.99", "-5", "10000.01", "1.005", "1e3", "ten"])("refuses %s USD", async (usd) => {
    const { ada } = await fixture();
    await expectError(await ada.post(`${api}/checkout`, { usd }), { status: 400, param: "usd" });
    expect(asked).toEqual([]);
  });

  test("accepts 1 to 10000 USD, ten times a minute", async () => {
    const { ada } = await fixture();
    for (const usd of ["1", "10000"]) expect((await ada.post(`${api}/checkout`, { usd })).status).toBe(200);
    for (let times = 2; times < 10; times++) await ada.post(`${api}/checkout`, { usd: "1" });
    await expectError(await ada.post(`${api}/checkout`, { usd: "1" }), { status: 429 });
    expect(asked).toHaveLength(10);
  });

  test.each([
    [
      "refuses",
      () => Response.json({ error: { message: "No such key", type: "invalid_request_error" } }, { status: 401 }),
    ],
    ["answers without an address", () => Response.json({ id: "cs_1", url: null })],
  ])("is 503 without secrets while Stripe %s", async (_what, refusal) => {
    const { ada } = await fixture();
    answerWith(refusal);
    const response = await ada.post(`${api}/checkout`, { usd: "25" });
    expect(await response.clone().text()).not.toContain("No such key");
    await expectError(response, { status: 503, code: "unavailable", says: "nothing was charged" });
  });

  test("is 404 when payments are off", async () => {
    const { enter, send } = await dashboardHttp();
    const ada = await enter("ada@example.org");
    await expectError(await ada.post(`${api}/checkout`, { usd: "25" }), {
      status: 404,
      says: "does not accept payments",
    });
    await expectError(await send("/webhooks/stripe", { method: "POST", body: "{}" }), { status: 404 });
  });
});

describe("a webhook of Stripe", () => {
  test("credits a payment once, however often it arrives", async () => {
    const { tell, ada, balance } = await fixture();
    const event = paidEvent(ada.account.id);
    const answers = await Promise.all([tell(event), tell(event), tell(event)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const bodies = await Promise.all(answers.map((response) => response.json()));
    expect(bodies.filter(({ credited }) => credited)).toHaveLength(1);
    const again = await tell(paidEvent(ada.account.id, {}, "checkout.session.async_payment_succeeded"));
    expect(await again.json()).toEqual({ received: true, credited: false });
    expect(await balance()).toBe(25_000_000_000);
    expect(await (await ada.get(`${api}/entries`)).json()).toMatchObject({
      data: [{ kind: "credit", amount_usd: "25", note: "Paid 25 USD by Stripe, pi_1" }],
    });
  });

  test.each([
    ["of another kind", { type: "customer.created", data: { object: { id: "cus_1" } } }],
    ["of a kind without data", { type: "v2.core.account.created" }],
    ["of another shop's checkout", paidEvent("acc_x", { metadata: {} })],
    ["of money that is still on its way", paidEvent("acc_x", { payment_status: "unpaid" })],
  ])("%s is accepted without a credit", async (_what, event) => {
    const { tell, store } = await fixture();
    const response = await tell({ id: "evt_2", object: "event", ...event });
    expect([response.status, await response.json()]).toEqual([200, { received: true, credited: false }]);
    expect(await store.db.selectFrom("transactions").selectAll().execute()).toEqual([]);
  });

  test("of a connected account, which got the money itself, credits nobody", async () => {
    const { tell, ada, balance } = await fixture();
    const response = await tell({ ...paidEvent(ada.account.id), account: "acct_1Connected" });
    expect([response.status, await response.json()]).toEqual([200, { received: true, credited: false }]);
    expect(await balance()).toBe(0);
    await tell({ ...paidEvent(ada.account.id), account: null });
    expect(await balance()).toBe(25_000_000_000);
  });

  test.each([
    [{ amount_total: 2499 }, "2499 usd"],
    [{ currency: "eur" }, "2500 eur"],
    [{ amount_total: null }, "null usd"],
  ])("of another amount or currency (%j) is refused", async (changes, says) => {
    const { tell, ada, balance } = await fixture();
    await expectError(await tell(paidEvent(ada.account.id, changes)), { status: 400, code: "amount_mismatch", says });
    expect(await balance()).toBe(0);
  });

  test("for an unknown account is refused, so that Stripe shows it", async () => {
    const { tell, store } = await fixture();
    await expectError(await tell(paidEvent("acc_none")), { status: 404 });
    expect(await store.db.selectFrom("transactions").selectAll().execute()).toEqual([]);
  });

  test("that is forged, changed, old or not JSON is 400 and changes nothing", async () => {
    const { hook, ada, balance } = await fixture();
    const payload = JSON.stringify(paidEvent(ada.account.id));
    const signed = (secret: string, timestamp = Math.floor(Date.now() / 1000)) =>
      webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp });
    const right = await signed(webhookSecret);
    const now = Math.floor(Date.now() / 1000);
    for (const [body, header] of [
      [payload, ""],
      [payload, await signed("whsec_of_somebody_else")],
      [payload.replaceAll("2500", "250000"), right],
      [payload, await signed(webhookSecret, now - 301)],
      ["not JSON", await webhooks.generateTestHeaderStringAsync({ payload: "not JSON", secret: webhookSecret })],
    ] as const) {
      await expectError(await hook(body, header), { status: 400, code: "invalid_signature" });
    }
    expect(await balance()).toBe(0);
    expect((await hook(payload, await signed(webhookSecret, now - 280))).status).toBe(200);
    expect(await balance()).toBe(25_000_000_000);
  });

  test("with one wrong field credits what was paid or nothing", async () => {
    const { tell, ada, balance, log } = await fixture();
    const event = paidEvent(ada.account.id);
    const seen = new Set<number>();
    for (const mutant of mutantsOf(event)) {
      const { status } = await tell(mutant);
      expect({ mutant, isOurs: status >= 500 }).toEqual({ mutant, isOurs: false });
      seen.add(status);
      expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    }
    expect([...seen].sort()).toEqual([200, 400, 404]);
    // Twice: as itself, and as the checkout that has the id `constructor`.
    expect(await balance()).toBe(50_000_000_000);
  });

  test("that is too large is 413 and is not read further", async () => {
    const { hook } = await fixture();
    await expectError(await hook("x".repeat(300_000), ""), { status: 413 });
  });
});
