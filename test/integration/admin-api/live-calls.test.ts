import { describe, expect, test } from "bun:test";
import type { Caller } from "../../../src/contract/index.ts";
import type { HttpDeps } from "../../../src/http/deps.ts";
import { type RemoteCall, remoteCallsMax } from "../../../src/ledger/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";
import { newCall } from "../../unit/kernel/support.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const none = { count: 0, calls: [] };

/** An administrator's look at the live calls, beside other processes that answer so. */
async function liveFixture(remoteCalls: HttpDeps["remoteCalls"]) {
  const { deps, enter, clock, log } = await dashboardHttp({}, undefined, undefined, { remoteCalls });
  const admin = await enter("admin@example.org", "admin");
  const accountId = admin.account.id;
  /** Has a call run here that has taken so long. */
  const run = (id: string, runningMs: number) => {
    const caller = { accountId, keyId: "key_1" };
    const call = newCall({ id, openedAt: clock.now() - runningMs, caller: caller as Caller });
    deps.loadShedder.startCall(deps.loadShedder.takeSlot("acct"), call);
    return call;
  };
  const openOf = (id: string, runningMs: number): RemoteCall => ({
    id,
    account_id: accountId,
    key_id: "key_2",
    model: "model-2",
    capability: "speech",
    opened_at: clock.now() - runningMs,
    hold_nanodollars: 2_500_000,
    node_id: "node-2",
  });
  const live = async () => (await admin.get("/v1/organization/live_calls")).json();
  return { run, openOf, live, log, admin, enter, store: deps.store };
}

describe("live calls of several processes", () => {
  test("are one list, longest running first, with null for unknown fields", async () => {
    const told = { count: 0, calls: [] as RemoteCall[] };
    const { run, openOf, live } = await liveFixture(async () => told);
    run("short", 100);
    run("long", 3000);
    Object.assign(told, { count: 2, calls: [openOf("there", 2000), openOf("ahead", -50)] });
    const { count, complete, data } = await live();
    expect([count, complete]).toEqual([4, true]);
    expect(data.map(({ id, elsewhere }: { id: string; elsewhere: boolean }) => [id, elsewhere])).toEqual([
      ["long", false],
      ["there", true],
      ["short", false],
      ["ahead", true],
    ]);
    expect(data[1]).toMatchObject({
      running_ms: 2000,
      project_email: "admin@example.org",
      api_key_id: "key_2",
      model: "model-2",
      capability: "speech",
      held_usd: "0.0025",
      process: "node-2",
      stream: null,
      provider: null,
      attempts: null,
      first_byte_ms: null,
    });
    expect(data[3].running_ms).toBe(0);
  });

  test("are ended by an administrator where they run, which the audit log says", async () => {
    const { run, openOf, live, admin, enter } = await liveFixture(async () => ({
      count: 1,
      calls: [openOf("there", 9)],
    }));
    const path = "/v1/organization/live_calls";
    const call = run("here", 5);
    const viewer = await enter("viewer@example.org", "viewer");
    await expectError(await viewer.remove(`${path}/here`), { status: 403 });
    await expectError(await admin.remove(`${path}/gone`), { status: 404, says: "may have ended" });
    expect(call.cancelReason).toBeUndefined();
    expect((await admin.remove(`${path}/here`)).status).toBe(200);
    expect(call.signal.aborted).toBe(true);
    expect(call.cancelError).toMatchObject({ code: "forbidden", status: 403 });
    const { data } = await (await admin.get("/dashboard/api/admin/audit?action=call")).json();
    expect(data).toMatchObject([{ action: "call.end", email: "admin@example.org", subject: "here" }]);
    expect((await live()).count).toBe(2);
  });

  test("of another process are ended there, which the audit log says", async () => {
    const { openOf, admin, store } = await liveFixture(async () => ({ count: 1, calls: [openOf("there", 9)] }));
    const ends: string[] = [];
    store.endCall = async (id) => void ends.push(id);
    expect((await admin.remove("/v1/organization/live_calls/there")).status).toBe(200);
    expect(ends).toEqual(["there"]);
    const { data } = await (await admin.get("/dashboard/api/admin/audit?action=call")).json();
    expect(data).toMatchObject([{ action: "call.end", subject: "there", detail: { model: "model-2" } }]);
  });

  test("are ended however many of another process have run for longer", async () => {
    const { openOf, admin, store } = await liveFixture(async (id) => ({
      count: 1,
      calls: [openOf(id ?? "longest", 9)],
    }));
    const ends: string[] = [];
    store.endCall = async (id) => void ends.push(id);
    expect((await admin.remove("/v1/organization/live_calls/newest")).status).toBe(200);
    expect(ends).toEqual(["newest"]);
  });

  test("of other processes are not said to have ended where the store does not answer", async () => {
    const { admin } = await liveFixture(async () => {
      throw new Error("There was no answer within 1000 ms");
    });
    await expectError(await admin.remove("/v1/organization/live_calls/there"), {
      status: 503,
      says: "does not answer",
    });
  });

  test("are listed up to 200 and counted beyond", async () => {
    const others = remoteCallsMax - 1;
    const told = { count: others, calls: [] as RemoteCall[] };
    const { run, openOf, live } = await liveFixture(async () => told);
    told.calls = Array.from({ length: others }, (_, index) => openOf(`there_${index}`, 1000));
    run("here", 2000);
    const whole = await live();
    expect([whole.count, whole.data.length, whole.data[0].id]).toEqual([200, 200, "here"]);
    run("later", 10);
    const cut = await live();
    expect([cut.count, cut.data.length, cut.data.at(-1).id]).toEqual([201, 200, "there_198"]);
  });

  test("are listed once, also one that was admitted here during the query", async () => {
    const { run, openOf, live } = await liveFixture(async () => {
      run("new", 5);
      return { count: 2, calls: [openOf("there", 20), openOf("new", 5)] };
    });
    const { count, data } = await live();
    expect([count, data.map(({ id }: { id: string }) => id)]).toEqual([2, ["there", "new"]]);
  });

  test("of this process are shown as incomplete when the others are unknown", async () => {
    let asked = 0;
    const { run, live, log } = await liveFixture(async () => {
      if (++asked === 1) throw new Error("There was no answer within 1000 ms");
      return none;
    });
    run("here", 5);
    expect(await live()).toMatchObject({ count: 1, complete: false, data: [{ id: "here", project_email: null }] });
    expect(await live()).toMatchObject({
      count: 1,
      complete: true,
      data: [{ id: "here", project_email: "admin@example.org" }],
    });
    expect(log.lines).toMatchObject([{ level: "warn", event: "calls_elsewhere_unknown" }]);
  });
});
