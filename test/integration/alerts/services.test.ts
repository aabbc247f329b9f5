import { describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import {
  addChannel,
  type Channel,
  type ChannelFilter,
  changeChannel,
  filterDefault,
  listChannels,
} from "../../../src/modules/alerts/channels.ts";
import { createDelivery } from "../../../src/modules/alerts/deliver.ts";
import { addMetricRule } from "../../../src/modules/alerts/metric-rules.ts";
import { createAlerts } from "../../../src/modules/alerts/open-alerts.ts";
import { muteAlert, readFiring } from "../../../src/modules/alerts/record-findings.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import { startService } from "../../support/alert-services.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { accountWith, box, fixture, hour, minute, secondStore, stops, usd } from "./fixture.ts";

const routingKey = "0123456789abcdef0123456789abcdef";
const publicUrl = "https://gate.example.com";
const config = readConfig({
  ALERT_NETWORKS: "127.0.0.0/8",
  MODELGATE_HOME: "/nonexistent/modelgate",
  PUBLIC_URL: publicUrl,
});

type Kind = Parameters<typeof startService>[0];

/** A gateway's alerts with a channel of a service, whose rounds say what the service got. */
async function serviceFixture(kind: Kind, filter: Partial<ChannelFilter> = {}, store?: Store) {
  const base = await fixture(store === undefined ? {} : { store });
  const service = startService(kind);
  stops.push(service.stop);
  const deps = { ...base.deps, config };
  const alerts = createAlerts(deps);
  const channel = await add(base.store, kind, service.url, filter);
  const round = async (ms: number = minute) => {
    base.clock.now += ms;
    const before = service.bodies.length;
    await alerts.evaluate();
    await alerts.deliverDue();
    return toEvents(service.bodies.slice(before));
  };
  return { ...base, deps, alerts, service, channel, addWebhook: base.channel, round };
}

function add(store: Store, kind: Channel["kind"], url: string, filter: Partial<ChannelFilter> = {}): Promise<Channel> {
  const target = { url, ...(kind === "pagerduty" && { routingKey }) };
  return addChannel(store, {
    ...{ box, now: 1, owner: gatewayOwner, kind, target },
    filter: { ...filterDefault, ...filter },
  });
}

interface PagerEvent {
  readonly event_action: string;
  readonly dedup_key: string;
  readonly payload: { readonly summary: string; readonly severity: string };
  readonly client_url?: string;
}
/** What a service got, as events of PagerDuty. */
const toEvents = (bodies: readonly object[]) => bodies as readonly PagerEvent[];
const actionsOf = (events: readonly PagerEvent[]) => events.map(({ event_action: action }) => action);

describe("an incident of PagerDuty", () => {
  test("has one key when it fires, is repeated after a day and resolved, over a restart, and another when it comes again", async () => {
    const { store, clock, deps, service, round } = await serviceFixture("pagerduty");
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    const [fired] = await round();
    expect(fired).toMatchObject({
      event_action: "trigger",
      routing_key: routingKey,
      client_url: `${publicUrl}/admin/accounts/${accountId}`,
      payload: {
        summary: "ada@example.org: balance $0.50, below $1.00",
        severity: "info",
        source: "gate.example.com",
        component: "ada@example.org",
        group: "account",
        class: "wallet_low",
      },
    });
    const [shown] = await readFiring(store, gatewayOwner, { now: clock.now, publicUrl });
    expect(shown?.id).toBe(fired?.dedup_key ?? "");
    const restarted = createAlerts(deps);
    const next = async (ms: number) => {
      clock.now += ms;
      await restarted.evaluate();
      await restarted.deliverDue();
    };
    await next(24 * hour);
    await creditWallet(store, { accountId, nanodollars: usd, note: "more" });
    for (let rounds = 0; rounds < 4; rounds++) await next(minute);
    const events = toEvents(service.bodies);
    expect(actionsOf(events)).toEqual(["trigger", "trigger", "resolve"]);
    expect(new Set(events.map(({ dedup_key: key }) => key))).toEqual(new Set([shown?.id ?? ""]));
    await creditWallet(store, { accountId, nanodollars: -usd, note: "less" });
    const [again] = await round();
    expect(again?.event_action).toBe("trigger");
    expect(again?.dedup_key).not.toBe(fired?.dedup_key);
    expect(service.problems).toEqual([]);
  });

  test("is triggered and resolved once by two nodes, with one key", async () => {
    const file = temporaryFile();
    const first = await serviceFixture("pagerduty", {}, await temporaryStore(file));
    const { store, clock, service } = first;
    const other = store.shared ? await secondStore(file) : store;
    const second = createAlerts({ ...first.deps, store: other });
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    const both = async (ms: number) => {
      clock.now += ms;
      await Promise.all([first.alerts.evaluate(), second.evaluate()]);
      await Promise.all([first.alerts.deliverDue(), second.deliverDue()]);
    };
    for (let rounds = 0; rounds < 3; rounds++) await both(minute);
    await store.db.deleteFrom("wallet_rows").execute();
    await both(10 * minute);
    const events = toEvents(service.bodies);
    expect(actionsOf(events)).toEqual(["trigger", "resolve"]);
    expect(events[1]?.dedup_key).toBe(events[0]?.dedup_key ?? "");
  });

  test("is not triggered by a message that waited until after its end", async () => {
    const { store, clock, service, round } = await serviceFixture("pagerduty");
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    service.refuse(500);
    await round();
    expect(service.tries).toBe(1);
    await creditWallet(store, { accountId, nanodollars: usd, note: "more" });
    service.refuse();
    // The second attempt of the first message comes with the message of the end, and after it.
    await round(3 * minute);
    await round(10 * minute);
    expect(actionsOf(toEvents(service.bodies))).not.toContain("trigger");
    expect(await store.db.selectFrom("alert_messages").select("id").execute()).toEqual([]);
  });

  test("is resolved although its alert was muted, and its channel takes other alerts by now", async () => {
    const { store, clock, channel, round } = await serviceFixture("pagerduty");
    const { id: accountId } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    const [fired] = await round();
    await muteAlert(store, gatewayOwner, fired?.dedup_key ?? "", { until: null, by: "cli" });
    const filter = { ...filterDefault, severity: "critical" } as const;
    await changeChannel(store, { owner: gatewayOwner, id: channel.id, filter, now: clock.now });
    await creditWallet(store, { accountId, nanodollars: usd, note: "more" });
    const ended = await round(3 * minute);
    expect(ended).toMatchObject([{ event_action: "resolve", dedup_key: fired?.dedup_key ?? "" }]);
  });

  test("that PagerDuty refuses for good is not sent again; one that it has no time for is, when it asks", async () => {
    const { store, clock, service, round, alerts } = await serviceFixture("pagerduty");
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    service.refuse(429, { "retry-after": "90" });
    await round();
    clock.now += 89_000;
    await alerts.deliverDue();
    expect(service.tries).toBe(1);
    clock.now += 1000;
    await alerts.deliverDue();
    expect(service.tries).toBe(2);
    service.refuse(400);
    clock.now += hour;
    await alerts.deliverDue();
    expect(await listChannels(store, gatewayOwner)).toMatchObject([{ error: "PagerDuty answered 400" }]);
    expect(await store.db.selectFrom("alert_messages").select("id").execute()).toEqual([]);
  });

  test("of a test is resolved at once", async () => {
    const { service, channel, deps } = await serviceFixture("pagerduty");
    expect(await createDelivery(deps).sendTest(channel.id)).toBeUndefined();
    const events = toEvents(service.bodies);
    expect(actionsOf(events)).toEqual(["trigger", "resolve"]);
    expect(new Set(events.map(({ dedup_key: key }) => key)).size).toBe(1);
    expect(events[0]?.payload.severity).toBe("info");
    expect(service.problems).toEqual([]);
  });
});

/** An account whose name nobody checked. */
async function accountNamed(store: Store, name: string, count: number, now: number): Promise<void> {
  const { id } = await accountWith(store, `a${count}@example.org`, usd / 2, now);
  await store.db
    .updateTable("accounts")
    .set({ email: `${name}${count}` })
    .where("id", "=", id)
    .execute();
}

/** Names that somebody may give an account or key, and what they must not become. */
const hostile = [
  "*bold* _it_ ~no~ `code` ||spoiler||",
  "@everyone @here <!channel> <!here> <@U012AB3CD> <at>all</at>",
  "[click](https://evil.example/x) <https://evil.example|here> https://evil.example",
  "line one\nline two\r\n# heading\n> quote\u0007\u202e",
  '{"text":"x"} </script> &amp; \\"',
  "𝄞".repeat(400),
];

describe.each(["slack", "teams", "discord", "pagerduty"] as const)("a message for %s", (kind) => {
  test("has its form and stays within its limits, whatever the names of accounts are and however many there are", async () => {
    const { store, clock, service, round, alerts } = await serviceFixture(kind);
    const accounts = [...hostile, ...Array.from({ length: 60 }, (_, count) => `${count} ${"ü@#*".repeat(60)}`)];
    for (const [count, name] of accounts.entries()) await accountNamed(store, name, count, clock.now);
    await round();
    for (let rounds = 0; rounds < 3; rounds++) await alerts.deliverDue();
    expect(service.problems).toEqual([]);
    expect(service.bodies.length).toBeGreaterThan(0);
    const text = JSON.stringify(service.bodies);
    if (kind !== "pagerduty") expect(text).toMatch(/and \d+ more/);
    else expect(service.bodies.length).toBe(accounts.length);
  });

  test("shows names as they are, and nothing in them mentions or links", async () => {
    const { store, clock, service, round } = await serviceFixture(kind);
    for (const [count, name] of hostile.slice(0, 4).entries()) await accountNamed(store, name, count, clock.now);
    await round();
    const text = JSON.stringify(service.bodies);
    expect(text).toContain("everyone");
    expect(text).not.toMatch(/@everyone|@here|<!channel>|<@U|<at>|\u202e/);
    // The bold of Markdown is escaped where it would be read.
    expect(text).toContain(kind === "discord" ? "\\\\*bold\\\\*" : "*bold*");
    if (kind === "discord") expect(text).not.toContain("https://evil");
    expect(service.problems).toEqual([]);
  });

  test("of a test has the form of a real alert", async () => {
    const { service, channel, deps, store } = await serviceFixture(kind);
    expect(await createDelivery(deps).sendTest(channel.id)).toBeUndefined();
    expect(JSON.stringify(service.bodies)).toContain("This is a test alert");
    expect(service.problems).toEqual([]);
    const [row] = await store.db.selectFrom("alert_channels").selectAll().execute();
    expect(Buffer.from(row?.target ?? []).toString("latin1")).not.toMatch(/secret-token|0123456789abcdef/);
    expect(row?.label).toBe(new URL(service.url).origin);
  });
});

describe("a channel", () => {
  test("that takes critical alerts alone gets dead providers and no low wallets, and others get both", async () => {
    const { store, clock, deps, service, round, webhook, addWebhook } = await serviceFixture("slack", {
      severity: "critical",
    });
    await addWebhook();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect(await round()).toEqual([]);
    expect(webhook.requests).toHaveLength(1);
    const dead = { provider: "acme", state: "refused", reason: undefined, last: {}, keys: [] } as never;
    const alerts = createAlerts({ ...deps, health: () => [dead] });
    for (let rounds = 0; rounds < 3; rounds++) {
      clock.now += minute;
      await alerts.evaluate();
      await alerts.deliverDue();
    }
    expect(JSON.stringify(service.bodies)).toContain("Critical: The provider acme is refusing the gateway's key");
    expect(JSON.stringify(service.bodies)).not.toContain("ada@example.org");
    expect(webhook.requests).toHaveLength(2);
  });

  test("hears of the end of what it was sent, although it was less severe at its end", async () => {
    const { store, clock, service, round } = await serviceFixture("discord", { severity: "warning" });
    const { id: accountId } = await accountWith(store, "ada@example.org", -usd, clock.now);
    expect(await round()).toHaveLength(1);
    await creditWallet(store, { accountId, nanodollars: usd + usd / 2, note: "more" });
    expect(await round()).toEqual([]);
    await creditWallet(store, { accountId, nanodollars: 5 * usd, note: "more" });
    await round(3 * minute);
    expect(JSON.stringify(service.bodies.at(-1))).toContain("Resolved");
    expect(service.bodies).toHaveLength(2);
  });

  test("takes the rules that it chose, by name, custom rules together or one by its id", async () => {
    const { store, clock, round, webhook, addWebhook } = await serviceFixture("slack", { rules: ["disk_full"] });
    const rule = {
      ...({ metric: "calls", scope: "gateway", subject: "", comparison: "below", threshold: 5 } as const),
      ...({ minutes: 60, baselineDays: 0, minimum: 0, callsMin: 0, severity: "critical", isEnabled: true } as const),
    };
    const one = await addMetricRule(store, { ...rule, name: "One" }, 1);
    await addMetricRule(store, { ...rule, name: "Two" }, 2);
    const filterOf = async (rules: string[]) => {
      const added = await addWebhook();
      await changeChannel(store, {
        owner: gatewayOwner,
        id: added.id,
        filter: { ...filterDefault, rules },
        now: clock.now,
      });
    };
    await filterOf([one.id]);
    await filterOf(["metric"]);
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    expect(await round()).toEqual([]);
    const texts = webhook.requests.map(({ body }) => (JSON.parse(body) as { text: string }).text);
    expect(texts.map((text) => [text.includes("One:"), text.includes("Two:"), text.includes("ada@")]).sort()).toEqual([
      [true, false, false],
      [true, true, false],
    ]);
  });

  test("that is added later gets an alert that no channel took before", async () => {
    const { store, clock, round, webhook, addWebhook } = await serviceFixture("slack", { severity: "critical" });
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    await round();
    await addWebhook();
    await round();
    expect(webhook.requests).toHaveLength(1);
  });
});

test("a webhook and an e-mail have the id, severity, subject, link and times of an alert", async () => {
  const { store, clock, deps, webhook } = await fixture();
  const alerts = createAlerts({ ...deps, config });
  await add(store, "webhook", webhook.url);
  const { id } = await accountWith(store, "ada@example.org", usd / 2, clock.now);
  await alerts.evaluate();
  await alerts.deliverDue();
  const [alert] = (JSON.parse(webhook.requests[0]?.body ?? "") as { alerts: { id: string }[] }).alerts;
  expect<object | undefined>(alert).toEqual({
    id: expect.stringMatching(/^alert_[0-9a-f]{24}$/),
    rule: "wallet_low",
    status: "firing",
    severity: "info",
    subject: { type: "account", id, name: "ada@example.org" },
    text: "ada@example.org: balance $0.50, below $1.00",
    link: `${publicUrl}/admin/accounts/${id}`,
    started_at: new Date(clock.now).toISOString(),
    resolved_at: null,
  });
  await creditWallet(store, { accountId: id, nanodollars: usd, note: "more" });
  clock.now += 3 * minute;
  await alerts.evaluate();
  await alerts.deliverDue();
  const resolved = (JSON.parse(webhook.requests[1]?.body ?? "") as { alerts: object[] }).alerts;
  expect(resolved).toMatchObject([{ id: alert?.id, status: "resolved", resolved_at: expect.stringContaining("T") }]);
});
