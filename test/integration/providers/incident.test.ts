import { describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { findRequests } from "../../../src/reports/index.ts";
import { until } from "../../support/until.ts";
import { call, engines, enter, manifestOf, open, provider, start, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";

async function startFailing(engine: keyof typeof engines) {
  const store = await (await open(engine))();
  const node = await start(store, { SECRETS_KEY: "a-secrets-key-of-thirty-two-characters" });
  const admin = await enter(store);
  const { send } = await useNode(node, admin.cookie);
  const acme = provider(key);
  const spare = provider(key);
  const row = (id: string) => ({ id, premium: false });
  const manifest = { ...manifestOf(acme.baseUrl), models: [row("acme/chat"), row("shared/chat")] };
  await send("POST", "/providers", { name: "acme", manifest, key });
  await send("POST", "/providers", { name: "spare", manifest: manifestOf(spare.baseUrl, "shared/chat"), key });
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  const readIncident = async (): Promise<any> => (await send("GET", "/providers/acme/incident")).json();
  return { store, node, admin, send, acme, readIncident };
}

describe.each(Object.keys(engines) as (keyof typeof engines)[])("the incident of a provider over %s", (engine) => {
  test("says since when, who is hit, what clients were answered and what has no other route; a recovery ends it, and a new failure begins another", async () => {
    const { store, node, admin, send, acme, readIncident } = await startFailing(engine);
    const other = await enter(store);
    expect((await call(node.origin, admin.key)).status).toBe(200);
    expect(await readIncident()).toMatchObject({
      object: "organization.provider.incident",
      state: "working",
      since: null,
      failing_since: null,
      calls: 1,
      failed_calls: 0,
      projects: [],
      answers: [],
      customer_text: null,
    });

    acme.answer.status = 500;
    const failedFrom = Math.floor(Date.now() / 1000);
    const statuses = [(await call(node.origin, admin.key)).status, (await call(node.origin, other.key)).status];
    const [status = 0] = statuses;
    expect(statuses).toEqual([status, status]);
    await until(async () => (await readIncident()).failed_calls === 2);
    const incident = await readIncident();
    expect(incident).toMatchObject({
      state: "failing",
      calls: 2,
      failed_calls: 2,
      calls_of_last_hour: 3,
      project_count: 2,
      answers: [{ status, code: "upstream_error", calls: 2 }],
      last_error: { status: 500, message: expect.stringContaining("broken"), model: "acme/chat" },
      reroutes: [],
    });
    expect(incident.failing_since).toBeWithin(failedFrom, failedFrom + 5);
    expect(incident.since).toBe(incident.failing_since);
    expect(incident.last_success_at).toBeLessThanOrEqual(incident.failing_since);
    expect(incident.models).toEqual([
      { id: "acme/chat", name: "acme/chat", calls: 2, failed_calls: 2, other_providers: [] },
      { id: "shared/chat", name: "shared/chat", calls: 0, failed_calls: 0, other_providers: ["spare"] },
    ]);
    expect(incident.projects.map(({ name }: { name: string }) => name).toSorted()).toEqual(
      [admin.email, other.email].toSorted(),
    );
    expect(incident.customer_text).toMatch(
      /^Since \d{4}-\d\d-\d\d \d\d:\d\d UTC, requests to acme\/chat have been failing: 2 of 2 requests \(100 %\) failed\./,
    );

    const reroute = { subject: "model", name: "acme/chat", to_model: "shared/chat", ends_in_seconds: 3600 };
    expect((await send("POST", "/reroutes", reroute)).status).toBe(200);
    const rerouted = await readIncident();
    expect(rerouted.reroutes).toMatchObject([{ subject: "model", name: "acme/chat", to_model: "shared/chat" }]);
    expect(rerouted.customer_text).toContain("UTC, shared/chat answers in their place.");
    await send("DELETE", `/reroutes/${rerouted.reroutes[0].id}`);

    acme.answer.status = 200;
    await until(async () => (await call(node.origin, admin.key)).headers.get("x-modelgate-route") === "acme");
    const recovered = await readIncident();
    expect(recovered.failing_since).toBeNull();
    expect(recovered.last_success_at).toBeGreaterThanOrEqual(incident.failing_since);

    await Bun.sleep(1100);
    acme.answer.status = 500;
    await call(node.origin, admin.key);
    const again = await readIncident();
    expect(again.failing_since).toBeGreaterThan(incident.failing_since);
  });
});

describe.each(Object.keys(engines) as (keyof typeof engines)[])("an outage over %s", (engine) => {
  test("hits the calls that are refused while the provider is paused, and no other refused calls", async () => {
    const { store, node, admin, send, acme, readIncident } = await startFailing(engine);
    const other = await enter(store);
    acme.answer.status = 500;
    let sent = 0;
    // Failures are counted for each account.
    for (const { key: apiKey } of [admin, other]) {
      await until(async () => {
        const response = await call(node.origin, apiKey);
        const text = await response.text();
        if (response.status !== 503) sent++;
        else expect(text).toContain("the gateway pauses acme;");
        return response.status === 503;
      });
    }
    expect(sent).toBeGreaterThan(0);
    await until(async () => (await readIncident()).failed_calls === sent + 2);
    const incident = await readIncident();
    expect(incident).toMatchObject({
      state: "failing",
      calls: sent + 2,
      failed_calls: sent + 2,
      refused_calls: 2,
      calls_of_last_hour: sent,
      project_count: 2,
      customer_text: expect.stringContaining(`: ${sent + 2} of ${sent + 2} requests (100 %) failed`),
    });
    expect(incident.answers).toContainEqual({ status: 503, code: "unavailable", calls: 2 });
    // The log finds the same requests, and none that failed elsewhere.
    expect((await call(node.origin, admin.key, "nobody/chat")).status).toBe(400);
    const listed = await findRequests(store, { incidentOf: "acme" }, { limit: 100 });
    expect(listed.requests.map(({ status }) => status).toSorted()).toEqual([...Array(sent).fill(500), 503, 503]);
    const ofSpare = await findRequests(store, { incidentOf: "spare" }, { limit: 100 });
    expect(ofSpare.requests).toEqual([]);
    expect(incident.projects.reduce((sum: number, hit: { failed_calls: number }) => sum + hit.failed_calls, 0)).toBe(
      sent + 2,
    );
    expect(incident.models[0]).toMatchObject({ id: "acme/chat", calls: sent + 2, failed_calls: sent + 2 });
    expect(await (await send("GET", "/providers/spare/incident")).json()).toMatchObject({ calls: 0, answers: [] });

    // Each provider that was paused counts, and none whose name is only alike, or that is in the message alone.
    const names = await store.db
      .selectFrom("calls")
      .select(["seq", "detail"])
      .where("error_code", "=", "unavailable")
      .execute();
    expect(names.map(({ detail }) => JSON.parse(detail ?? "{}").paused)).toEqual([["acme"], ["acme"]]);
    const [one, another] = names;
    const rewrite = (row: typeof one, paused: string[]) =>
      store.db
        .updateTable("call_rows")
        .set({ detail: JSON.stringify({ ...JSON.parse(row?.detail ?? "{}"), paused }) })
        .where("seq", "=", row?.seq ?? 0)
        .execute();
    await rewrite(one, ["acme-two", "my-acme"]);
    await rewrite(another, ["spare", "acme"]);
    expect(await readIncident()).toMatchObject({ calls: sent + 1, refused_calls: 1 });
  });
});

test("once the provider works again, the text and the figures are of its outage alone, from the first failure to the last", async () => {
  const { node, admin, send, acme, readIncident } = await startFailing("sqlite");
  for (let count = 0; count < 3; count++) expect((await call(node.origin, admin.key)).status).toBe(200);
  await Bun.sleep(1100);
  acme.answer.status = 500;
  const failedFrom = Math.floor(Date.now() / 1000);
  for (let count = 0; count < 2; count++) expect((await call(node.origin, admin.key)).ok).toBe(false);
  await until(async () => (await readIncident()).failed_calls === 2);
  const failing = await readIncident();
  expect(failing).toMatchObject({ state: "failing", calls: 2, counted_until: null });
  expect(failing.counted_from).toBeGreaterThanOrEqual(failedFrom);
  await Bun.sleep(1100);
  acme.answer.status = 200;
  const recoveredFrom = Date.now() / 1000;
  await until(async () => (await call(node.origin, admin.key)).ok);
  for (let count = 0; count < 20; count++) expect((await call(node.origin, admin.key)).status).toBe(200);
  expect((await send("POST", "/providers/acme/test", {})).status).toBe(200);
  await until(async () => (await readIncident()).calls_of_last_hour >= 26);
  const over = await readIncident();
  expect(over).toMatchObject({ state: "working", since: null, failing_since: null, calls: 2, failed_calls: 2 });
  expect(over.counted_from).toBe(failing.counted_from);
  expect(over.counted_until).toBeWithin(over.counted_from, recoveredFrom);
  expect(over.customer_text).toMatch(
    /^(At|From) \d{4}-\d\d-\d\d \d\d:\d\d( to [\d: -]+)? UTC, requests to acme\/chat failed: 2 of 2 \(100 %\)\. They work again\. Requests that failed can be sent again\.$/,
  );
});

test("an admin key that may not read usage is not told whose calls failed", async () => {
  const { store, node, admin, acme } = await startFailing("sqlite");
  acme.answer.status = 500;
  await call(node.origin, admin.key);
  const read = async (...scopes: string[]) => {
    const made = await createAdminKey(store, commandLine, { name: "test", scopes }, Date.now());
    const response = await fetch(`${node.origin}/v1/organization/providers/acme/incident`, {
      headers: { authorization: `Bearer ${made.key}` },
    });
    return { status: response.status, text: await response.text() };
  };
  const narrow = await read("providers:read");
  expect(JSON.parse(narrow.text)).toMatchObject({ projects: null, project_count: null });
  expect(narrow.text).not.toContain(admin.email);
  expect((await read("providers:read", "usage:read")).text).toContain(admin.email);
  expect((await read("usage:read")).status).toBe(403);
});

test("the status page calls a provider degraded whose calls succeed in part, and does not say that its models are away", async () => {
  const { node, admin, acme } = await startFailing("sqlite");
  const readStatus = async () => {
    const response = await fetch(`${node.origin}/dashboard/api/status`, { headers: { cookie: admin.cookie } });
    const { data } = (await response.json()) as { data: { provider: string; state: string; models: string[] }[] };
    return data.find((one) => one.provider === "acme");
  };
  acme.answer.status = 500;
  await call(node.origin, admin.key);
  expect(await readStatus()).toMatchObject({ state: "failing", failed_share: 1, models: ["acme/chat"] });
  acme.answer.status = 200;
  await call(node.origin, admin.key);
  expect(await readStatus()).toMatchObject({ state: "degraded", failed_share: 2 / 3, models: [] });
});
