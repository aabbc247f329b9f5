import { afterAll } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import { openStore, type Store } from "../../../src/db/index.ts";
import { buildRegistry } from "../../../src/kernel/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { addChannel } from "../../../src/modules/alerts/channels.ts";
import { createAlerts } from "../../../src/modules/alerts/open-alerts.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import { ServiceHealth } from "../../../src/modules/alerts/service-health.ts";
import { createLog } from "../../../src/observability/log.ts";
import { HealthLog } from "../../../src/providers/health.ts";
import { type Providers, readHealth, SecretBox } from "../../../src/providers/index.ts";
import { createAccount } from "../../../src/tenants/accounts.ts";
import { addCharge } from "../../support/ledger-rows.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { createPlugin } from "../../unit/kernel/support.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { startWebhook } from "./webhook-sink.ts";

export const box = new SecretBox({ home: "/nonexistent/modelgate", secretsKey: "a secrets key of tests, long enough" });
export const minute = 60_000;
export const hour = 60 * minute;
export const usd = 1_000_000_000;
/** What is to be ended after the tests of the file. */
export const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** A gateway's alerts over a store of its own or a given one, with a clock, and a webhook that listens on the loopback. */
export async function fixture({
  store: given,
  differences = [],
  trouble: findTrouble,
}: {
  store?: Store;
  differences?: string[];
  trouble?: () => string | undefined;
} = {}) {
  const clock = { now: Date.parse("2027-01-10T12:00:00Z") };
  const store = given ?? (await temporaryStore(undefined, () => clock.now));
  const webhook = await startWebhook();
  stops.push(webhook.stop);
  // A home that is not there has no disk, so that these tests do not depend on that of the machine.
  const config = readConfig({ ALERT_NETWORKS: "127.0.0.0/8", MODELGATE_HOME: "/nonexistent/modelgate" });
  const log = createLog("silent", () => undefined);
  const now = () => clock.now;
  const { registry } = buildRegistry([createPlugin({ chat: async () => completionOf("Hello") })], () => ({
    keys: ["k1", "k2"],
  }));
  const health = new HealthLog(store, now);
  const settings = { keysOf: () => [], keyIdsOf: () => ["one", "two"] };
  const snapshot = { plugins: [...registry.modelEntries].flatMap(({ routes }) => routes.map(({ plugin }) => plugin)) };
  const providers = { settings, health, snapshot, startedAt: 0, now } as unknown as Providers;
  const trouble: { text: string | undefined } = { text: undefined };
  const service = new ServiceHealth({
    gateway: "gate-1",
    trouble: findTrouble ?? (() => trouble.text),
    isDraining: () => false,
    now,
  });
  const deps = {
    store,
    service,
    secrets: box,
    config,
    log,
    now,
    kernel: { registry, now },
    health: () => readHealth(providers, registry, now()),
    freshen: async () => undefined,
    verifyLedger: async () => differences,
  };
  const alerts = createAlerts(deps);
  await alerts.prepare();
  const channel = (owner = gatewayOwner, secret?: string) =>
    addChannel(store, { box, now: clock.now, owner, kind: "webhook", target: { url: webhook.url, secret } });
  /** A round of the timers after so long. Returns the texts that the webhook got. */
  const round = async (ms: number = minute) => {
    clock.now += ms;
    const before = webhook.requests.length;
    await alerts.evaluate();
    await alerts.deliverDue();
    return webhook.requests.slice(before).flatMap(({ body }) => (JSON.parse(body) as { text: string }).text);
  };
  return { store, clock, webhook, alerts, channel, round, deps, health, trouble };
}

/** An account with a wallet that paid for a call today. */
export async function accountWith(store: Store, email: string, nanodollars: number, now: number) {
  const account = await createAccount(store, { email }, now);
  await creditWallet(store, { accountId: account.id, nanodollars, note: "test" });
  await addCharge(store, account.id, Math.floor(now / (24 * hour)), 1);
  return account;
}

/** A second connection to the database of a first store. */
export async function secondStore(url: string): Promise<Store> {
  const store = await openStore({ url, timeoutMs: 10_000 });
  stops.push(() => store.close());
  return store;
}
