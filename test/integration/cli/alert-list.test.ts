import { expect, test } from "bun:test";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { makeAlertRow } from "../../support/alert-rows.ts";
import { benchNow, makeBench } from "./fixture.ts";

test("alert list shows the alerts that are firing with their ids, subjects and links, and as severe as is asked for", async () => {
  const bench = makeBench({ env: { PUBLIC_URL: "https://gate.example.com" } });
  expect((await bench.run("alert", "list")).stdout).toContain("No alert is firing");
  const store = await openStore({ file: getDatabaseFile(bench) });
  const times = { since_at: benchNow - 60_000, seen_at: benchNow };
  const [warning, critical] = [makeAlertRow("one", times), makeAlertRow("two", times)];
  await store.db
    .insertInto("alerts")
    .values([warning.row, { ...critical.row, severity: 2 }])
    .execute();
  const mute = { alert_id: "two", owner: "gateway", until_at: null, muted_by: "cli" };
  await store.db.insertInto("alert_mutes").values(mute).execute();
  await store.close();
  const all = {
    ...{ rule: "circuit_open", text: "acme fails", subject: { type: "provider", id: "acme", name: "acme" } },
    ...{ link: "https://gate.example.com/admin/providers/acme", notified_at: null },
    page: "/admin/providers/acme",
    started_at: "2026-11-21T09:59:00.000Z",
  };
  expect(await bench.json<object>("alert", "list")).toEqual([
    { id: warning.id, severity: "warning", muted: false, ...all },
    { id: critical.id, severity: "critical", muted: true, ...all },
  ]);
  const { stdout } = await bench.run("alert", "list", "--severity", "critical");
  expect(stdout).toMatch(/critical +2026-11-21 09:59 +provider acme +acme fails \(muted\)/);
  expect(stdout).not.toContain("warning");
  expect((await bench.run("alert", "list", "--severity", "urgent")).code).toBe(2);
  bench.remove();
});
