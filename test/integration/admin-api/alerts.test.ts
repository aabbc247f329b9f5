import { afterAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { makeAlertRow, makePastAlertRow } from "../../support/alert-rows.ts";
import { startRaw } from "../../support/raw-server.ts";
import { startSmtpSink } from "../../support/smtp-sink.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";
import { goodKey } from "../../unit/http/support.ts";
import { startWebhook } from "../alerts/webhook-sink.ts";

const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

async function fixture(env: Record<string, string> = { ALERT_NETWORKS: "127.0.0.0/8" }) {
  const webhook = await startWebhook();
  stops.push(webhook.stop);
  const http = await dashboardHttp(env);
  const admin = await http.enter("admin@example.org", "admin");
  const owner = await http.enter("owner@example.org", "owner");
  const ada = await http.enter("ada@example.org");
  const put = (who: { cookie: string }, path: string, body: unknown) =>
    http.send(path, {
      method: "PUT",
      headers: { cookie: who.cookie, origin: "http://gateway.example", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { ...http, webhook, admin, owner, ada, put };
}

const root = "/v1/organization/alerts";
const mailServer = "/v1/organization/mail_server";
const secret = `whsec_${btoa("0123456789abcdef0123456789abcdef")}`;
const idOf = async (response: Response) => ((await response.json()) as { id: string }).id;

describe("secrets of alerts", () => {
  test("are in no answer", async () => {
    const { admin, owner, webhook, put } = await fixture();
    const smtp = { host: "mail.example.org", port: 587, tls: false, from: "gate@example.org" };
    const answers = [
      await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url, secret }),
      await put(owner, mailServer, { ...smtp, user: "gate", password: "canary-password" }),
      await admin.get(`${root}/channels`),
      await admin.get(mailServer),
      await admin.get("/dashboard/api/admin/audit"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const all = (await Promise.all(answers.map((answer) => answer.text()))).join("\n");
    expect(all).toContain("has_password");
    expect(all).not.toMatch(/whsec|canary-password|services\/T0/);
  });

  test("are not sent to another mail server than they were given for", async () => {
    const { admin, owner, put } = await fixture();
    const sink = await startSmtpSink();
    stops.push(sink.stop);
    const smtp = { host: "127.0.0.1", port: sink.port, tls: false, from: "gate@example.org", user: "gate" };
    expect((await put(owner, mailServer, { ...smtp, password: "canary-password" })).status).toBe(200);
    expect((await put(owner, mailServer, { ...smtp, from: "other@example.org" })).status).toBe(200);
    const moved = await put(owner, mailServer, { ...smtp, host: "localhost" });
    expect([moved.status, await moved.json()]).toMatchObject([400, { error: { param: "password" } }]);
    const id = await idOf(await admin.post(`${root}/channels`, { kind: "email", to: ["ops@example.org"] }));
    expect(await (await admin.post(`${root}/channels/${id}/test`)).json()).toMatchObject({ id, ok: true, error: null });
    expect(sink.mails).toMatchObject([{ from: "other@example.org", login: "gate canary-password" }]);
    expect(sink.mails[0]?.text).toContain("Subject: [modelgate] Test");
  });
});

describe("the routes of alerts", () => {
  test("add, test and delete a webhook, and record it in the audit log", async () => {
    const { admin, webhook } = await fixture();
    const id = await idOf(await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url, secret }));
    expect(await (await admin.post(`${root}/channels/${id}/test`)).json()).toMatchObject({ id, ok: true, error: null });
    expect(JSON.parse(webhook.requests[0]?.body ?? "")).toMatchObject({
      type: "test",
      alerts: [{ id: expect.stringMatching(/^alert_test_/), status: "firing", severity: "info" }],
    });
    webhook.answer(410);
    expect(await (await admin.post(`${root}/channels/${id}/test`)).json()).toMatchObject({
      id,
      ok: false,
      error: "The webhook answered 410",
    });
    expect(await (await admin.get(`${root}/channels`)).json()).toMatchObject({
      data: [{ id, label: new URL(webhook.url).origin, error: "The webhook answered 410" }],
    });
    expect((await admin.remove(`${root}/channels/${id}`)).status).toBe(200);
    expect((await admin.remove(`${root}/channels/${id}`)).status).toBe(404);
    const { data } = (await (await admin.get("/dashboard/api/admin/audit")).json()) as { data: { action: string }[] };
    expect(data.map(({ action }) => action).sort()).toEqual(["alert.channel", "alert.channel_delete"]);
  });

  test("set a rule within its range", async () => {
    const { admin, ada, put } = await fixture();
    const set = async (rule: string, threshold?: string) =>
      (await admin.post(`${root}/rules/${rule}`, { enabled: true, ...(threshold && { threshold }) })).status;
    expect(await set("wallet_low", "2.50")).toBe(200);
    expect(await set("wallet_low", "-1")).toBe(400);
    expect(await set("budget", "49")).toBe(400);
    expect(await set("disk_full", "101")).toBe(400);
    expect(await set("unknown")).toBe(404);
    const { data } = (await (await admin.get(`${root}/rules`)).json()) as { data: object[] };
    expect(data[0]).toEqual({
      id: "wallet_low",
      object: "organization.alert.rule",
      enabled: true,
      unit: "usd",
      threshold: "2.5",
    });
    expect((await put(ada, "/dashboard/api/alerts/rules/disk_full", { enabled: true })).status).toBe(404);
    expect((await put(ada, "/dashboard/api/alerts/rules/budget", { enabled: false })).status).toBe(200);
    const { data: entries } = (await (await admin.get("/dashboard/api/admin/audit")).json()) as { data: object[] };
    expect(entries).toMatchObject([
      { action: "alert.rule", subject: "wallet_low", detail: { enabled: true, threshold: "2.5" } },
    ]);
  });

  test("of account holders make nobody read copies of keys and accounts anew", async () => {
    const { ada, put, store } = await fixture();
    const before = store.revision;
    expect((await put(ada, "/dashboard/api/alerts/rules/budget", { enabled: false })).status).toBe(200);
    const added = await ada.post("/dashboard/api/alerts/webhooks", { url: "https://hooks.example.com/a" });
    expect(added.status).toBe(200);
    expect((await ada.remove(`/dashboard/api/alerts/channels/${await idOf(added)}`)).status).toBe(200);
    expect(store.revision).toBe(before);
  });

  test("refuse a webhook to which nothing could ever be sent, as account holders' to networks of the operator", async () => {
    const { admin, ada, webhook } = await fixture();
    const own = "/dashboard/api/alerts/webhooks";
    for (const url of [webhook.url, "http://hooks.example.org/", "https://10.0.0.1/", "https://[::1]/"]) {
      expect([url, (await ada.post(own, { url })).status]).toEqual([url, 400]);
    }
    for (const url of ["http://10.0.0.1/", "https://10.0.0.1/"]) {
      const refused = await admin.post(`${root}/channels`, { kind: "webhook", url });
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: "url" } }]);
    }
  });

  test("add, change and delete a custom rule, for what exists and within its metric", async () => {
    const { admin } = await fixture();
    const rule = {
      name: "Errors of Ada",
      metric: "error_rate",
      scope: "account",
      subject: "ada@example.org",
      comparison: "above",
      threshold: "5",
      minutes: 15,
    };
    const refused = async (change: object) => {
      const response = await admin.post(`${root}/metric_rules`, { ...rule, ...change });
      return [response.status, ((await response.json()) as { error: { param: string } }).error.param];
    };
    expect(await refused({ subject: "nobody@example.org" })).toEqual([400, "subject"]);
    expect(await refused({ scope: "model", subject: "gpt-none" })).toEqual([400, "subject"]);
    expect(await refused({ threshold: "101" })).toEqual([400, "threshold"]);
    expect(await refused({ minutes: 7 })).toEqual([400, "minutes"]);
    expect((await refused({ metric: "luck" }))[0]).toBe(400);
    const made = (await (await admin.post(`${root}/metric_rules`, rule)).json()) as { id: string; subject: string };
    expect(made).toMatchObject({ threshold: "5", unit: "percent", min_calls: 20, enabled: true });
    expect(made.subject).toStartWith("acc_");
    const spend = { ...rule, scope: "gateway", metric: "spend", threshold: "12.50", minutes: 1440, enabled: false };
    expect(await (await admin.post(`${root}/metric_rules/${made.id}`, spend)).json()).toMatchObject({
      id: made.id,
      unit: "usd",
      threshold: "12.5",
      enabled: false,
      subject: "",
    });
    const { data: rules } = (await (await admin.get(`${root}/metric_rules`)).json()) as { data: object[] };
    expect(rules).toMatchObject([{ id: made.id, metric: "spend" }]);
    expect((await admin.remove(`${root}/metric_rules/${made.id}`)).status).toBe(200);
    expect((await admin.remove(`${root}/metric_rules/${made.id}`)).status).toBe(404);
    const muted = `${root}/${encodeURIComponent("gateway wallet_low nobody")}`;
    expect((await admin.post(`${muted}/mute`, { hours: 1 })).status).toBe(404);
    expect((await admin.post(`${muted}/unmute`)).status).toBe(404);
  });

  test("refuse bad addresses, an eleventh channel and too many tests", async () => {
    const { admin, ada, webhook } = await fixture();
    for (const url of ["ftp://example.org/", "not an address", "https://user:pass@example.org/"]) {
      expect((await admin.post(`${root}/channels`, { kind: "webhook", url })).status).toBe(400);
    }
    expect((await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url, secret: "short" })).status).toBe(
      400,
    );
    expect(
      (await admin.post(`${root}/channels`, { kind: "email", to: ["a@b.example\r\nBcc: c@d.example"] })).status,
    ).toBe(400);
    const own = "/dashboard/api/alerts";
    expect((await ada.post(`${own}/emails`)).status).toBe(200);
    expect((await ada.post(`${own}/emails`)).status).toBe(409);
    const ids: string[] = [];
    for (let count = 0; count < 9; count++)
      ids.push(await idOf(await ada.post(`${own}/webhooks`, { url: "https://hooks.example.invalid/" })));
    expect((await ada.post(`${own}/webhooks`, { url: "https://hooks.example.invalid/" })).status).toBe(400);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count++) statuses.push((await ada.post(`${own}/channels/${ids[0]}/test`)).status);
    expect(statuses).toEqual([...Array(6).fill(200), 429]);
  });

  test("are limited for both base paths together", async () => {
    const { admin, webhook } = await fixture();
    const id = await idOf(await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url }));
    const statuses: number[] = [];
    for (const base of ["/v1", "/v1", "/v1", "/api/v1", "/api/v1", "/api/v1", "/api/v1", "/v1"]) {
      statuses.push((await admin.post(`${base}/organization/alerts/channels/${id}/test`)).status);
    }
    expect(statuses).toEqual([...Array(6).fill(200), 429, 429]);
  });
});

describe("a channel", () => {
  test("has the name that it was given, or one by its kind and host that no other channel has", async () => {
    const { admin, webhook } = await fixture();
    const { host } = new URL(webhook.url);
    const add = async (fields: object) => {
      const response = await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url, secret, ...fields });
      return (await response.json()) as { id: string; name: string };
    };
    const [first, second, third] = [await add({}), await add({}), await add({ name: "On call" })];
    expect([first.name, second.name, third.name]).toEqual([`Webhook ${host}`, `Webhook ${host} (2)`, "On call"]);
    const change = async (id: string, name: string | null) =>
      (await (await admin.post(`${root}/channels/${id}`, { name })).json()) as { name: string };
    expect((await change(second.id, "Night")).name).toBe("Night");
    expect((await change(third.id, null)).name).toBe(`Webhook ${host} (2)`);
    expect(await (await admin.get(`${root}/channels/${second.id}`)).json()).toMatchObject({ name: "Night" });
    await admin.remove(`${root}/channels/${second.id}`);
    const audit = await (await admin.get("/dashboard/api/admin/audit")).text();
    for (const name of ["On call", "Night"]) expect(audit).toContain(name);
  });

  test("that is a webhook gets a secret that its creation alone shows, and signs with it", async () => {
    const { admin, ada, webhook } = await fixture();
    const made = await (await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url })).json();
    const { id, secret: generated } = made as { id: string; secret: string };
    expect(generated).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    for (const path of [`${root}/channels/${id}`, `${root}/channels`]) {
      expect(await (await admin.get(path)).text()).not.toContain("whsec");
    }
    await admin.post(`${root}/channels/${id}/test`);
    const [request] = webhook.requests;
    const [messageId, time] = ["webhook-id", "webhook-timestamp"].map((name) => request?.headers[name]);
    const key = Buffer.from(generated.slice("whsec_".length), "base64");
    const expected = createHmac("sha256", key).update(`${messageId}.${time}.${request?.body}`).digest("base64");
    expect(request?.headers["webhook-signature"]).toBe(`v1,${expected}`);
    const chosen = await admin.post(`${root}/channels`, { kind: "webhook", url: webhook.url, secret });
    expect(await chosen.text()).not.toContain("whsec");
    const own = await ada.post("/dashboard/api/alerts/webhooks", {
      name: "Mine",
      url: "https://hooks.example.invalid/",
    });
    expect(await own.json()).toMatchObject({ name: "Mine", secret: expect.stringMatching(/^whsec_/) });
  });
});

describe("a channel of a service", () => {
  const routingKey = "0123456789abcdef0123456789abcdef";

  test("needs what its kind needs and nothing else, and no answer shows its secrets", async () => {
    const { admin, webhook } = await fixture();
    const add = async (body: object) => {
      const response = await admin.post(`${root}/channels`, body);
      const text = await response.text();
      expect(text).not.toMatch(/0123456789abcdef|T0/);
      return [response.status, (JSON.parse(text) as { error?: { param: string } }).error?.param];
    };
    const { url } = webhook;
    expect(await add({ kind: "pagerduty", routing_key: routingKey })).toEqual([200, undefined]);
    expect(await add({ kind: "pagerduty", routing_key: routingKey, url })).toEqual([200, undefined]);
    for (const kind of ["slack", "teams", "discord"]) {
      expect(await add({ kind, url })).toEqual([200, undefined]);
      expect(await add({ kind })).toEqual([400, "url"]);
      expect(await add({ kind, url, routing_key: routingKey })).toEqual([400, "routing_key"]);
      expect(await add({ kind, url, secret })).toEqual([400, "secret"]);
    }
    expect(await add({ kind: "pagerduty" })).toEqual([400, "routing_key"]);
    expect(await add({ kind: "pagerduty", routing_key: "short" })).toEqual([400, "routing_key"]);
    const short = await admin.post(`${root}/channels`, { kind: "pagerduty", routing_key: "short" });
    expect(await short.text()).toContain("a string of the form e93f… (32 letters or digits) was expected");
    expect(await add({ kind: "pagerduty", routing_key: routingKey, to: ["a@example.org"] })).toEqual([400, "to"]);
    expect(await add({ kind: "pagerduty", routing_key: routingKey, digest: "daily" })).toEqual([400, "digest"]);
    expect(await add({ kind: "discord", url: "http://10.0.0.1/" })).toEqual([400, "url"]);
    expect(await add({ kind: "slack", url, rules: ["wallet_lo"] })).toEqual([400, "rules"]);
    const list = await admin.get(`${root}/channels`);
    const { data } = (await list.json()) as { data: { kind: string; label: string }[] };
    expect(data.map(({ kind }) => kind)).toEqual(["pagerduty", "pagerduty", "slack", "teams", "discord"]);
    expect(data[0]?.label).toBe("https://events.pagerduty.com");
    const audit = await (await admin.get("/dashboard/api/admin/audit")).text();
    expect(audit).not.toMatch(/0123456789abcdef|T0/);
  });

  test("is changed in what it takes, field by field, and the change is audited", async () => {
    const { admin, webhook } = await fixture();
    const body = { kind: "slack", url: webhook.url, severity: "critical", digest: "weekly", digest_hour: 5 };
    const id = await idOf(await admin.post(`${root}/channels`, body));
    const change = async (fields: object) => (await admin.post(`${root}/channels/${id}`, fields)).json();
    const first = { rules: null, severity: "critical", digest: "weekly", digest_hour: 5 };
    expect(await change({})).toMatchObject(first);
    expect(await change({ rules: ["disk_full", "metric"] })).toMatchObject({
      ...first,
      rules: ["disk_full", "metric"],
    });
    expect(await change({ rules: null, severity: "info" })).toMatchObject({ ...first, severity: "info" });
    expect(await change({ digest: "off" })).toMatchObject({ ...first, severity: "info", digest: "off" });
    expect((await admin.post(`${root}/channels/${id}`, { digest_hour: 24 })).status).toBe(400);
    expect((await admin.post(`${root}/channels/${id}`, { url: webhook.url })).status).toBe(400);
    expect((await admin.post(`${root}/channels/ach_unknown`, {})).status).toBe(404);
    const { data } = (await (await admin.get("/dashboard/api/admin/audit")).json()) as { data: { action: string }[] };
    expect(data.filter(({ action }) => action === "alert.channel_change")).toHaveLength(4);
  });
});

describe("a custom rule relative to the same hours before", () => {
  const rule = {
    ...{ name: "Spend tripled", metric: "spend", scope: "gateway", comparison: "above", threshold: "3" },
    ...{ baseline_days: 7, minimum: "5.00", minutes: 1440, severity: "critical" },
  };

  test("has a minimum, whole hours and a number of times, and is in the configuration document", async () => {
    const { admin } = await fixture();
    const path = `${root}/metric_rules`;
    const paramOf = async (fields: object) => {
      const response = await admin.post(path, { ...rule, ...fields });
      return ((await response.json()) as { error?: { param: string } }).error?.param;
    };
    expect(await paramOf({ baseline_days: 3 })).toBe("baseline_days");
    expect(await paramOf({ minutes: 15 })).toBe("minutes");
    expect(await paramOf({ minimum: "" })).toBe("minimum");
    expect(await paramOf({ minimum: "0" })).toBe("minimum");
    expect(await paramOf({ threshold: "0" })).toBe("threshold");
    expect(await paramOf({ threshold: "1.255" })).toBe("threshold");
    expect(await paramOf({ baseline_days: 0 })).toBe("minimum");
    const made = (await (await admin.post(path, rule)).json()) as { id: string };
    expect(made).toMatchObject({ ...rule, minimum: "5", unit: "usd" });
    const document = await (await admin.get("/v1/organization/config")).json();
    const { alerts } = document as { alerts: { rule: string }[] };
    const entry = alerts.find((one) => one.rule === "metric");
    expect(entry).toMatchObject({ threshold: "3", baseline_days: 7, minimum: "5", severity: "critical" });
    const change = async (fields: object) => (await admin.post(`${path}/${made.id}`, fields)).json();
    expect(await change({ threshold: "1.5" })).toMatchObject({ threshold: "1.5", baseline_days: 7 });
    expect(await change({ baseline_days: 0 })).toMatchObject({ error: { param: "threshold" } });
    expect(await change({ baseline_days: 0, threshold: "9" })).toMatchObject({ threshold: "9", minimum: "" });
  });
});

describe("an alert of the gateway", () => {
  test("is listed while it is active and when it has ended, and muted and unmuted by its id", async () => {
    const { admin, store } = await fixture({ PUBLIC_URL: "https://gate.example.com" });
    const { row, id } = makeAlertRow("gateway circuit_open acme/model?x=1", { since_at: 5000, seen_at: Date.now() });
    await store.db.insertInto("alerts").values(row).execute();
    await store.db
      .insertInto("alert_history")
      .values(makePastAlertRow("past", { since_at: 5000, ended_at: 9000 }))
      .execute();
    const list = async (query: string) => ((await (await admin.get(root + query)).json()) as { data: object[] }).data;
    const subject = { type: "provider", id: "acme", name: "acme" };
    const about = { rule: "circuit_open", text: "acme fails", severity: "warning", subject };
    const facts = { object: "organization.alert", ...about, started_at: 5 };
    const origin = "https://gate.example.com";
    const none = { notified_at: null, muted: false, muted_until: null, page: "/admin/providers/acme" };
    const active = { state: "active", resolved_at: null, link: `${origin}/admin/providers/acme` };
    expect(await list("")).toEqual([{ id, ...active, ...facts, ...none }]);
    const ended = { state: "ended", resolved_at: 9, link: `${origin}/status` };
    expect(await list("?state=ended")).toEqual([{ id: "past", ...ended, ...facts, ...none, page: "/status" }]);
    expect((await admin.get(`${root}?state=all`)).status).toBe(400);
    const path = `${root}/${encodeURIComponent(id)}`;
    const muted = (await (await admin.post(`${path}/mute`, { hours: 2 })).json()) as { muted_until: number };
    expect(muted).toMatchObject({ id, muted: true });
    expect(muted.muted_until).toBeGreaterThan(5);
    expect(await (await admin.post(`${path}/mute`, { hours: null })).json()).toMatchObject({
      muted: true,
      muted_until: null,
    });
    expect((await admin.post(`${path}/mute`, {})).status).toBe(400);
    expect(await (await admin.post(`${path}/unmute`)).json()).toMatchObject({ id, muted: false });
    const { data } = (await (await admin.get("/dashboard/api/admin/audit")).json()) as { data: { action: string }[] };
    expect(data.map(({ action }) => action).sort()).toEqual(["alert.mute", "alert.mute", "alert.unmute"]);
  });
});

describe("a receiver of alerts", () => {
  test("that hangs delays no call", async () => {
    const { admin, send } = await fixture();
    const silent = await startRaw(() => undefined);
    stops.push(silent.stop);
    const id = await idOf(await admin.post(`${root}/channels`, { kind: "webhook", url: silent.baseUrl }));
    let isTested = false;
    const tested = admin.post(`${root}/channels/${id}/test`).then((response) => {
      isTested = true;
      return response.json();
    });
    const headers = { authorization: `Bearer ${goodKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: "chat-1", messages: [{ role: "user", content: "Hi" }] });
    const answer = await send("/v1/chat/completions", { method: "POST", headers, body });
    expect([answer.status, isTested]).toEqual([200, false]);
    await silent.stop();
    expect(await tested).toMatchObject({ id, error: expect.stringContaining("could not be reached") });
  });
});
