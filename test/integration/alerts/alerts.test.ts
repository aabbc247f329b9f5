import { describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { makeCallId } from "../../../src/contract/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { addMetricRule, changeMetricRule } from "../../../src/modules/alerts/metric-rules.ts";
import { createAlerts } from "../../../src/modules/alerts/open-alerts.ts";
import { muteAlert, readFiring, readHistory } from "../../../src/modules/alerts/record-findings.ts";
import { gatewayOwner, writeRule } from "../../../src/modules/alerts/rule-settings.ts";
import type { ServiceHealth } from "../../../src/modules/alerts/service-health.ts";
import { setOwnBudget } from "../../../src/tenants/index.ts";
import { createBudget } from "../../support/budgets.ts";
import { recordCalls } from "../../support/payers.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { accountWith, fixture, hour, minute, secondStore, usd } from "./fixture.ts";

type EndedCall = Parameters<ServiceHealth["observer"]["ended"]>[0];

describe("an alert", () => {
  test("is sent once, again after a day, and once more when it is resolved", async () => {
    const { store, clock, channel, round } = await fixture();
    await channel();
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    const text = "ada@example.org: balance $0.50, below $1.00";
    expect(await round()).toEqual([`modelgate: ${text}`]);
    expect(await round()).toEqual([]);
    expect(await round(23 * hour)).toEqual([]);
    expect(await round(hour)).toEqual([`modelgate: ${text}`]);
    await creditWallet(store, { accountId, nanodollars: usd, note: "more" });
    expect(await round()).toEqual([]);
    expect(await round()).toEqual([]);
    expect(await round()).toEqual([`modelgate: Resolved: ${text}`]);
    expect(await round()).toEqual([]);
  });

  test("that was sent while the database took no writes is not sent again by it, and once when it is resolved", async () => {
    const { clock, channel, round, alerts, webhook, trouble } = await fixture();
    await channel();
    await round();
    const before = webhook.requests.length;
    const watch = async (ms: number) => {
      clock.now += ms;
      await alerts.watch();
    };
    trouble.text = "The disk of the database is full, so no call can be recorded";
    await watch(5000);
    await watch(30_000);
    const text = "The gateway gate-1 refuses calls. The disk of the database is full, so no call can be recorded";
    const texts = () => webhook.requests.slice(before).map(({ body }) => (JSON.parse(body) as { text: string }).text);
    expect(texts()).toEqual([`modelgate: ${text}`]);
    // There is room for the alert, and none for calls.
    expect(await round()).toEqual([]);
    await watch(5000);
    trouble.text = undefined;
    for (let rounds = 0; rounds < 4; rounds++) {
      await watch(5000);
      await round();
    }
    expect(texts()).toEqual([`modelgate: ${text}`, `modelgate: Resolved: ${text}`]);
  });

  test("that had nobody to be sent to is sent to a channel that is added later", async () => {
    const { store, clock, channel, round } = await fixture();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect(await round()).toEqual([]);
    await channel();
    expect((await round()).length).toBe(1);
    expect(await round()).toEqual([]);
  });

  test("is sent again at once when it gets worse", async () => {
    const { store, clock, channel, round } = await fixture();
    await channel();
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect((await round()).length).toBe(1);
    await creditWallet(store, { accountId, nanodollars: -usd, note: "less" });
    expect(await round()).toEqual(["modelgate: ada@example.org: balance −$0.50, below $1.00"]);
    expect(await round()).toEqual([]);
  });

  test("of a provider that fails since before the first look is sent at once, though it works at the next one", async () => {
    const { channel, round, health, clock, deps } = await fixture();
    await channel();
    const [{ provider } = { provider: "" }] = deps.health();
    const failure = { kind: "overloaded", status: 503, message: "down", model: "m" } as const;
    clock.now += 12_000;
    for (let call = 0; call < 30; call++) health.record(provider, undefined, call < 3 ? undefined : failure);
    const [text] = await round(79_000);
    expect(text).toContain(`The provider ${provider} is failing`);
    expect(deps.health()[0]?.since).toBe(clock.now - 79_000);
    clock.now += 45_000;
    for (let call = 0; call < 25; call++) health.record(provider, undefined, undefined);
    const later = [...(await round()), ...(await round()), ...(await round())];
    expect(later).toEqual([expect.stringContaining(`The provider ${provider} is failing`)]);
  });

  test("that calls fail ends with the first look at a window without failures", async () => {
    const { channel, round, deps } = await fixture();
    await channel();
    for (let call = 0; call < 8; call++) {
      deps.service.observer.ended({ status: 503 } as EndedCall, {} as never);
    }
    expect((await round(5000))[0]).toContain("ended with 500 or 503");
    expect(await round()).toEqual([]);
    expect((await round())[0]).toContain("ended with 500 or 503");
    const firing = await readFiring(deps.store, gatewayOwner, { now: deps.now(), publicUrl: undefined });
    expect(firing).toEqual([]);
  });

  test("of what lasts shorter than a minute is not sent, nor that it is over, and the history says why", async () => {
    const { channel, round, deps, store } = await fixture();
    await channel();
    const [{ routes } = { routes: [] }] = deps.kernel.registry.modelEntries;
    const pool = routes[0]?.keys;
    const pause = (untilMs: number) =>
      pool?.take(deps.now())?.circuitBreaker.pauseFor(untilMs - deps.now(), deps.now());
    pause(deps.now() + minute + 1);
    expect(await round()).toEqual([]);
    for (let count = 0; count < 4; count++) expect(await round()).toEqual([]);
    expect(await readHistory(store, gatewayOwner, { limit: 10, publicUrl: undefined })).toMatchObject([
      { rule: "provider_failing", text: expect.stringMatching(/\. Not sent: it ended before a message was due\.$/) },
    ]);
    pause(deps.now() + 10 * minute);
    expect(await round()).toEqual([]);
    expect((await round())[0]).toContain("1 of 2 API keys of provider");
  });

  test("of a rule that is switched off is resolved, and not found again", async () => {
    const { store, clock, channel, round } = await fixture();
    await channel();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect((await round()).length).toBe(1);
    await writeRule(store, gatewayOwner, { rule: "wallet_low", isEnabled: false, threshold: undefined });
    expect((await round(3 * minute))[0]).toContain("Resolved");
    expect(await round()).toEqual([]);
  });

  test("of several subjects is one message", async () => {
    const { store, clock, channel, round } = await fixture();
    await channel();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    await accountWith(store, "ben@example.org", usd / 4, clock.now);
    const [text, ...others] = await round();
    expect(others).toEqual([]);
    expect(text?.split("\n• ").length).toBe(3);
  });

  test("tells an account holder of the own wallet and keys alone, by the own thresholds", async () => {
    const { store, clock, channel, alerts } = await fixture();
    const ada = await accountWith(store, "ada@example.org", 3 * usd, clock.now);
    await accountWith(store, "ben@example.org", 3 * usd, clock.now);
    const { id: ofAda } = await channel(ada.id);
    /** What is queued for Ada a minute later: her webhook on the loopback is not reached. */
    const round = async () => {
      clock.now += minute;
      await alerts.evaluate();
      const queued = await store.db.deleteFrom("alert_messages").returning(["channel_id", "body"]).execute();
      expect(queued.every(({ channel_id }) => channel_id === ofAda)).toBe(true);
      return queued.map(({ body }) => (JSON.parse(body) as { text: string }).text);
    };
    expect(await round()).toEqual([]);
    await writeRule(store, ada.id, { rule: "wallet_low", isEnabled: true, threshold: 5 * usd });
    expect(await round()).toEqual(["modelgate: ada@example.org: balance $3.00, below $5.00"]);
    const bounds = { requests_per_minute: null, tokens_per_minute: null, concurrent_calls: null, allowed_models: null };
    const times = { created_at: 1, expires_at: null, revoked_at: null, last_used_at: null };
    const keyRow = { id: "k1", account_id: ada.id, name: "bot", secret_hash: "x" };
    await store.db
      .insertInto("keys")
      .values({ ...keyRow, ...bounds, ...times })
      .execute();
    const budget = { limitNanodollars: 10 * usd, period: "month" } as const;
    await store.change((db) => setOwnBudget(db, { accountId: ada.id, keyId: "k1" }, budget, clock.now));
    const open = openOf(crypto.randomUUID(), { accountId: ada.id, keyId: "k1", openedAt: clock.now });
    await recordCalls(store, [open, endOf(open, { chargedNanodollars: 8 * usd })]);
    expect((await round())[0]).toContain("The API key “bot” (k1) has spent 80 % of its budget");
  });

  test("tells of the budget of an account in its running period", async () => {
    const { store, clock, channel, round } = await fixture();
    const { id: accountId } = await accountWith(store, "ada@example.org", 30 * usd, clock.now);
    await channel();
    const budget = { limitNanodollars: 10 * usd, period: "day" } as const;
    await store.change((db) => setOwnBudget(db, { accountId }, budget, clock.now));
    const spend = async (openedAt: number, dollars: number) => {
      const open = openOf(crypto.randomUUID(), { accountId, openedAt });
      await recordCalls(store, [open, endOf(open, { chargedNanodollars: dollars * usd })]);
    };
    await spend(clock.now - 86_400_000, 9);
    expect(await round()).toEqual([]);
    await spend(clock.now, 5);
    expect((await round())[0]).toContain("The account ada@example.org has spent 50 % of its budget of this day: $5.00");
    await spend(clock.now, 5);
    expect((await round())[0]).toContain("100 % of its budget of this day: $10.00");
  });

  test("tells of the budget of each end user in its running period, raised for a time", async () => {
    const { store, clock, channel, round } = await fixture();
    const { id: accountId } = await accountWith(store, "ada@example.org", 30 * usd, clock.now);
    await channel();
    const fields = {
      by: commandLine,
      accountId,
      subject: "end_user",
      limitNanodollars: 5 * usd,
      period: "day",
    } as const;
    const raise = { nanodollars: 5 * usd, until: clock.now + 10 * minute };
    await createBudget(store, { ...fields, raise }, clock.now);
    const spend = async (name: string, dollars: number, openedAt = clock.now) => {
      const open = openOf(crypto.randomUUID(), { accountId, openedAt, endUser: name });
      await recordCalls(store, [open, endOf(open, { chargedNanodollars: dollars * usd })]);
    };
    await spend("eve", 9, clock.now - 86_400_000);
    await spend("eve", 4);
    expect(await round()).toEqual([]);
    await spend("eve", 1);
    expect((await round())[0]).toContain(
      "The end user “eve” of ada@example.org has spent 50 % of its budget of this day: $5.00 of $10.00",
    );
    expect((await round(10 * minute))[0]).toContain("100 % of its budget of this day: $5.00 of $5.00");
  });

  test("tells of differences that the daily verification of the ledger found", async () => {
    const { channel, round, alerts, clock } = await fixture({
      differences: ["Wallet of acc_1: 5 is written, 4 found"],
    });
    await channel();
    await alerts.checkLedger();
    expect(await round(59 * minute)).toEqual([]);
    await alerts.checkLedger();
    clock.now += minute;
    await alerts.checkLedger();
    expect(await round()).toEqual([
      "modelgate: The ledger's verification found 1 difference: Wallet of acc_1: 5 is written, 4 found",
    ]);
  });

  test("that is muted is not sent, also when it comes again, and stays in the history", async () => {
    const { store, clock, channel, round, deps } = await fixture();
    await channel();
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect((await round()).length).toBe(1);
    const read = () => readFiring(store, gatewayOwner, { now: deps.now(), publicUrl: undefined });
    const [alert] = await read();
    expect(alert).toMatchObject({ mutedUntil: undefined, subject: { type: "account", id: accountId } });
    const until = clock.now + 3 * hour;
    await muteAlert(store, gatewayOwner, alert?.id ?? "", { until, by: "cli" });
    expect(await read()).toMatchObject([{ id: alert?.id, mutedUntil: until }]);
    await creditWallet(store, { accountId, nanodollars: -usd, note: "less" });
    expect(await round()).toEqual([]);
    await creditWallet(store, { accountId, nanodollars: 5 * usd, note: "more" });
    expect(await round(3 * minute)).toEqual([]);
    expect(await readHistory(store, gatewayOwner, { limit: 10, publicUrl: undefined })).toMatchObject([
      { id: alert?.id, rule: "wallet_low", severity: "warning", text: "ada@example.org: balance −$0.50, below $1.00" },
    ]);
    await creditWallet(store, { accountId, nanodollars: -4 * usd, note: "less" });
    expect(await round()).toEqual([]);
    expect((await round(3 * hour)).length).toBe(1);
    const unknown = muteAlert(store, gatewayOwner, "alert_of_nobody", { until: null, by: "cli" });
    expect((await unknown.catch((error) => error)).code).toBe("not_found");
  });

  test("of a metric fires beyond its threshold, over its window and for its scope alone", async () => {
    const { store, clock, channel, round } = await fixture();
    await channel();
    const { id: accountId } = await accountWith(store, "ada@example.org", 30 * usd, clock.now);
    const fixed = { baselineDays: 0, minimum: 0, severity: "warning", callsMin: 4, isEnabled: true } as const;
    const rule = { ...fixed, scope: "gateway", subject: "", comparison: "above" } as const;
    const errors = { ...rule, name: "Errors", metric: "error_rate", threshold: 20, minutes: 15 } as const;
    await addMetricRule(store, errors, 1);
    await addMetricRule(store, { ...errors, name: "Of acme", scope: "provider", subject: "acme" }, 2);
    await addMetricRule(store, { ...rule, name: "Spend", metric: "spend", threshold: 8 * usd, minutes: 15 }, 3);
    await addMetricRule(store, { ...rule, name: "Slow", metric: "duration_p95", threshold: 900, minutes: 60 }, 4);
    const off = { ...rule, name: "Quiet", metric: "calls", comparison: "below", threshold: 100, minutes: 60 } as const;
    const { id } = await addMetricRule(store, { ...off, isEnabled: false }, 5);
    const end = async (status: number, plugin: string) => {
      const open = openOf(makeCallId(clock.now), { accountId, openedAt: clock.now });
      const told = { status, plugin, costNanodollars: 2 * usd, durationMs: 1000 };
      await recordCalls(store, [open, { ...endOf(open, { chargedNanodollars: 0 }), ...told }]);
    };
    for (const status of [200, 200, 500]) await end(status, "other");
    // Too few calls say nothing about a share or a duration.
    expect(await round()).toEqual([]);
    await end(429, "other");
    const [text] = await round();
    expect(text).toContain("Errors: error rate 25 % in 15 minutes, above 20 %");
    expect(text).toContain("Slow: duration (p95) 1000 ms in an hour, above 900 ms");
    expect(text).not.toContain("Of acme");
    expect(text).not.toContain("Spend");
    await end(200, "other");
    expect((await round()).join()).toContain("Spend: spend $10.00 in 15 minutes, above $8.00");
    await changeMetricRule(store, { ...off, id });
    expect((await round()).join()).toContain("Quiet: calls 5 in an hour, below 100");
    expect((await round(20 * minute)).join()).toContain("Resolved: Errors");
  });

  test("is sent once by two nodes that look at the same moment", async () => {
    const file = temporaryFile();
    const first = await fixture({ store: await temporaryStore(file) });
    const { store, clock, channel, webhook, alerts } = first;
    const second = createAlerts({ ...first.deps, store: store.shared ? await secondStore(file) : store });
    await channel();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    for (let count = 0; count < 3; count++) {
      clock.now += minute;
      await Promise.all([alerts.evaluate(), second.evaluate()]);
      await Promise.all([alerts.deliverDue(), second.deliverDue()]);
    }
    expect(webhook.requests.length).toBe(1);
    await store.db.deleteFrom("wallet_rows").execute();
    clock.now += 10 * minute;
    await Promise.all([alerts.evaluate(), second.evaluate()]);
    await Promise.all([alerts.deliverDue(), second.deliverDue()]);
    expect(webhook.requests.length).toBe(2);
  });
});
