import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config/index.ts";
import { writeSmtp } from "../../../src/mail/index.ts";
import { addChannel, listChannels } from "../../../src/modules/alerts/channels.ts";
import { createDelivery } from "../../../src/modules/alerts/deliver.ts";
import { createAlerts } from "../../../src/modules/alerts/open-alerts.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import { SecretBox } from "../../../src/providers/index.ts";
import { startSmtpSink } from "../../support/smtp-sink.ts";
import { accountWith, box, fixture, hour, minute, stops, usd } from "./fixture.ts";

describe("a webhook", () => {
  test("gets a message that is signed with a timestamp", async () => {
    const { store, clock, channel, round, webhook } = await fixture();
    const secret = `whsec_${btoa("0123456789abcdef0123456789abcdef")}`;
    await channel(gatewayOwner, secret);
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    await round();
    const [{ headers, body } = { headers: {} as Record<string, string>, body: "" }] = webhook.requests;
    const at = headers["webhook-timestamp"] as string;
    expect(Number(at)).toBe(clock.now / 1000);
    const hmac = new Bun.CryptoHasher("sha256", Buffer.from(secret.slice(6), "base64"));
    const expected = hmac.update(`${headers["webhook-id"]}.${at}.${body}`).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
    expect(JSON.parse(body)).toMatchObject({ type: "alert", alerts: [{ rule: "wallet_low", status: "firing" }] });
  });

  test("that fails is tried again after longer and longer, with the same id, and its error is shown", async () => {
    const { store, clock, channel, round, webhook, alerts } = await fixture();
    await channel();
    await accountWith(store, "ada@example.org", usd / 2, clock.now);
    webhook.answer(500);
    await round();
    expect(await listChannels(store, gatewayOwner)).toMatchObject([{ error: "The webhook answered 500" }]);
    clock.now += 29_000;
    await alerts.deliverDue();
    expect(webhook.requests.length).toBe(1);
    clock.now += 1000;
    await alerts.deliverDue();
    expect(webhook.requests.length).toBe(2);
    webhook.answer(204);
    clock.now += 120_000;
    await alerts.deliverDue();
    expect(new Set(webhook.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect((await listChannels(store, gatewayOwner))[0]?.error).toBeUndefined();
    clock.now += 24 * hour;
    await alerts.deliverDue();
    expect(webhook.requests.length).toBe(3);
  });

  test("that never works is given up, and what waits for it is bounded", async () => {
    const { store, clock, channel, round, webhook, alerts } = await fixture();
    await channel();
    webhook.answer(500);
    const waiting = async () => (await store.db.selectFrom("alert_messages").select("id").execute()).length;
    for (let count = 0; count < 25; count++) {
      await accountWith(store, `a${count}@example.org`, 1, clock.now);
      clock.now += minute;
      await alerts.evaluate();
    }
    expect(await waiting()).toBe(20);
    for (let count = 0; count < 20; count++) {
      clock.now += 7 * hour;
      await alerts.deliverDue();
    }
    expect(await waiting()).toBe(0);
    await round();
  });

  test.each([
    ["http://127.0.0.1:9/", "over http a webhook must be"],
    ["https://127.0.0.1:9/", "neither public nor"],
    ["https://[::1]:9/", "neither public nor"],
    ["https://localhost:9/", "neither public nor"],
    ["http://93.184.216.34/", "over http a webhook must be"],
    ["https://169.254.169.254/latest", "neither public nor"],
  ])("at %s is not reached unless the operator listed its network", async (url, words) => {
    const { deps, store, clock } = await fixture();
    const alerts = createAlerts({ ...deps, config: readConfig({}) });
    await addChannel(store, { box, now: clock.now, owner: gatewayOwner, kind: "webhook", target: { url } });
    await accountWith(store, "ada@example.org", 1, clock.now);
    await alerts.evaluate();
    await alerts.deliverDue();
    expect((await listChannels(store, gatewayOwner))[0]?.error).toContain(words);
  });

  test("is encrypted by a key file that the first secret creates, and no second one hides that it is missing", async () => {
    const { store, deps, clock, webhook } = await fixture();
    const newHome = () => mkdtempSync(join(tmpdir(), "modelgate-alerts-"));
    const [home, other] = [newHome(), newHome()];
    stops.push(async () => {
      for (const path of [home, other]) rmSync(path, { recursive: true });
    });
    const add = (folder: string) =>
      addChannel(store, {
        box: new SecretBox({ home: folder, secretsKey: undefined }),
        now: clock.now,
        owner: gatewayOwner,
        kind: "webhook",
        target: { url: webhook.url },
      });
    const { id } = await add(home);
    expect(statSync(join(home, "secrets.key")).mode & 0o777).toBe(0o600);
    const testBy = (folder: string) =>
      createDelivery({ ...deps, secrets: new SecretBox({ home: folder, secretsKey: undefined }) }).sendTest(id);
    expect(await testBy(home)).toBeUndefined();
    expect(await testBy(other)).toBe("The channel was encrypted with another secrets.key: delete it and add it again");
    const refused = await add(other).catch((error: Error) => error);
    expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining("no key for stored secrets") });
    expect(existsSync(join(other, "secrets.key"))).toBe(false);
  });

  test("is not readable in the database", async () => {
    const { store, channel, webhook } = await fixture();
    await channel(gatewayOwner, "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0");
    const [row] = await store.db.selectFrom("alert_channels").selectAll().execute();
    expect(Buffer.from(row?.target ?? []).toString("latin1")).not.toMatch(/whsec|127\.0\.0\.1/);
    expect(row?.label).toBe(new URL(webhook.url).origin);
  });
});

test("an owner has ten channels at most, however many are added at once, and others have theirs", async () => {
  const { store, channel } = await fixture();
  const added = await Promise.allSettled(Array.from({ length: 30 }, () => channel("acc_a")));
  expect(added.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  for (const one of added) {
    if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "invalid_request" });
  }
  expect(await listChannels(store, "acc_a")).toHaveLength(10);
  await channel("acc_b");
});

describe("an e-mail", () => {
  test("is sent by the mail server to the account's address, with a subject", async () => {
    const { store, clock, round } = await fixture();
    const sink = await startSmtpSink();
    stops.push(sink.stop);
    const login = { user: "gateway", password: "s3cret" };
    const smtp = { host: "127.0.0.1", port: sink.port, isTls: false, from: "gate@example.org", ...login };
    await writeSmtp(store, box, smtp);
    const [setting] = await store.db.selectFrom("settings").selectAll().where("name", "=", "mail_server").execute();
    const { secret } = JSON.parse(setting?.value ?? "") as { secret: string };
    expect(setting?.value + atob(secret)).not.toContain("s3cret");
    const ada = await accountWith(store, "ada@example.org", usd / 2, clock.now);
    await addChannel(store, { box, now: clock.now, owner: ada.id, kind: "email", target: {} });
    await round();
    expect(sink.mails).toMatchObject([{ from: "gate@example.org", to: ["ada@example.org"], login: "gateway s3cret" }]);
    expect(sink.mails[0]?.text).toContain("Subject: [modelgate] ada@example.org: balance $0.50, below $1.00");
  });

  test("that is refused is tried again, and the error is shown without the words of the server", async () => {
    const { store, clock, round, alerts } = await fixture();
    const sink = await startSmtpSink();
    stops.push(sink.stop);
    await writeSmtp(store, box, { host: "127.0.0.1", port: sink.port, isTls: false, from: "gate@example.org" });
    await addChannel(store, {
      box,
      now: clock.now,
      owner: gatewayOwner,
      kind: "email",
      target: { to: ["ops@example.org"] },
    });
    await accountWith(store, "ada@example.org", 1, clock.now);
    sink.refuse(true);
    await round();
    const [channel] = await listChannels(store, gatewayOwner);
    expect(channel?.error).toBe("The mail server did not accept the message (EENVELOPE, 550)");
    sink.refuse(false);
    clock.now += 30_000;
    await alerts.deliverDue();
    expect(sink.mails.map(({ to }) => to)).toEqual([["ops@example.org"]]);
  });

  test("is not told to be refused by a mail server that cannot be reached", async () => {
    const { store, clock, round } = await fixture();
    // Nobody listens at this port.
    await writeSmtp(store, box, { host: "127.0.0.1", port: 1, isTls: false, from: "gate@example.org" });
    const target = { to: ["ops@example.org"] };
    await addChannel(store, { box, now: clock.now, owner: gatewayOwner, kind: "email", target });
    await accountWith(store, "ada@example.org", 1, clock.now);
    await round();
    const [channel] = await listChannels(store, gatewayOwner);
    expect(channel?.error).toStartWith("Cannot connect to the mail server (");
  });

  test("without a mail server fails with a sentence", async () => {
    const { store, clock, round } = await fixture();
    await addChannel(store, {
      box,
      now: clock.now,
      owner: gatewayOwner,
      kind: "email",
      target: { to: ["ops@example.org"] },
    });
    await accountWith(store, "ada@example.org", 1, clock.now);
    await round();
    expect((await listChannels(store, gatewayOwner))[0]?.error).toBe("No mail server is configured");
  });
});
