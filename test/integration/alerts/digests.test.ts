import { describe, expect, test } from "bun:test";
import { callIdPrefix } from "../../../src/contract/index.ts";
import type { LedgerWrite, Store } from "../../../src/db/index.ts";
import { buildRegistry } from "../../../src/kernel/index.ts";
import { writeSmtp } from "../../../src/mail/index.ts";
import {
  addChannel,
  type Channel,
  type ChannelFilter,
  changeChannel,
  filterDefault,
} from "../../../src/modules/alerts/channels.ts";
import { lastDigestAt, nextDigestAt } from "../../../src/modules/alerts/digest-times.ts";
import { createAlerts } from "../../../src/modules/alerts/open-alerts.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import { UsageRollup } from "../../../src/reports/index.ts";
import { startService } from "../../support/alert-services.ts";
import { recordCalls } from "../../support/payers.ts";
import { startSmtpSink } from "../../support/smtp-sink.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { accountWith, box, fixture, hour, minute, secondStore, stops, usd } from "./fixture.ts";

const day = 24 * hour;

/** A Sunday at noon, with a channel whose digest is due at 8:00 UTC. */
async function digestFixture(filter: Partial<ChannelFilter> = {}, store?: Store) {
  const base = await fixture(store === undefined ? {} : { store });
  const add = (kind: Channel["kind"], url: string) =>
    addChannel(base.store, {
      ...{ box, now: base.clock.now, owner: gatewayOwner, kind, target: { url } },
      filter: { ...filterDefault, digest: "daily", ...filter },
    });
  const channel = await add("webhook", base.webhook.url);
  const digests = () =>
    base.webhook.requests.map(({ body }) => JSON.parse(body) as Message).filter(({ type }) => type === "digest");
  /** A round of the timers at a time. Returns until when the digests are that were sent. */
  const at = async (time: string, alerts = base.alerts) => {
    base.clock.now = Date.parse(time);
    const before = digests().length;
    await alerts.queueDigests();
    await alerts.deliverDue();
    return digests()
      .slice(before)
      .map(({ digest }) => digest.until);
  };
  return { ...base, add, channel, digests, at };
}

interface Message {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly digest: {
    readonly from: string;
    readonly until: string;
    readonly sections: readonly { readonly title: string; readonly lines: readonly string[] }[];
  };
}

async function record(
  store: Store,
  rollup: UsageRollup,
  calls: readonly [at: number, accountId: string, cost: number, status?: number][],
) {
  const writes = calls.flatMap(([at, accountId, cost, status = 200], count): LedgerWrite[] => {
    const open = openOf(`${callIdPrefix(at)}${String(count).padStart(16, "0")}`, {
      ...{ accountId, keyId: `key_${accountId}`, openedAt: at },
    });
    const end = { settledAt: at + 100, chargedNanodollars: 0, costNanodollars: cost, status };
    return [open, endOf(open, end)];
  });
  await recordCalls(store, writes);
  for (const _ of calls) rollup.add();
  await rollup.flush();
}

describe("the time of a digest", () => {
  test.each([
    ["daily", 8, ["2027-01-10T08:00:00Z", "2027-01-10T08:00:00Z", "2027-01-11T08:00:00Z"]],
    ["daily", 8, ["2027-01-10T07:59:59.999Z", "2027-01-09T08:00:00Z", "2027-01-10T08:00:00Z"]],
    ["daily", 0, ["2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"]],
    ["weekly", 8, ["2027-01-11T07:59:59Z", "2027-01-04T08:00:00Z", "2027-01-11T08:00:00Z"]],
    ["weekly", 8, ["2027-01-11T08:00:00Z", "2027-01-11T08:00:00Z", "2027-01-18T08:00:00Z"]],
    ["weekly", 23, ["2027-03-28T12:00:00Z", "2027-03-22T23:00:00Z", "2027-03-29T23:00:00Z"]],
  ] as const)("of a %s one at %p is, of now, the last one and the next one: %p", (period, at, times) => {
    const [now, last, next] = times.map(Date.parse) as [number, number, number];
    expect([lastDigestAt(period, at, now), nextDigestAt(period, at, now)]).toEqual([last, next]);
  });
});

describe("a digest", () => {
  test("is sent at its hour, once, and none for the time before it was chosen", async () => {
    const { at } = await digestFixture();
    expect(await at("2027-01-10T12:01:00Z")).toEqual([]);
    expect(await at("2027-01-11T07:59:59Z")).toEqual([]);
    expect(await at("2027-01-11T08:00:00Z")).toEqual(["2027-01-11T08:00:00.000Z"]);
    expect(await at("2027-01-11T08:01:00Z")).toEqual([]);
    expect(await at("2027-01-12T08:00:30Z")).toEqual(["2027-01-12T08:00:00.000Z"]);
  });

  test("of a week is sent on Mondays, and after days without a gateway the latest alone is", async () => {
    const { at, store, channel, clock } = await digestFixture({ digest: "weekly" });
    expect(await at("2027-01-11T08:00:00Z")).toEqual(["2027-01-11T08:00:00.000Z"]);
    expect(await at("2027-01-15T08:00:00Z")).toEqual([]);
    expect(await at("2027-02-03T10:00:00Z")).toEqual(["2027-02-01T08:00:00.000Z"]);
    expect(await at("2027-02-03T10:01:00Z")).toEqual([]);
    const daily = { ...filterDefault, digest: "daily", digestHour: 9 } as const;
    await changeChannel(store, { owner: gatewayOwner, id: channel.id, filter: daily, now: clock.now });
    expect(await at("2027-02-03T11:00:00Z")).toEqual([]);
    // What is chosen beside it moves no digest.
    const filter = { ...daily, severity: "critical" } as const;
    await changeChannel(store, {
      owner: gatewayOwner,
      id: channel.id,
      filter,
      now: Date.parse("2027-02-04T09:00:01Z"),
    });
    expect(await at("2027-02-04T09:01:00Z")).toEqual(["2027-02-04T09:00:00.000Z"]);
    const off = { ...daily, digest: "off" } as const;
    await changeChannel(store, { owner: gatewayOwner, id: channel.id, filter: off, now: clock.now });
    expect(await at("2027-02-05T09:01:00Z")).toEqual([]);
  });

  test("is sent once by two nodes at the same moment", async () => {
    const file = temporaryFile();
    const first = await digestFixture({}, await temporaryStore(file));
    const { store, clock, deps, alerts, digests } = first;
    const second = createAlerts({ ...deps, store: store.shared ? await secondStore(file) : store });
    for (const time of ["2027-01-11T08:00:00Z", "2027-01-11T08:00:01Z", "2027-01-12T08:00:00Z"]) {
      clock.now = Date.parse(time);
      await Promise.all([alerts.queueDigests(), second.queueDigests()]);
      await Promise.all([alerts.deliverDue(), second.deliverDue()]);
    }
    expect(digests().map(({ digest }) => digest.until)).toEqual([
      "2027-01-11T08:00:00.000Z",
      "2027-01-12T08:00:00.000Z",
    ]);
  });

  test("survives a node that ends before it is written, and one that ends before it is sent", async () => {
    const { at, deps, clock, alerts, digests } = await digestFixture();
    clock.now = Date.parse("2027-01-11T08:00:00Z");
    const dying = createAlerts({ ...deps, freshen: () => Promise.reject(new Error("killed")) });
    expect(await dying.queueDigests().catch((error: Error) => error.message)).toBe("killed");
    await alerts.queueDigests();
    // This process is gone now, and its message is in the database.
    expect(digests()).toEqual([]);
    const restarted = createAlerts(deps);
    expect(await at("2027-01-11T08:02:00Z", restarted)).toEqual(["2027-01-11T08:00:00.000Z"]);
    expect(await at("2027-01-11T08:03:00Z", restarted)).toEqual([]);
  });

  test("has the sums of the day until its hour against the day before, who spent, what moved and what runs out", async () => {
    const { store, clock, deps, at, digests } = await digestFixture();
    const rollup = new UsageRollup({ store, retentionDays: 60, now: () => clock.now, log: deps.log });
    const due = Date.parse("2027-01-11T08:00:00Z");
    clock.now = due;
    await record(store, rollup, [
      // At the boundaries: the hour of the digest itself belongs to the next one.
      [due, "acc_ada", 100 * usd],
      [due - 1, "acc_ada", 3 * usd],
      [due - day, "acc_ben", usd],
      [due - day - 1, "acc_ben", 5 * usd],
      [due - 2 * hour, "acc_ada", 0, 500],
      [due - 2 * day - 1, "acc_ben", 50 * usd],
    ]);
    await accountWith(store, "low@example.org", 1, clock.now);
    const models = [{ ...chatModel, id: "model-1", upstreamId: "writer-1", aliases: ["writer-1"] }];
    const { registry } = buildRegistry([createPlugin({ chat: async () => completionOf("Hello") }, { models })], () => ({
      keys: ["k1"],
    }));
    await at("2027-01-11T08:00:00Z", createAlerts({ ...deps, kernel: { ...deps.kernel, registry } }));
    const [message] = digests();
    expect(message?.digest).toMatchObject({ from: "2027-01-10T08:00:00.000Z", until: "2027-01-11T08:00:00.000Z" });
    const lines = new Map(message?.digest.sections.map((section) => [section.title, section.lines]));
    expect(lines.get("Totals")).toEqual([
      "Spend: $4.00 (−20 % to the day before)",
      "Requests: 3 (+200 % to the day before)",
      "Errors: 1 (none the day before)",
    ]);
    expect(lines.get("Top accounts")).toEqual(["acc_ada@test: $3.00", "acc_ben@test: $1.00"]);
    // As clients write the model, not by its id.
    expect(lines.get("Top models")).toEqual(["writer-1: $4.00"]);
    expect(lines.get("Movers")?.slice(0, 2)).toEqual(["acc_ben@test: $5.00 → $1.00", "acc_ada@test: $0.00 → $3.00"]);
    expect(lines.get("Running out")?.join()).toContain("Wallet of low@example.org: $0.000000001");
    expect(message?.text.split("\n")[0]).toBe("Daily digest until 2027-01-11 08:00 UTC");
  });

  test.each(["slack", "teams", "discord"] as const)(
    "has the form and limits of %s with hostile names",
    async (kind) => {
      const { store, clock, deps, add, alerts } = await digestFixture();
      const service = startService(kind);
      stops.push(service.stop);
      await add(kind, service.url);
      const rollup = new UsageRollup({ store, retentionDays: 60, now: () => clock.now, log: deps.log });
      clock.now = Date.parse("2027-01-11T08:00:00Z");
      await record(
        store,
        rollup,
        Array.from({ length: 12 }, (_, count) => [clock.now - minute - count, `acc_${count}`, (count + 1) * usd]),
      );
      const name = "@everyone <!channel> *b* [x](https://evil.example)\n\n# h ";
      for (let count = 0; count < 12; count++) {
        const email = name + "ü𝄞".repeat(40 * (count % 3)) + String(count);
        await store.db.updateTable("accounts").set({ email }).where("id", "=", `acc_${count}`).execute();
      }
      await alerts.queueDigests();
      await alerts.deliverDue();
      expect(service.problems).toEqual([]);
      const text = JSON.stringify(service.bodies);
      expect(text).toContain("Daily digest until");
      expect(text).not.toMatch(/@everyone|<!channel>/);
    },
  );

  test("is mailed with its sections in the text", async () => {
    const { store, clock, alerts } = await digestFixture({ digest: "off" });
    const sink = await startSmtpSink();
    stops.push(sink.stop);
    await writeSmtp(store, box, { host: "127.0.0.1", port: sink.port, isTls: false, from: "gate@example.org" });
    await addChannel(store, {
      ...{ box, now: clock.now, owner: gatewayOwner, kind: "email", target: { to: ["ops@example.org"] } },
      filter: { ...filterDefault, digest: "daily" },
    });
    clock.now = Date.parse("2027-01-11T08:00:00Z");
    await alerts.queueDigests();
    await alerts.deliverDue();
    expect(sink.mails.map(({ to }) => to)).toEqual([["ops@example.org"]]);
    expect(sink.mails[0]?.text).toContain("Subject: [modelgate] Daily digest until 2027-01-11 08:00 UTC");
    expect(sink.mails[0]?.text).toContain("Spend: $0.00");
  });
});
