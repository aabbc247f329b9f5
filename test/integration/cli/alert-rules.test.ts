import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readAudit } from "../../../src/audit/index.ts";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { type Bench, makeBench } from "./fixture.ts";

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

const condition = ["--metric", "error_rate", "--comparison", "above", "--threshold", "5", "--minutes", "15"];
const create = ["alert-rule", "create", "--name", "errors", ...condition];

describe("alert-rule", () => {
  test("is about a team by its name, and says which teams have a name that several have", async () => {
    await bench.run("account", "create", "--email", "ada@example.org");
    await bench.run("account", "password", "ada@example.org");
    const team = ["team", "create", "--name", "Search", "--person", "ada@example.org"];
    const { id } = await bench.json<{ id: string }>(...team);
    const ofTeam = [...create, "--scope", "account", "--subject"];
    expect(await bench.json(...ofTeam, "Search")).toMatchObject({ scope: "account", subject: id });
    const unknown = await bench.run(...ofTeam, "Seek");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('There is no account "Seek" here')]);
    await bench.json(...team);
    expect((await bench.run(...ofTeam, "Search")).stderr).toContain('2 teams have the name "Search": ');
  });

  test("create, list, show, change and remove work on one rule, each with its audit entry", async () => {
    const made = await bench.json<{ id: string }>(...create, "--scope", "gateway");
    expect(made).toMatchObject({
      object: "organization.alert.metric_rule",
      name: "errors",
      subject: "",
      threshold: "5",
      unit: "percent",
      minutes: 15,
      min_calls: 20,
      enabled: true,
    });
    expect(await bench.json("alert-rule", "list")).toEqual([made]);
    const otherUnit = await bench.run("alert-rule", "change", made.id, "--metric", "spend");
    expect([otherUnit.code, otherUnit.stderr]).toEqual([2, expect.stringContaining("threshold is missing")]);
    const spend = ["--metric", "spend", "--threshold", "25.00", "--enabled", "no"];
    const changed = await bench.json("alert-rule", "change", made.id, ...spend);
    expect(changed).toEqual({ ...made, metric: "spend", threshold: "25", unit: "usd", enabled: false });
    expect(await bench.json("alert-rule", "show", made.id)).toEqual(changed);
    expect((await bench.run("alert-rule", "list")).stdout).toMatch(/ no +usd$/m);
    expect(await bench.json("alert-rule", "remove", made.id)).toEqual({ id: made.id, deleted: true });
    expect(await bench.json("alert-rule", "list")).toEqual([]);
    const store = await openStore({ file: getDatabaseFile(bench) });
    const { entries } = await readAudit(store, { subject: made.id });
    await store.close();
    expect(entries.map(({ action }) => action).sort()).toEqual([
      "alert.metric_rule",
      "alert.metric_rule",
      "alert.metric_rule_delete",
    ]);
  });

  test("change turns a rule off whose account is gone, and says of a new one that there is no such account", async () => {
    await bench.run("account", "create", "--email", "ada@example.org");
    const of = ["--scope", "account", "--subject", "ada@example.org"];
    const { id } = await bench.json<{ id: string }>(...create, ...of);
    const store = await openStore({ file: getDatabaseFile(bench) });
    await store.db.updateTable("metric_rules").set({ subject: "acc_gone" }).execute();
    await store.close();
    expect((await bench.run("alert-rule", "change", id, "--subject", "nobody@example.org")).code).toBe(2);
    const off = await bench.json("alert-rule", "change", id, "--enabled", "no");
    expect(off).toMatchObject({ scope: "account", subject: "acc_gone", enabled: false });
    expect((await bench.run("alert-rule", "change", id, "--threshold", "101")).code).toBe(2);
  });
});
