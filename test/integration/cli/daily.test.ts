import { afterEach, beforeEach, expect, test } from "bun:test";
import { withStore } from "../../../src/cli/lib/with-store.ts";
import { readConfig } from "../../../src/config/index.ts";
import { figureColumns } from "../../../src/db/index.ts";
import { type Bench, benchNow, makeBench } from "./fixture.ts";

let bench: Bench;
beforeEach(async () => {
  bench = makeBench();
  await bench.run("account", "create", "--email", "ada@example.org", "--name", "Ada");
});
afterEach(() => bench.remove());

test("a team is created with one person as its first admin, and is found by its name", async () => {
  const flags = ["--name", "Search", "--person"];
  const early = await bench.run("team", "create", ...flags, "ada@example.org");
  expect([early.code, early.stderr]).toEqual([4, expect.stringContaining("invite its person first")]);
  await bench.run("account", "password", "ada@example.org");
  const team = await bench.json<{ id: string; name: string }>("team", "create", ...flags, "ada@example.org");
  expect(team.name).toBe("Search");
  expect(await bench.json("team", "list", team.id)).toMatchObject({
    people: [{ email: "ada@example.org", team_role: "admin", holder: false }],
  });
  expect((await bench.run("team", "create", ...flags, "nobody@example.org")).code).toBe(3);
});

test("a team is shown with its people, budgets, keys and last use, and says that it has no admin", async () => {
  await bench.run("account", "password", "ada@example.org");
  const { id } = await bench.json<{ id: string }>("team", "create", "--name", "Search", "--person", "ada@example.org");
  await bench.run("key", "create", "--account", id, "--name", "laptop");
  expect((await bench.run("team", "budget", id)).stdout).toBe(`${id} has no budget\n`);
  await bench.run("team", "budget", id, "--usd", "50", "--period", "week");
  const shown = await bench.json("team", "show", "Search");
  expect(shown).toMatchObject({
    ...{ id, name: "Search", balance_usd: "0", billed_afterwards: false, keys: 1, keys_in_force: 1 },
    ...{ last_used_at: null, without_admin: false },
    members: [{ email: "ada@example.org", team_role: "admin", disabled: false }],
    budgets: [
      {
        subject: "account",
        budget_usd: "50",
        budget_period: "week",
        used_usd: "0",
        resets_at: "2026-11-23T00:00:00.000Z",
      },
    ],
  });
  expect(await bench.json("account", "show", "Search")).toEqual(shown as never);
  expect(await bench.json("team", "budget", "Search")).toMatchObject([{ budget_usd: "50", used_usd: "0" }]);
  expect((await bench.run("team", "budget", "Search", "--period", "day")).code).toBe(2);
  const text = (await bench.run("team", "show", "Search")).stdout;
  for (const line of [/last_used_at +never/, /ada@example.org +admin/, /account +each +50 +week +0 /])
    expect(text).toMatch(line);
  await bench.run("account", "disable", "ada@example.org");
  const list = await bench.run("team", "list", "Search");
  expect(list.stdout).toMatch(/ada@example.org +admin +disabled/);
  expect(list.stdout).toContain("No admin can sign in");
  expect(await bench.json("team", "list", "Search")).toMatchObject({ without_admin: true });
  expect(await bench.json("account", "show", "ada@example.org")).toMatchObject({ without_admin: false });
});

test("the audit log is listed, newest first, by who did what to what", async () => {
  const { id } = await bench.json<{ id: string }>(
    ...["key", "create", "--account", "ada@example.org", "--name", "laptop"],
  );
  type Entry = { action: string; actor: string; subject: string };
  const all = await bench.json<Entry[]>("audit", "list");
  expect(all.map(({ action, actor }) => `${action} by ${actor}`).sort()).toEqual([
    "account.create by cli",
    "key.create by cli",
  ]);
  const ofKey = await bench.json<Entry[]>("audit", "list", "--action", "key", "--actor", "cli", "--limit", "1");
  expect(ofKey).toMatchObject([{ action: "key.create", detail: { name: "laptop" } }]);
  expect(JSON.stringify(ofKey)).toContain(id);
  const { stdout } = await bench.run("audit", "list", "--action", "account");
  expect(stdout).toContain("ada@example.org");
  expect((await bench.run("audit", "list", "--action", "nothing")).stdout).toContain("No entry fits");
  expect((await bench.run("audit", "list", "--limit", "1001")).code).toBe(2);
});

test("usage is told by account, model and others, for days that end today", async () => {
  await bench.run("account", "create", "--email", "bo@example.org");
  const idOf = async (email: string) => (await bench.json<{ id: string }>("account", "show", email)).id;
  const [ada, bo] = [await idOf("ada@example.org"), await idOf("bo@example.org")];
  const today = Math.floor(benchNow / 86_400_000) * 24;
  const used = [
    [ada, 0, "acme-1", 3, 2_500_000_000],
    [ada, 6, "acme-2", 1, 1_000_000_000],
    [bo, 7, "acme-1", 5, 9_000_000_000],
  ] as const;
  await withStore(readConfig({ MODELGATE_HOME: bench.home }), ({ store }) =>
    store.addUsage(
      used.flatMap(([account, daysAgo, model, requests, cost_nanodollars]) => {
        const sums: Record<string, number> = { requests, cost_nanodollars };
        const figures = figureColumns.map((name) => sums[name] ?? 0);
        const day = today - 24 * daysAgo;
        return [
          { key: [24, "call", day, account, "key1", model, "acme", 200, ""], figures },
          { key: [24, "call", day, "", "", model, "acme", 200, ""], figures },
          { key: [24, "key", day, account, "key1", "", "", 0, ""], figures },
        ];
      }),
    ),
  );
  const names = (json: Figures) => json.data.map(({ name, cost_usd, requests }) => [name, cost_usd, requests]);
  interface Figures {
    total: { cost_usd: string };
    data: { name: string; cost_usd: string; requests: number }[];
  }
  const week = await bench.json<Figures>("usage");
  expect(names(week)).toEqual([["ada@example.org", "3.5", 4]]);
  expect(week.total.cost_usd).toBe("3.5");
  expect(names(await bench.json<Figures>("usage", "--days", "8"))).toEqual([
    ["bo@example.org", "9", 5],
    ["ada@example.org", "3.5", 4],
  ]);
  const models = ["usage", "--by", "model", "--account", "ada@example.org"];
  expect(names(await bench.json<Figures>(...models))).toEqual([
    ["acme-1", "2.5", 3],
    ["acme-2", "1", 1],
  ]);
  expect((await bench.run(...models, "--limit", "1")).stdout.split("\n")).toHaveLength(6);
  const month = await bench.json<Figures & { from: string; until: string }>("usage", "--month", "2026-11");
  expect([month.from, month.until]).toEqual(["2026-11-01T00:00:00.000Z", new Date(benchNow).toISOString()]);
  expect(names(month)).toEqual([
    ["bo@example.org", "9", 5],
    ["ada@example.org", "3.5", 4],
  ]);
  const october = await bench.json<Figures & { until: string }>("usage", "--month", "2026-10");
  expect([october.until, october.data]).toEqual(["2026-11-01T00:00:00.000Z", []]);
  // Requests without a tag have no row.
  expect((await bench.run("usage", "--by", "tag")).stdout).toContain("in all, also without tag");
  expect((await bench.run(...models)).stdout).toMatch(/^in all {2}/m);
  expect(names(await bench.json<Figures>("usage", "--days", "1"))).toEqual([["ada@example.org", "2.5", 3]]);
  // Four days: 2.5 USD today, after 10 USD on the four days before; two days: none before.
  interface Compared {
    readonly total: { previous: { from: string; cost_usd: string; change_percent: { cost_usd: number | null } } };
    readonly data: { name: string; previous: { cost_usd: string; requests: number } }[];
  }
  const compared = await bench.json<Compared>("usage", "--compare", "--days", "4");
  expect(compared.total.previous).toMatchObject({ from: "2026-11-14T00:00:00.000Z", cost_usd: "10" });
  expect(compared.total.previous.change_percent.cost_usd).toBe(-75);
  expect(compared.data).toMatchObject([{ name: "ada@example.org", previous: { cost_usd: "1", requests: 1 } }]);
  const short = await bench.json<Compared>("usage", "--compare", "--days", "2", "--by", "model");
  expect(short.total.previous).toMatchObject({ cost_usd: "0", change_percent: { cost_usd: null } });
  expect((await bench.run("usage", "--compare", "--days", "4")).stdout).toMatch(/in all.*\$2\.5 +\$10 +−75\.0 %/);
  expect((await bench.run("usage", "--compare", "--days", "4")).stdout).toEndWith(
    "\n\n2026-11-18 00:00 until 2026-11-21 10:00 UTC; before: 2026-11-14 00:00 until 2026-11-17 11:00\n",
  );
  for (const wrong of [
    ["--by", "nothing"],
    ["--days", "0"],
    ["--days", "367"],
    ["--month", "2026-13"],
    ["--month", "2026-12"],
    ["--month", "2026-11", "--days", "7"],
    ["--limit", "201"],
  ]) {
    expect([wrong, (await bench.run("usage", ...wrong)).code]).toEqual([wrong, 2]);
  }
});

test("a change of a re-route without a flag names the flags that the command has", async () => {
  const { stderr } = await bench.run("reroute", "change", "rr_1");
  expect(stderr).toBe("Nothing to change, expected one of --to-model, --until\n");
});

test("usage shows what the free quota cost the operator, and requests that name no model", async () => {
  const { id } = await bench.json<{ id: string }>("account", "show", "ada@example.org");
  const day = Math.floor(benchNow / 86_400_000) * 24;
  const sums: Record<string, number> = { requests: 1, cost_nanodollars: 29_800, provider_cost_nanodollars: 29_800 };
  const figures = figureColumns.map((name) => sums[name] ?? 0);
  await withStore(readConfig({ MODELGATE_HOME: bench.home }), ({ store }) =>
    store.addUsage([
      { key: [24, "call", day, id, "key1", "", "acme", 200, ""], figures },
      { key: [24, "call", day, "", "", "", "acme", 200, ""], figures },
    ]),
  );
  const { stdout } = await bench.run("usage", "--by", "model");
  expect(stdout).toMatch(/^– +\$0\.0000298 +\$0\.0000298 +−\$0\.0000298 +–/m);
  expect(stdout).not.toContain("$-");
});

test("a list of keys without a match does not say that there are none, and a check of a wrong port names PORT", async () => {
  const empty = makeBench({ env: { PORT: "1" } });
  for (const email of ["ada@example.org", "bo@example.org"]) await empty.run("account", "create", "--email", email);
  expect((await empty.run("key", "list")).stdout).toStartWith("No keys yet");
  await empty.run("key", "create", "--account", "ada@example.org", "--name", "one");
  expect((await empty.run("key", "list", "--made-by", "bo@example.org")).stdout).toBe("No key fits\n");
  expect((await empty.run("key", "list", "--account", "bo@example.org")).stdout).toBe("No key fits\n");
  const { code, stdout } = await empty.run("health");
  expect([code, stdout]).toEqual([1, expect.stringContaining("set HOST and PORT as it has them")]);
  empty.remove();
});
