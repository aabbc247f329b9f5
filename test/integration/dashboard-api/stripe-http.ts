import { afterAll, afterEach, beforeAll } from "bun:test";
import Stripe from "stripe";
import { readWalletState } from "../../../src/ledger/index.ts";
import { openPayments } from "../../../src/modules/payments/open.ts";
import { openStripe } from "../../../src/modules/payments/stripe.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";
import { helloPlugin } from "../../unit/http/support.ts";

export const api = "/dashboard/api";
export const secretKey = "sk_test_1234567890abcdef";
export const webhookSecret = "whsec_1234567890abcdef";
export const { webhooks } = new Stripe(secretKey);

/** Stripe on loopback: remembers what it was asked, and answers as told. */
export const asked: { path: string; form: URLSearchParams; headers: Headers }[] = [];
const good = () => Response.json({ id: "cs_1", object: "checkout.session", url: "https://checkout.example/cs_1" });
let answer: () => Response = good;
/** Has Stripe answer something else until the end of the test. */
export function answerWith(other: () => Response): void {
  answer = other;
}

let server: ReturnType<typeof Bun.serve>;
/** Starts it for the tests of a file. */
export function useStripe(): void {
  beforeAll(() => {
    server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        const form = new URLSearchParams(await request.text());
        asked.push({ path: new URL(request.url).pathname, form, headers: request.headers });
        return answer();
      },
    });
  });
  afterAll(() => server.stop(true));
  afterEach(() => {
    asked.length = 0;
    answer = good;
  });
}

export async function fixture() {
  const payments = openStripe({ secretKey, webhookSecret, apiBase: server.url.origin });
  const parts = await dashboardHttp({ PUBLIC_URL: "https://gate.example.com" }, [helloPlugin], async (built) => [
    openPayments(built, payments),
  ]);
  const ada = await parts.enter("ada@example.org");
  const hook = (body: string, header: string) =>
    parts.send("/webhooks/stripe", { method: "POST", headers: { "stripe-signature": header }, body });
  /** Sends an event as Stripe would. */
  const tell = async (event: unknown) => {
    const payload = JSON.stringify(event);
    return hook(payload, await webhooks.generateTestHeaderStringAsync({ payload, secret: webhookSecret }));
  };
  const balance = async () => (await readWalletState(parts.store, ada.account.id)).balanceNanodollars;
  return { ...parts, ada, hook, tell, balance };
}

/** As Stripe tells of a checkout. */
export function paidEvent(account: string, changes: Record<string, unknown> = {}, type = "checkout.session.completed") {
  const session = {
    id: "cs_1",
    object: "checkout.session",
    client_reference_id: account,
    metadata: { modelgate_account: account, modelgate_cents: "2500" },
    amount_total: 2500,
    currency: "usd",
    payment_status: "paid",
    payment_intent: "pi_1",
  };
  return { id: "evt_1", object: "event", type, data: { object: { ...session, ...changes } } };
}
