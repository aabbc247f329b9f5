import { describe, expect, test } from "bun:test";
import type { ForeignDatabase, ForeignRow } from "../../../../src/cli/import/foreign-database.bun.ts";
import schemas from "../../../../src/cli/import/foreign-schemas.json" with { type: "json" };
import { planLiteLlm } from "../../../../src/cli/import/litellm.ts";
import { deploymentRules, litellmTables, settingRules } from "../../../../src/cli/import/litellm-rules.ts";
import { Losses, type TableRules } from "../../../../src/cli/import/losses.ts";
import { newApiTables, planNewApi } from "../../../../src/cli/import/new-api.ts";
import type { DraftPlan } from "../../../../src/cli/import/plan.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { ModelNames } from "../../../../src/providers/index.ts";

/**
 * Each column of the newest schemas of the other gateways is used, harmless or noted. `bun run import:refresh` reads them anew; a
 * column that it finds fails here until somebody decides what it is.
 */

type World = Record<string, ForeignRow[]>;

const known = new ModelNames({
  plugins: [
    {
      name: "openai",
      models: ["gpt-one", "gpt-two"].map((name) => ({ id: name, upstreamId: name, premium: true }) as Model),
    },
  ],
  registry: { byName: () => undefined, virtualModels: new Map() },
} as never);

function databaseOf(world: World): ForeignDatabase {
  return {
    readTable: async (name) => world[name] ?? [],
    listTables: async () => Object.keys(world),
    countRows: async (name) => world[name]?.length ?? 0,
    close: async () => undefined,
  };
}

/** Everything of a plan that somebody could see. */
function describePlan({ losses, ...plan }: DraftPlan): { text: string; notes: string[]; held: string[] } {
  const held = [...new Set(plan.keys.flatMap(({ heldFor }) => heldFor))];
  const keys = plan.keys.map(({ heldFor: _, ...key }) => key);
  return { text: JSON.stringify({ ...plan, keys }), notes: losses.toNotes(), held };
}

const isList = (value: unknown) => Array.isArray(value);

/** A value that is not the default. */
function otherThan(standard: unknown): unknown {
  if (isList(standard)) return ["telling"];
  if (typeof standard === "object" && standard !== null) return { telling: 1 };
  if (typeof standard === "boolean") return !standard;
  return typeof standard === "number" ? standard + 7 : "7";
}

interface Case {
  readonly source: string;
  readonly tables: Readonly<Record<string, ForeignRow>>;
  readonly rules: Readonly<Record<string, TableRules & { readonly table: string }>>;
  readonly world: World;
  plan(world: World, accepted?: string[]): Promise<DraftPlan>;
  /** Values of columns that are used, where not every value tells; the first row is changed. */
  readonly telling: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const litellm: Case = {
  source: "litellm",
  tables: schemas.litellm.tables,
  rules: litellmTables,
  plan: async (world, accepted) => {
    const config = { model_list: [{ model_name: "one", litellm_params: { model: "openai/gpt-one" } }] };
    return await planLiteLlm(config, databaseOf(world), {
      ...{ known, manifests: {}, env: {}, losses: new Losses(accepted) },
    });
  },
  world: {
    LiteLLM_BudgetTable: [
      { budget_id: "b", max_budget: 50, budget_duration: "30d" },
      { budget_id: "c", max_budget: 40, budget_duration: "1d" },
    ],
    LiteLLM_ObjectPermissionTable: [{ object_permission_id: "p" }, { object_permission_id: "q", models: ["gpt-one"] }],
    LiteLLM_OrganizationTable: [
      { organization_id: "o", models: ["gpt-one", "gpt-three"] },
      { organization_id: "o2", models: ["gpt-two"] },
    ],
    LiteLLM_ProjectTable: [
      { project_id: "j", models: ["gpt-one", "gpt-two"] },
      { project_id: "j2", blocked: true },
    ],
    LiteLLM_TeamTable: [
      { team_id: "t", team_alias: "Search", organization_id: "o" },
      { team_id: "t2", team_alias: "Two" },
    ],
    LiteLLM_UserTable: [
      { user_id: "u", user_email: "ada@example.com", spend: 1 },
      { user_id: "v", user_email: "eve@example.com", rpm_limit: 5 },
    ],
    LiteLLM_TeamMembership: [{ user_id: "u", team_id: "t" }],
    LiteLLM_OrganizationMembership: [{ user_id: "u", organization_id: "o" }],
    LiteLLM_VerificationToken: [
      {
        ...{ token: "a".repeat(64), key_name: "sk-...1", team_id: "t", user_id: "u", project_id: "j", budget_id: "b" },
        object_permission_id: "p",
      },
      { token: "b".repeat(64), key_name: "sk-...2", user_id: "u" },
    ],
    LiteLLM_EndUserTable: [{ user_id: "customer" }],
    LiteLLM_TagTable: [{ tag_name: "tag" }],
    LiteLLM_ModelAccessGroupBudgetTable: [{ access_group_name: "group" }],
    LiteLLM_ProxyModelTable: [{ model_name: "two", litellm_params: { model: "openai/gpt-two" }, model_info: {} }],
    LiteLLM_Config: [{ param_name: "general_settings", param_value: { allowed_ips: ["10.0.0.1"] } }],
  },
  telling: {
    LiteLLM_VerificationToken: {
      ...{
        token: "c".repeat(64),
        team_id: "t2",
        user_id: "v",
        project_id: "j2",
        organization_id: "o2",
        budget_id: "c",
      },
      ...{
        object_permission_id: "q",
        models: ["gpt-two"],
        spend: 4,
        expires: "2030-01-01 00:00:00",
        key_type: "management",
      },
      ...{
        max_budget: 5,
        budget_duration: "1d",
        budget_limits: [{ max_budget: 3, budget_duration: "1d" }],
        blocked: true,
      },
      ...{
        model_max_budget: { "gpt-one": { max_budget: 2, budget_duration: "1d" } },
        allowed_routes: ["/v1/embeddings"],
      },
      metadata: { model_rpm_limit: { "gpt-one": 4 } },
    },
    LiteLLM_TeamTable: {
      ...{
        team_id: "t3",
        organization_id: "o2",
        object_permission_id: "q",
        models: ["gpt-one"],
        max_budget: 5,
        spend: 3,
      },
      ...{ budget_duration: "1d", budget_limits: [{ max_budget: 3, budget_duration: "1d" }], blocked: true },
      ...{ model_max_budget: { "gpt-one": { max_budget: 2, budget_duration: "1d" } } },
      ...{ metadata: { model_rpm_limit: { "gpt-one": 4 } } },
    },
    LiteLLM_UserTable: {
      ...{
        user_id: "w",
        object_permission_id: "q",
        models: ["gpt-one"],
        max_budget: 5,
        spend: 4,
        budget_duration: "1d",
      },
      ...{ user_email: "ben@example.com", metadata: { model_tpm_limit: { "gpt-one": 4 } } },
      ...{ model_max_budget: { "gpt-one": { max_budget: 2, budget_duration: "1d" } } },
    },
    LiteLLM_BudgetTable: {
      ...{ budget_id: "d", max_budget: 5, budget_duration: "1d", allowed_models: ["gpt-two"] },
      ...{ model_max_budget: { "gpt-one": { max_budget: 2, budget_duration: "1d" } } },
    },
    LiteLLM_ProjectTable: {
      ...{
        project_id: "j3",
        team_id: "t2",
        budget_id: "c",
        models: ["gpt-two"],
        blocked: true,
        object_permission_id: "q",
      },
      ...{ model_rpm_limit: { "gpt-one": 4 }, model_tpm_limit: { "gpt-one": 4 }, metadata: { news: 1 }, spend: 3 },
    },
    LiteLLM_OrganizationTable: {
      ...{ organization_id: "o3", budget_id: "c", models: ["gpt-two"], spend: 3, object_permission_id: "q" },
      metadata: { model_rpm_limit: { "gpt-one": 4 } },
    },
    LiteLLM_TeamMembership: { user_id: "v", team_id: "t2", spend: 3, budget_id: "c" },
    LiteLLM_OrganizationMembership: { user_id: "v", organization_id: "o2", spend: 3, budget_id: "c" },
    LiteLLM_ProxyModelTable: {
      ...{
        model_name: "three",
        litellm_params: { model: "openai/gpt-one" },
        model_info: { team_id: "t" },
        blocked: true,
      },
    },
    LiteLLM_Config: { param_name: "router_settings", param_value: { allowed_ips: ["10.0.0.2"] } },
  },
};

const newApi: Case = {
  source: "new-api",
  tables: schemas["new-api"].tables,
  rules: {
    tokens: { table: "tokens", ...newApiTables.tokens },
    users: { table: "users", ...newApiTables.users },
    channels: { table: "channels", ...newApiTables.channels },
  },
  plan: async (world, accepted) =>
    await planNewApi(databaseOf(world), { known, manifests: {}, losses: new Losses(accepted) }),
  world: {
    channels: [
      {
        ...{
          id: 1,
          type: 1,
          status: 1,
          key: "k1",
          name: "own",
          models: "gpt-one,gpt-three",
          base_url: "http://127.0.0.1:2",
        },
      },
      { ...{ id: 2, type: 1, status: 1, key: "k2", name: "vip", models: "gpt-two", group: "vip", priority: 1 } },
    ],
    users: [
      { id: 1, username: "ada", status: 1, quota: 500_000, group: "default" },
      { id: 2, username: "eve", status: 1 },
    ],
    tokens: [
      {
        id: 1,
        user_id: 1,
        key: "abc",
        status: 1,
        name: "app",
        expired_time: -1,
        unlimited_quota: true,
        model_limits: "gpt-one",
      },
    ],
    options: [],
  },
  telling: {
    tokens: {
      ...{
        user_id: 2,
        status: 2,
        expired_time: 1_900_000_000,
        unlimited_quota: false,
        allow_ips: "10.0.0.1",
        group: "vip",
      },
      ...{ model_limits_enabled: true, deleted_at: "2026-01-01" },
    },
    users: { status: 2, email: "ada@example.com", group: "vip", deleted_at: "2026-01-01" },
    channels: {
      ...{ type: 14, status: 2, base_url: "http://127.0.0.1:1", models: "gpt-two", group: "vip" },
      ...{
        model_mapping: '{"gpt-one":"gpt-two"}',
        channel_info: { is_multi_key: true, multi_key_status_list: { 0: 2 } },
      },
    },
  },
};

/** Columns that tell nothing by themselves, and the change of another with which they do. */
const together: Readonly<Record<string, ForeignRow>> = {
  "LiteLLM_VerificationToken.spend": { max_budget: 9, budget_id: null },
  "LiteLLM_VerificationToken.budget_duration": { max_budget: 9 },
  "LiteLLM_TeamTable.spend": { max_budget: 9 },
  "LiteLLM_TeamTable.budget_duration": { max_budget: 9 },
  "LiteLLM_UserTable.spend": { max_budget: 9 },
  "LiteLLM_UserTable.budget_duration": { max_budget: 9 },
  "LiteLLM_OrganizationTable.spend": { budget_id: "c" },
  "LiteLLM_ProjectTable.spend": { budget_id: "c" },
  "LiteLLM_TeamMembership.spend": { budget_id: "c" },
  "LiteLLM_TeamMembership.user_id": { budget_id: "c" },
  "LiteLLM_TeamMembership.team_id": { budget_id: "c" },
  "LiteLLM_OrganizationMembership.spend": { budget_id: "c" },
  "LiteLLM_OrganizationMembership.user_id": { budget_id: "c" },
  "LiteLLM_OrganizationMembership.organization_id": { budget_id: "c" },
  "LiteLLM_ObjectPermissionTable.object_permission_id": { models: ["gpt-one"] },
  "LiteLLM_Config.param_name": {},
  "tokens.remain_quota": { unlimited_quota: false },
  "tokens.model_limits": { model_limits_enabled: true },
};

describe.each([litellm, newApi])("the import from $source", ({ tables, rules, world, plan, telling }) => {
  const read = async (table: string, changes: ForeignRow, accepted?: string[]) => {
    const [first, ...others] = world[table] as ForeignRow[];
    return describePlan(await plan({ ...world, [table]: [{ ...first, ...changes }, ...others] }, accepted));
  };
  const columns = Object.entries(rules).flatMap(([name, { table }]) =>
    Object.keys(tables[table] as ForeignRow).map((column) => [name, column] as const),
  );

  test("knows each column of the newest schema", () => {
    const undecided = columns.filter(([name, column]) => {
      const { used, harmless, restricting = [], noted = [] } = rules[name] as TableRules;
      return [used, harmless, restricting, noted].flat().filter((one) => one === column).length !== 1;
    });
    expect(undecided).toEqual([]);
    const gone = Object.values(rules).flatMap(({ table, used, harmless, restricting = [], noted = [] }) =>
      [...used, ...harmless, ...restricting, ...noted].flatMap((column) => {
        return column in (tables[table] as object) || /^(created|updated)_/.test(column) ? [] : [`${table}.${column}`];
      }),
    );
    // Columns of versions before the newest.
    expect(gone).toEqual([]);
  });

  test.each(columns)("%s.%s is used, harmless or noted", async (name, column) => {
    const { table, used, harmless, restricting = [] } = rules[name] as Case["rules"][string];
    const standard = (tables[table] as ForeignRow)[column];
    const more = together[`${table}.${column}`] ?? {};
    const before = await read(table, more);
    const value = telling[table]?.[column] ?? otherThan(standard);
    const after = await read(table, { ...more, [column]: value });
    const place = `${name}.${column}`;
    if (used.includes(column)) expect(after).not.toEqual(before);
    else if (harmless.includes(column) || standard === "generated") expect(after).toEqual(before);
    else {
      const isRestricting = restricting.includes(column);
      expect(after.notes.filter((note) => note.startsWith(`${place} of 1 (`))).toHaveLength(1);
      expect(after.held).toEqual(isRestricting ? [place] : []);
      if (!isRestricting) return;
      const accepted = await read(table, { ...more, [column]: value }, [place]);
      expect([accepted.held, accepted.text]).toEqual([[], before.text]);
    }
  });

  test("a column that nobody has heard of is noted, and holds keys back where its name restricts", async () => {
    for (const [name, { table }] of Object.entries(rules)) {
      if (name === "config") continue;
      const after = await read(table, { nightly_limit: 0, favourite_colour: "blue", mood: null });
      const own = after.notes.filter((note) => /nightly_limit|favourite_colour|mood/.test(note));
      expect([name, own.map((note) => note.split(" of ")[0]).sort()]).toEqual([
        name,
        [`${name}.favourite_colour`, `${name}.nightly_limit`],
      ]);
      // What restricts a model leaves that model out, and a channel is none of its users.
      if (name !== "models" && name !== "channels")
        expect([name, after.held]).toEqual([name, [`${name}.nightly_limit`]]);
    }
  });
});

describe("the settings of LiteLLM", () => {
  const readWith = async (config: Record<string, unknown>) => {
    const losses = new Losses();
    const world = { ...litellm.world, LiteLLM_Config: [] };
    return describePlan(await planLiteLlm(config, databaseOf(world), { known, manifests: {}, env: {}, losses }));
  };

  test("each that restricts by its name is used, harmless or holds all keys back; each other is harmless or noted", async () => {
    const { notes: usual } = await readWith({ model_list: [] });
    for (const [part, names] of Object.entries(schemas.litellm.settings)) {
      const { used, harmless }: TableRules = settingRules[part as keyof typeof settingRules];
      const row = Object.fromEntries(names.map((name) => [name, "telling"]));
      const { notes, held } = await readWith({ model_list: [], [part]: row });
      for (const name of names) {
        const own = notes.filter((note) => note.startsWith(`${part}.${name} of 1 (settings)`));
        const isListed = used.includes(name as never) || harmless.includes(name as never);
        // Addresses that are none restrict to nothing.
        if (name === "allowed_ips") continue;
        expect([part, name, own.length]).toEqual([part, name, isListed ? 0 : 1]);
        const isRestricting = own[0]?.includes("all keys are revoked here") === true;
        expect([part, name, held.includes(`${part}.${name}`)]).toEqual([part, name, isRestricting]);
        if (/budget|block|allowed_|limit|routes|max_parallel/.test(name)) {
          expect([part, name, isListed || isRestricting]).toEqual([part, name, true]);
        }
      }
      expect(notes.length).toBeGreaterThan(usual.length);
      if (part === "general_settings") expect(held).toContain("general_settings.allowed_ips");
    }
  });

  test("what restricts one deployment leaves it out", async () => {
    const deployment = (litellm_params: object, model_info: object = {}) => ({
      ...{ model_name: "one", litellm_params: { model: "openai/gpt-one", ...litellm_params }, model_info },
    });
    const served = async (row: object) => {
      const { text } = await readWith({ model_list: [row] });
      return (JSON.parse(text) as DraftPlan).models.some(({ name }) => name === "one");
    };
    expect(await served(deployment({ rpm: 5, timeout: 3 }, { mode: "chat" }))).toBe(true);
    for (const [params, info] of [
      [{ max_budget: 5 }, {}],
      [{ budget_limit: 5 }, {}],
      [{}, { team_id: "t" }],
      [{}, { allowed_groups: ["a"] }],
    ] as const) {
      expect([params, info, await served(deployment(params, info))]).toEqual([params, info, false]);
    }
    expect(Object.keys(deploymentRules)).toEqual(["litellm_params", "model_info"]);
  });

  test("tables that nobody has heard of", async () => {
    const read = async (table: string) =>
      describePlan(await litellm.plan({ ...litellm.world, [table]: [{ id: 1 }, { id: 2 }] }));
    const unknown = await read("LiteLLM_PlanetTable");
    expect([
      unknown.held,
      unknown.notes.some((note) => note.startsWith("tables.LiteLLM_PlanetTable of 1 (2 rows)")),
    ]).toEqual([[], true]);
    expect((await read("LiteLLM_PlanetBudgets")).held).toEqual(["tables.LiteLLM_PlanetBudgets"]);
    // Those of the newest schema that restrict, and that the import does not read.
    const held: string[] = [];
    for (const table of schemas.litellm.otherTables) held.push(...(await read(table)).held);
    expect(held).toEqual([]);
  });
});

test("the options of new-api that restrict by their names are used, harmless or hold all tokens back", async () => {
  const read = async (key: string, value: string) =>
    describePlan(await newApi.plan({ ...newApi.world, options: [{ key, value }] }));
  expect((await read("UserMonthlyQuota", "5")).held).toEqual(["options.UserMonthlyQuota"]);
  expect((await read("BlockedWords", "false")).held).toEqual([]);
  expect((await read("QuotaForNewUser", "5")).held).toEqual([]);
  expect((await read("SystemName", "5")).notes).toEqual((await read("SystemName", "")).notes);
});

test("what is allowed by default and was turned off restricts, in whatever form a database says it", () => {
  const rules = { used: [], harmless: [] };
  for (const off of [false, 0, "0"]) {
    const row = { allowed_by_default: off, not_allowed_by_default: 0 };
    const defaults = { allowed_by_default: true, not_allowed_by_default: 0 };
    expect(new Losses().examine("keys", { row, owner: "Key app", rules, defaults })).toEqual([
      "keys.allowed_by_default",
    ]);
  }
});
