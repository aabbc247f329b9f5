import { afterEach, beforeEach, expect, test } from "bun:test";
import { budgetFields } from "../../../src/tenants/index.ts";
import { type Bench, benchNow, makeBench } from "./fixture.ts";

let bench: Bench;
beforeEach(async () => {
  bench = makeBench();
  await bench.run("account", "create", "--email", "ada@example.org");
});
afterEach(() => bench.remove());

const ofAda = ["--account", "ada@example.org"];
const week = 7 * 86_400_000;

test("a budget is created for an account, changed, raised until a time, listed and removed", async () => {
  const fields = ["--subject", "end_user", "--budget-usd", "5.00", "--budget-period", "day"];
  const made = await bench.json<{ id: string }>("budget", "create", ...ofAda, ...fields);
  expect(made).toMatchObject({
    ...{ account: "ada@example.org", subject: "end_user", name: null, api_key_id: null },
    ...{ budget_usd: "5", budget_period: "day", raise_usd: null, raise_until: null },
  });
  await bench.run("budget", "create", "--subject", "session", "--budget-usd", "2", "--budget-period", "session");
  const raised = await bench.json<object>("budget", "change", made.id, "--raise-usd", "10", "--raise-until", "7d");
  expect(raised).toMatchObject({ id: made.id, raise_usd: "10", raise_until: (benchNow + week) / 1000 });
  expect(await bench.json("budget", "show", made.id)).toEqual(raised);

  expect(await bench.json("budget", "list", ...ofAda)).toEqual([raised]);
  const all = await bench.json<object[]>("budget", "list");
  expect(all).toHaveLength(2);
  expect(all).toContainEqual(raised);
  expect(all).toContainEqual(expect.objectContaining({ account: null, subject: "session" }));
  const { stdout } = await bench.run("budget", "list");
  expect(stdout).toContain("raise until");
  expect(stdout).toContain(new Date(benchNow + week).toISOString());

  expect(await bench.json("budget", "change", made.id, "--raise-usd", "none", "--budget-usd", "6")).toMatchObject({
    ...{ budget_usd: "6", raise_usd: null, raise_until: null },
  });
  expect(await bench.json("budget", "remove", made.id)).toEqual({ id: made.id, deleted: true });
  expect(await bench.json("budget", "list", ...ofAda)).toEqual([]);
});

test("a model may have any of its names, and a name that no model has is kept with a warning", async () => {
  const fields = ["--subject", "model", "--budget-usd", "5", "--budget-period", "day"];
  const made = await bench.run("budget", "create", ...ofAda, ...fields, "--name", "acme-9", "--json");
  expect(JSON.parse(made.stdout)).toMatchObject({ name: "acme-9" });
  expect(made.stderr).toContain("Warning: ");
});

test.each([
  ["a subject that there is not", ["--subject", "planet", "--budget-usd", "5"], 'subject is "planet", but one of'],
  ["an amount that is none", ["--subject", "tag", "--budget-usd", "much"], 'budget_usd is "much", expected US dollars'],
  ["half a raise", ["--subject", "tag", "--budget-usd", "5", "--raise-usd", "1"], "raise_until"],
])("a budget with %s is refused with the reason, and nothing is made", async (_, flags, reason) => {
  const { code, stderr } = await bench.run("budget", "create", ...ofAda, ...flags, "--budget-period", "day");
  expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  expect(await bench.json("budget", "list")).toEqual([]);
});

test("every field of a budget is a flag of create, and every one that can be changed a flag of change", async () => {
  const flagsOf = async (verb: string) => {
    const { stdout } = await bench.run("budget", verb, "--help");
    return [...stdout.matchAll(/^ +--([a-z-]+)/gm)].map(([, flag]) => flag);
  };
  const toFlags = (isChosen: (field: object) => boolean) =>
    Object.entries(budgetFields).flatMap(([name, field]) => (isChosen(field) ? name.replaceAll("_", "-") : []));
  expect(await flagsOf("create")).toEqual(["account", ...toFlags(() => true), "json", "help"]);
  expect(await flagsOf("change")).toEqual([...toFlags((field) => "changes" in field), "json", "help"]);
});

test("a change without a field, and a budget that is not there, say so", async () => {
  const made = await bench.json<{ id: string }>(
    ...["budget", "create", ...ofAda, "--subject", "tag", "--budget-usd", "5", "--budget-period", "day"],
  );
  expect((await bench.run("budget", "change", made.id)).stderr).toContain("--budget-usd, --budget-period");
  for (const verb of ["show", "remove"]) {
    expect((await bench.run("budget", verb, "bud_0")).stderr).toBe("There is no budget bud_0\n");
  }
});
