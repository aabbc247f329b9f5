import { createHash } from "node:crypto";
import { isNetwork } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { ModelNames } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { type ForeignDatabase, type ForeignRow, flagOf, readNumber, textOf } from "./foreign-database.bun.ts";
import schemas from "./foreign-schemas.json" with { type: "json" };
import {
  callingKeyTypes,
  callingRoutes,
  deploymentRules,
  harmlessTables,
  type LiteLlmTable,
  litellmTables,
  managingRoutes,
  metadataRules,
  settingRules,
} from "./litellm-rules.ts";
import type { Losses } from "./losses.ts";
import {
  type DraftAccount,
  type DraftKey,
  type DraftPlan,
  type PlannedModel,
  type PlannedProvider,
  type Rates,
  readEmail,
  toBudget,
  toNanodollars,
  toPricedRow,
  toRates,
} from "./plan.ts";
import { createListReader, planModel } from "./plan-model.ts";
import {
  both,
  type PlannedBudget,
  type PlannedModelLimits,
  type Restriction,
  share,
  unrestricted,
} from "./restrictions.ts";

/** LiteLLM's names of providers, each with the plugin or the ready manifest here for the same provider. */
const plugins: Readonly<Record<string, string>> = {
  openai: "openai",
  text_completion_openai: "openai",
  anthropic: "anthropic",
  gemini: "gemini",
  groq: "groq",
  together_ai: "together",
  azure: "azure",
  azure_ai: "azure",
  bedrock: "bedrock",
  bedrock_converse: "bedrock",
  vertex_ai: "vertex",
  vertex_ai_beta: "vertex",
  sarvam: "sarvam",
  deepseek: "deepseek",
  mistral: "mistral",
  fireworks_ai: "fireworks",
  openrouter: "openrouter",
  xai: "xai",
  ollama: "ollama",
  ollama_chat: "ollama",
  hosted_vllm: "vllm",
  vllm: "vllm",
  lm_studio: "lm-studio",
};
/** Their keys have several fields, which the file has under names of its own. */
const clouds = new Set(["azure", "bedrock", "vertex"]);

interface Reading {
  readonly known: ModelNames;
  readonly manifests: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly losses: Losses;
}

/** Rows of a file for one provider. */
interface Gathered {
  manifest?: Record<string, unknown>;
  readonly rows: Map<string, object>;
  readonly keys: Set<string>;
}

/** Reads a `config.yaml`, and LiteLLM's database if one is given. @throws {UsageError} If the file is not LiteLLM's. */
export async function planLiteLlm(
  config: unknown,
  database: ForeignDatabase | undefined,
  reading: Reading,
): Promise<DraftPlan> {
  if (!isRecord(config))
    throw new UsageError("The file is not a configuration of LiteLLM: expected YAML with model_list");
  const { losses } = reading;
  const tables = await readTables(database, losses);
  const deployments = [...toRows(config.model_list), ...readStoredModels(tables.models, losses)];
  const { models, providers, readList, targetsOf } = planModels(deployments, config, reading);
  const gateway = readSettings(config, tables.config, losses);
  gateway.heldFor.push(...(await examineOtherTables(database, tables, losses)));
  const people =
    database === undefined ? { accounts: [], keys: [] } : planPeople(tables, { readList, targetsOf, losses, gateway });
  return { source: "litellm", models, providers, ...people, losses };
}

function toRows(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

type Tables = Readonly<Record<LiteLlmTable, readonly ForeignRow[]>>;

async function readTables(database: ForeignDatabase | undefined, losses: Losses): Promise<Tables> {
  const names = Object.keys(litellmTables) as LiteLlmTable[];
  const rows = await Promise.all(
    names.map(async (name) => (await database?.readTable(litellmTables[name].table)) ?? []),
  );
  const tables = Object.fromEntries(names.map((name, place) => [name, rows[place]])) as unknown as Tables;
  if (database !== undefined && tables.keys.length + tables.teams.length + tables.users.length === 0) {
    losses.note("The database has no keys, teams and users of LiteLLM");
  }
  return tables;
}

/** Defaults of the columns of a table, by LiteLLM's newest schema. */
function defaultsOf(name: LiteLlmTable): ForeignRow | undefined {
  return (schemas.litellm.tables as Readonly<Record<string, ForeignRow>>)[litellmTables[name].table];
}

/**
 * Examines the tables that are not read for accounts and keys. A restriction in them applies to everybody, or to people
 * that this import cannot identify.
 *
 * @returns Names of the restrictions that hold all keys back.
 */
async function examineOtherTables(
  database: ForeignDatabase | undefined,
  tables: Tables,
  losses: Losses,
): Promise<string[]> {
  const holds: string[] = [];
  const effect = "all keys are revoked here";
  for (const name of ["end_users", "tags", "model_access_groups"] as const) {
    for (const row of tables[name]) {
      const owner = String(row.user_id ?? row.tag_name ?? row.access_group_name);
      holds.push(
        ...losses.examine(name, { row, owner, rules: litellmTables[name], defaults: defaultsOf(name), effect }),
      );
    }
  }
  const read = new Set<string>(Object.values(litellmTables).map(({ table }) => table));
  for (const table of (await database?.listTables()) ?? []) {
    if (read.has(table) || harmlessTables.test(table)) continue;
    const count = await (database as ForeignDatabase).countRows(table);
    if (count === 0) continue;
    const isRestricting = /budget|limit|block|quota|restrict/i.test(table);
    if (losses.lose(`tables.${table}`, `${count} rows`, { isRestricting, effect })) holds.push(`tables.${table}`);
  }
  return holds;
}

/** Models that were added while it ran. Their fields are encrypted by LITELLM_SALT_KEY, also the name of the model. */
function readStoredModels(rows: readonly ForeignRow[], losses: Losses): ForeignRow[] {
  const used = rows.filter((row) => {
    if (flagOf(row.blocked, true)) losses.note(`${row.model_name} is blocked there, and left out`);
    const effect = "these models are left out";
    const rules = litellmTables.models;
    const { model_name: owner } = row;
    const holds = losses.examine("models", {
      row,
      owner: String(owner),
      rules,
      defaults: defaultsOf("models"),
      effect,
    });
    return !flagOf(row.blocked, true) && holds.length === 0;
  });
  const plain = used.filter(
    ({ litellm_params: params }) => isRecord(params) && /^[\w.-]+\//.test(String(params.model)),
  );
  const sealed = used.length - plain.length;
  if (sealed > 0) {
    losses.note(
      `${sealed} models in the database are encrypted by LITELLM_SALT_KEY: add them on the page Models and prices, or to the file first`,
    );
  }
  return plain.map((row) => ({ ...row }));
}

function planModels(
  deployments: readonly Record<string, unknown>[],
  config: Record<string, unknown>,
  { known: knownModels, manifests, env, losses }: Reading,
) {
  const { note } = losses;
  const providers = new Map<string, Gathered>();
  const providerOf = (name: string) => {
    const made: Gathered = providers.get(name) ?? { rows: new Map(), keys: new Set() };
    providers.set(name, made);
    return made;
  };
  const groups = new Map<
    string,
    { targets: { model: string; weight?: number | undefined }[]; theirs?: Rates | undefined }
  >();
  const added = new Map<string, Rates | undefined>();
  for (const row of deployments) {
    const params = isRecord(row.litellm_params) ? row.litellm_params : {};
    const [group, full] = [textOf(row.model_name), textOf(params.model)];
    if (group === undefined || full === undefined) continue;
    const slash = full.indexOf("/");
    const [provider, upstream] = slash === -1 ? ["openai", full] : [full.slice(0, slash), full.slice(slash + 1)];
    if (examineDeployment(row, group, losses).length > 0) continue;
    if (upstream === "*" || group.includes("*")) {
      note(`${group} sells every model of ${provider}: see "Unlisted models" in docs/models.md`);
      continue;
    }
    const plugin = plugins[provider];
    const theirs = toTheirs(params, row.model_info);
    const entry = groups.get(group) ?? { targets: [] };
    groups.set(group, { targets: entry.targets, theirs: entry.theirs ?? theirs });
    const key = readKey(params.api_key, env, (variable) =>
      note(`${group}: ${variable} is not set here, so the key of its provider is missing`),
    );
    const weight = readNumber(params.weight);
    const baseUrl = textOf(params.api_base);
    const isCustom = baseUrl !== undefined && plugin !== undefined && !clouds.has(plugin);
    if (isCustom || (plugin === undefined && baseUrl !== undefined)) {
      const dialect = provider === "anthropic" ? "anthropic" : "openai";
      const name = `litellm-${slugOf(baseUrl as string)}`;
      const made = providerOf(name);
      const id = `${name}/${upstream}`;
      made.manifest ??= { name, baseUrl: baseUrl as string, dialect, credential: key === undefined ? "none" : "key" };
      // LiteLLM takes the price of its own list by the name of the model, also where the address is another.
      const same = plugin === undefined ? undefined : knownModels.findAtProvider(upstream, plugin);
      made.rows.set(id, { id, upstreamId: upstream, ...toPricedRow(theirs, same) });
      if (theirs === undefined) {
        const price =
          same?.price === undefined
            ? "it draws on the free quota until you set one"
            : `it has the price of ${getDisplayName(same)}`;
        note(`${group} has no price in the file: ${price}`);
      }
      if (key !== undefined) made.keys.add(key);
      added.set(id, theirs ?? (same && toRates(same)));
      entry.targets.push({ model: id, weight });
      continue;
    }
    const model =
      plugin === undefined
        ? undefined
        : (knownModels.findAtProvider(upstream, plugin) ?? knownModels.findAtProvider(upstream));
    if (plugin === undefined || model === undefined) {
      note(`${group}: ${full} is not served here; add its provider first (docs/providers.md)`);
      continue;
    }
    entry.targets.push({ model: model.id, weight });
    if (clouds.has(plugin)) {
      note(`${group}: set the credential of ${plugin} (docs/providers.md, Clouds)`);
      continue;
    }
    if (manifests[plugin] !== undefined) providerOf(plugin).manifest ??= { ...(manifests[plugin] as object) };
    if (key !== undefined) providerOf(plugin).keys.add(key);
  }
  const settings = isRecord(config.router_settings) ? config.router_settings : {};
  const named = isRecord(settings.model_group_alias) ? settings.model_group_alias : {};
  for (const [alias, target] of Object.entries(named)) {
    const group = groups.get(isRecord(target) ? String(target.model) : String(target));
    if (group !== undefined) groups.set(alias, group);
  }
  addFallbacks(groups, [config.litellm_settings, settings], note);
  const models = [...groups].map(([name, { targets, theirs }]) =>
    planModel(name, targets, { known: knownModels, theirs, added }),
  );
  const planned: PlannedProvider[] = [...providers].map(([name, { manifest, rows, keys }]) => ({
    name,
    manifest: manifest && (rows.size === 0 ? manifest : { ...manifest, models: [...rows.values()] }),
    keys: [...keys],
  }));
  return {
    models,
    providers: planned.filter((one) => one.manifest || one.keys.length > 0),
    readList: createListReader(knownModels, models, note),
    targetsOf: toTargets(models, knownModels),
  };
}

/** A restriction of a deployment leaves it out: here everybody could call it. @returns The names of that. */
function examineDeployment(row: ForeignRow, group: string, losses: Losses): string[] {
  const effect = "these models are left out";
  return (["litellm_params", "model_info"] as const).flatMap((part) => {
    const fields = row[part];
    if (!isRecord(fields)) return [];
    return losses.examine(`models.${part}`, { row: fields, owner: group, rules: deploymentRules[part], effect });
  });
}

/** The ids of the models that serve a name; none for a name that nothing here serves. */
function toTargets(models: readonly PlannedModel[], knownModels: ModelNames): (name: string) => string[] {
  const targets = new Map(models.map((planned) => [planned.name, planned.targets.map(({ model }) => model)]));
  return (name) => [...new Set(targets.get(name) ?? [knownModels.findAtProvider(name)?.id ?? []].flat())];
}

/** Fallbacks are members of the virtual model behind its own. */
function addFallbacks(
  groups: Map<string, { targets: { model: string; weight?: number | undefined }[] }>,
  settings: readonly unknown[],
  note: (message: string) => void,
): void {
  for (const part of settings) {
    if (!isRecord(part)) continue;
    for (const field of ["fallbacks", "context_window_fallbacks"]) {
      for (const [name, others] of toRows(part[field]).flatMap(Object.entries)) {
        const group = groups.get(name);
        const targets = (Array.isArray(others) ? others : []).flatMap(
          (other) => groups.get(String(other))?.targets ?? [],
        );
        if (group === undefined || targets.length === 0) note(`The ${field} of ${name} name models that are not here`);
        else
          group.targets.push(
            ...targets.map(({ model }) => ({ model, weight: group.targets.some(hasWeight) ? 0 : undefined })),
          );
      }
    }
  }
}

function hasWeight({ weight }: { weight?: number | undefined }): boolean {
  return weight !== undefined;
}

function toTheirs(params: Record<string, unknown>, info: unknown): Rates | undefined {
  const from = isRecord(info) ? { ...info, ...params } : params;
  const [input, output] = [readNumber(from.input_cost_per_token), readNumber(from.output_cost_per_token)];
  if (input === undefined && output === undefined) return undefined;
  return { input: (input ?? 0) * 1_000_000, output: (output ?? 0) * 1_000_000 };
}

/** `os.environ/NAME` is read from this environment. */
function readKey(value: unknown, env: Reading["env"], onMissing: (variable: string) => void): string | undefined {
  const text = textOf(value);
  const variable = /^os\.environ\/(\w+)$/.exec(text ?? "")?.[1];
  if (variable === undefined) return text;
  const secret = textOf(env[variable]);
  if (secret === undefined) onMissing(variable);
  return secret;
}

function slugOf(baseUrl: string): string {
  const { hostname, port, pathname } = URL.parse(baseUrl) ?? { hostname: baseUrl, port: "", pathname: "" };
  const words = `${hostname}-${port}-${pathname}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return words.replaceAll(/^-|-$|-v1-?$/g, "").slice(0, 40) || "server";
}

/** Restrictions of all keys by the settings. */
interface GatewaySettings {
  /** Names of the restrictions that hold all keys back. */
  readonly heldFor: string[];
  /** Networks that may call LiteLLM; absent: any. */
  readonly networks: readonly string[] | undefined;
  /** Whether the budgets of users bind their keys in teams too. */
  readonly appliesUserBudgets: boolean;
}

/** Settings of the file, and those that were saved in the database, which come before it. */
function readSettings(config: Record<string, unknown>, stored: readonly ForeignRow[], losses: Losses): GatewaySettings {
  const effect = "all keys are revoked here";
  const heldFor: string[] = [];
  const saved = new Map(stored.map(({ param_name: name, param_value: value }) => [String(name), toObject(value)]));
  const parts: Record<string, Record<string, unknown>> = {};
  for (const [name, rules] of Object.entries(settingRules)) {
    const part = { ...toObject(config[name]), ...saved.get(name) };
    parts[name] = part;
    heldFor.push(...losses.examine(name, { row: part, owner: "settings", rules, effect }));
  }
  const others = { ...config, ...Object.fromEntries([...saved].filter(([name]) => !(name in config))) };
  const used = ["model_list", ...Object.keys(settingRules), "guardrails", "mcp_servers", "environment_variables"];
  heldFor.push(...losses.examine("file", { row: others, owner: "settings", rules: { used, harmless: [] }, effect }));
  const { litellm_settings: settings = {}, general_settings: general = {} } = parts;
  for (const name of ["callbacks", "success_callback", "cache", "content_policy_fallbacks"]) {
    if (settings[name] !== undefined && settings[name] !== null) {
      losses.note(`litellm_settings.${name} has no counterpart here`);
    }
  }
  for (const name of ["guardrails", "mcp_servers"]) {
    if (config[name] !== undefined) losses.note(`${name} are not carried over`);
  }
  if (general.master_key !== undefined && general.master_key !== null) {
    losses.note("The master key is not imported: create keys that manage the gateway with modelgate admin-key create");
  }
  const networks = Array.isArray(general.allowed_ips) ? general.allowed_ips.map(String) : undefined;
  const isUsable = networks?.every(isNetwork) ?? general.allowed_ips == null;
  if (!isUsable && losses.lose("general_settings.allowed_ips", "settings", { effect })) {
    heldFor.push("general_settings.allowed_ips");
  }
  return {
    heldFor,
    networks: isUsable && networks !== undefined && networks.length > 0 ? networks : undefined,
    appliesUserBudgets: flagOf(general.apply_user_budget_to_team_keys, true),
  };
}

/** An object, also one that the database has as text. */
function toObject(value: unknown): Record<string, unknown> {
  const parsed = typeof value === "string" ? parseJson(value, "file") : value;
  return isRecord(parsed) ? parsed : {};
}

/** How lists of accounts and keys name models, and what the settings say about all keys. */
interface Naming {
  readonly readList: (names: readonly string[]) => string[];
  readonly targetsOf: (name: string) => string[];
  readonly losses: Losses;
}

/** A key on its way into the plan. */
interface Draft {
  readonly row: ForeignRow;
  readonly name: string;
  readonly account: string;
  restriction: Restriction;
  readonly heldFor: Set<string>;
}

/** Plans teams, users and keys. Their spending counts in budgets; past calls are not imported. */
function planPeople(
  tables: Tables,
  { gateway, ...naming }: Naming & { gateway: GatewaySettings },
): { accounts: DraftAccount[]; keys: DraftKey[] } {
  const { losses } = naming;
  const budgets = new Map(tables.budgets.map((row) => [row.budget_id, row]));
  const permissions = new Map(tables.object_permissions.map((row) => [row.object_permission_id, row]));
  /** Restrictions of an owner, and the names of those that cannot be carried over. */
  const read = (name: LiteLlmTable, row: ForeignRow, owner: string) => {
    const budget = budgets.get(row.budget_id as string);
    const heldFor = examineOwner(name, row, owner, losses);
    if (budget !== undefined) heldFor.push(...examineTable("budgets", budget, owner, losses));
    const permission = permissions.get(row.object_permission_id as string);
    if (permission !== undefined) heldFor.push(...examineTable("object_permissions", permission, owner, losses));
    return { restriction: readRestriction(row, budget, owner, naming), heldFor };
  };
  const accounts = new Map<string, DraftAccount>();
  const heldFor = new Map<string, readonly string[]>();
  for (const row of tables.teams) {
    const ref = `team:${row.team_id}`;
    const name = textOf(row.team_alias) ?? String(row.team_id);
    const { restriction, heldFor: holds } = read("teams", row, `Team ${name}`);
    heldFor.set(ref, holds);
    accounts.set(ref, { ref, name: name.slice(0, 200), restriction, creditNanodollars: 0 });
  }
  const ofUser = new Map<string, { restriction: Restriction; heldFor: readonly string[] }>();
  const ownKeys = new Set(
    tables.keys.filter(({ team_id: team }) => textOf(team) === undefined).map((row) => row.user_id),
  );
  for (const row of tables.users) {
    const id = String(row.user_id);
    const email = readEmail(row.user_email, `The user ${id}`, losses.note);
    const name = textOf(row.user_alias) ?? email ?? id;
    const user = read("users", row, `User ${name}`);
    ofUser.set(id, user);
    if (email === undefined && !ownKeys.has(id)) continue;
    const ref = `user:${id}`;
    heldFor.set(ref, user.heldFor);
    accounts.set(ref, { ref, name: name.slice(0, 200), email, restriction: user.restriction, creditNanodollars: 0 });
  }
  const drafts = tables.keys.map((row): Draft => {
    const [team, user] = [`team:${row.team_id}`, `user:${row.user_id}`];
    const account = accounts.has(team) ? team : accounts.has(user) ? user : "none";
    if (account === "none" && !accounts.has("none")) {
      accounts.set("none", { ref: "none", name: "LiteLLM", restriction: unrestricted, creditNanodollars: 0 });
    }
    const name = nameOfKey(row);
    const { restriction, heldFor: holds } = read("keys", row, `Key ${name}`);
    const use = readUse(row, name, losses);
    return {
      row,
      name,
      account,
      restriction: use.mayCall ? restriction : { ...restriction, isBlocked: true },
      heldFor: new Set([...holds, ...use.heldFor, ...(heldFor.get(account) ?? []), ...gateway.heldFor]),
    };
  });
  restrictMembers(tables, drafts, read);
  restrictProjects(tables, drafts, read);
  restrictUsers(drafts, accounts, { ofUser, appliesUserBudgets: gateway.appliesUserBudgets });
  if (accounts.size > 0) {
    losses.note("LiteLLM has budgets and no wallets: paid models need credit (modelgate wallet credit, or --credit)");
  }
  const members = tables.teams.filter(
    ({ members_with_roles: roles, members: ids }) => isFilled(roles) || isFilled(ids),
  );
  if (members.length > 0) losses.note(`The people of ${members.length} teams are not carried over: invite them here`);
  return { accounts: [...accounts.values()], keys: drafts.map((draft) => toDraftKey(draft, gateway)) };
}

type Read = (
  name: LiteLlmTable,
  row: ForeignRow,
  owner: string,
) => { readonly restriction: Restriction; readonly heldFor: readonly string[] };

/** Splits a restriction over the keys of its owner, so together they may do no more than the owner. */
function restrictKeys(drafts: readonly Draft[], { restriction, heldFor }: ReturnType<Read>): void {
  const part = share(restriction, drafts.length);
  for (const draft of drafts) {
    draft.restriction = both(draft.restriction, part);
    for (const name of heldFor) draft.heldFor.add(name);
  }
}

/** Members of teams and organizations: their budgets and models bind the keys that they have there. */
function restrictMembers(tables: Tables, drafts: readonly Draft[], read: Read): void {
  const seen = new Set<string>();
  const keysOf = (user: unknown, team: unknown) =>
    drafts.filter(({ row }) => row.user_id === user && row.team_id === team);
  for (const row of tables.team_members) {
    const keys = keysOf(row.user_id, row.team_id);
    if (textOf(row.budget_id) !== undefined) seen.add(`${row.user_id} ${row.team_id}`);
    if (keys.length > 0) restrictKeys(keys, read("team_members", row, `Member ${row.user_id} of team ${row.team_id}`));
  }
  for (const team of tables.teams) {
    const budget_id = textOf(toObject(team.metadata).team_member_budget_id);
    if (budget_id === undefined) continue;
    const users = new Set(drafts.filter(({ row }) => row.team_id === team.team_id).map(({ row }) => row.user_id));
    for (const user of users) {
      if (seen.has(`${user} ${team.team_id}`)) continue;
      const row = { budget_id };
      restrictKeys(keysOf(user, team.team_id), read("team_members", row, `Member ${user} of team ${team.team_id}`));
    }
  }
  for (const row of tables.organization_members) {
    const keys = drafts.filter(
      (draft) => draft.row.user_id === row.user_id && organizationOf(tables, draft) === row.organization_id,
    );
    if (keys.length > 0) {
      restrictKeys(
        keys,
        read("organization_members", row, `Member ${row.user_id} of organization ${row.organization_id}`),
      );
    }
  }
}

function organizationOf({ teams }: Tables, { row }: Draft): unknown {
  return row.organization_id ?? teams.find(({ team_id: id }) => id === row.team_id)?.organization_id;
}

/** Projects and organizations are between teams and keys, or above teams. */
function restrictProjects(tables: Tables, drafts: readonly Draft[], read: Read): void {
  for (const row of tables.projects) {
    const keys = drafts.filter((draft) => draft.row.project_id === row.project_id);
    const metadata = {
      ...toObject(row.metadata),
      model_rpm_limit: row.model_rpm_limit,
      model_tpm_limit: row.model_tpm_limit,
    };
    const name = textOf(row.project_alias) ?? row.project_id;
    if (keys.length > 0) restrictKeys(keys, read("projects", { ...row, metadata }, `Project ${name}`));
  }
  for (const row of tables.organizations) {
    const keys = drafts.filter((draft) => organizationOf(tables, draft) === row.organization_id);
    if (keys.length > 0) restrictKeys(keys, read("organizations", row, `Organization ${row.organization_alias}`));
  }
}

/** Limits of a user bind the keys in teams too, and with one setting their budgets do. */
function restrictUsers(
  drafts: readonly Draft[],
  accounts: Map<string, DraftAccount>,
  { ofUser, appliesUserBudgets }: { ofUser: ReadonlyMap<string, ReturnType<Read>>; appliesUserBudgets: boolean },
): void {
  for (const [id, { restriction, heldFor }] of ofUser) {
    const ref = `user:${id}`;
    const inTeams = drafts.filter(({ row, account }) => String(row.user_id) === id && account !== ref);
    if (inTeams.length === 0) continue;
    const hasOwn = drafts.some(({ account }) => account === ref);
    const { limits, budgets } = restriction;
    const shared = { ...unrestricted, limits, budgets: appliesUserBudgets ? budgets : [] };
    const part = share(shared, inTeams.length + Number(hasOwn));
    for (const draft of inTeams) restrictKeys([draft], { restriction: part, heldFor });
    const account = accounts.get(ref);
    if (hasOwn && account !== undefined) accounts.set(ref, { ...account, restriction: both(restriction, part) });
  }
}

function examineTable(name: LiteLlmTable, row: ForeignRow, owner: string, losses: Losses): string[] {
  return losses.examine(name, { row, owner, rules: litellmTables[name], defaults: defaultsOf(name) });
}

/** Examines all columns of an owner, and the contents of its column `metadata`. */
function examineOwner(name: LiteLlmTable, row: ForeignRow, owner: string, losses: Losses): string[] {
  const holds = examineTable(name, row, owner, losses);
  const rules = (metadataRules as Readonly<Record<string, (typeof metadataRules)["keys"]>>)[name];
  if (rules === undefined) return holds;
  // A project has the limits of its models in columns.
  const metadata = { ...toObject(row.metadata) };
  if (name === "projects") for (const column of ["model_rpm_limit", "model_tpm_limit"]) delete metadata[column];
  return [...holds, ...losses.examine(`${name}.metadata`, { row: metadata, owner, rules })];
}

function nameOfKey(row: ForeignRow): string {
  return (textOf(row.key_alias) ?? textOf(row.key_name) ?? String(row.token).slice(0, 8)).slice(0, 200);
}

/** Whether a key may make calls there at all, and what of its routes cannot be carried over. */
function readUse(row: ForeignRow, name: string, losses: Losses): { mayCall: boolean; heldFor: string[] } {
  const type = textOf(row.key_type);
  const routes = toList(row.allowed_routes);
  const others = routes.filter((route) => !callingRoutes.has(route) && !managingRoutes.test(route));
  const onlyManages = routes.length > 0 && routes.every((route) => managingRoutes.test(route));
  if ((type !== undefined && !callingKeyTypes.has(type)) || onlyManages) {
    losses.note(`Key ${name} makes no calls there (${type ?? routes.join(", ")}), and is revoked here`);
    return { mayCall: false, heldFor: [] };
  }
  const isHeld = others.length > 0 && losses.lose("keys.allowed_routes", `Key ${name}`);
  return { mayCall: true, heldFor: isHeld ? ["keys.allowed_routes"] : [] };
}

function toDraftKey({ row, name, account, restriction, heldFor }: Draft, { networks }: GatewaySettings): DraftKey {
  const stored = String(row.token);
  const expires = textOf(row.expires);
  const expiresAt = toUtc(expires);
  return {
    account,
    name,
    // Very old versions have keys themselves there.
    sha256: /^[0-9a-f]{64}$/i.test(stored) ? stored : createHash("sha256").update(stored).digest("hex"),
    allowedNetworks: networks && [...networks],
    // An end that cannot be read may be over.
    expiresAt: expires !== undefined && expiresAt === undefined ? 1 : expiresAt,
    restriction,
    heldFor: [...heldFor],
  };
}

/** Everything that restricts an owner: its own columns, the budget that it shares with others, and `metadata`. */
function readRestriction(
  row: ForeignRow,
  budget: ForeignRow | undefined,
  owner: string,
  { readList, targetsOf, losses }: Naming,
): Restriction {
  const note = (message: string) => losses.note(`${owner} ${message}`);
  const own: ForeignRow = {
    ...budget,
    ...Object.fromEntries(Object.entries(row).filter(([, value]) => isFilled(value))),
  };
  const lists = [row.models, budget?.allowed_models].map((value) => toModelList(value, readList, note));
  const restriction: Restriction = {
    limits: readLimits({
      requestsPerMinute: own.rpm_limit,
      tokensPerMinute: own.tpm_limit,
      concurrentCalls: own.max_parallel_requests,
    }),
    budgets: [
      ...readBudget(own, note),
      ...readWindows(own.budget_limits, note),
      ...readModelBudgets(own, targetsOf, note),
    ],
    models: lists[0],
    modelLimits: readModelLimits(own, targetsOf, note),
    isBlocked: flagOf(row.blocked, true),
  };
  return both(restriction, { ...unrestricted, models: lists[1] });
}

/** A limit of 0 allows no call. An unreadable limit may be any, so it counts as 0. */
function readLimits(values: Readonly<Record<keyof Restriction["limits"], unknown>>): Restriction["limits"] {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    return [[name, Math.max(0, Math.floor(readNumber(value) ?? 0))]];
  });
  return Object.fromEntries(entries);
}

/** Budgets of several times at once. */
function readWindows(value: unknown, note: (message: string) => void): PlannedBudget[] {
  const windows = typeof value === "string" ? parseJson(value, "file") : value;
  return toRows(windows).flatMap((window) => readBudget({ ...window, spend: 0 }, note));
}

/**
 * Limits of single models, which LiteLLM has in `metadata`. One of a name that several models serve is shared out among them,
 * rounded down, yet is at least 1 for each.
 */
function readModelLimits(
  { metadata }: ForeignRow,
  targetsOf: (name: string) => string[],
  note: (message: string) => void,
): PlannedModelLimits[] {
  const data = typeof metadata === "string" ? parseJson(metadata, "file") : metadata;
  if (!isRecord(data)) return [];
  const limits = new Map<string, { requestsPerMinute?: number; tokensPerMinute?: number }>();
  for (const [field, name] of [
    ["model_rpm_limit", "requestsPerMinute"],
    ["model_tpm_limit", "tokensPerMinute"],
  ] as const) {
    const ofModels = data[field];
    for (const [model, value] of isRecord(ofModels) ? Object.entries(ofModels) : []) {
      if (value === null || value === undefined) continue;
      const limit = Math.max(0, Math.floor(readNumber(value) ?? 0));
      const targets = targetsOf(model);
      if (targets.length === 0) note(`has limits of ${model}, which nothing here serves`);
      if (targets.length > 1) {
        const share = limit < targets.length ? `: 1 for each, more than its ${limit} in all` : "";
        note(`has limits of ${model}, which ${targets.length} models share here${share}`);
      }
      for (const target of targets) {
        const share = limit === 0 ? 0 : Math.max(1, Math.floor(limit / targets.length));
        const present = limits.get(target) ?? {};
        limits.set(target, { ...present, [name]: Math.min(present[name] ?? share, share) });
      }
    }
  }
  return [...limits].map(([model, of]) => ({ model, limits: of }));
}

/**
 * Reads budgets of single models. Their spending is only in LiteLLM's cache. If several models serve a name, its budget
 * is split among them, as limits are.
 */
function readModelBudgets(
  { model_max_budget: column }: ForeignRow,
  targetsOf: (name: string) => string[],
  note: (message: string) => void,
): PlannedBudget[] {
  const ofModels = typeof column === "string" ? parseJson(column, "file") : column;
  const budgets = new Map<string, PlannedBudget>();
  for (const [name, value] of isRecord(ofModels) ? Object.entries(ofModels) : []) {
    const {
      budget_limit: limit,
      max_budget: max = limit,
      time_period: period,
      budget_duration: duration = period,
    } = isRecord(value) ? value : { max_budget: value };
    if (max === null || max === undefined) continue;
    const nanodollars = toNanodollars(max) ?? 0;
    const targets = targetsOf(name);
    if (targets.length === 0) note(`has a budget of ${name}, which nothing here serves`);
    if (targets.length > 1) note(`has a budget of ${name}, which ${targets.length} models share here`);
    const budget = toBudget({ limit: nanodollars, spent: 0, days: toDays(textOf(duration)) }, note);
    for (const model of targets) {
      const share = Math.floor(budget.limitNanodollars / targets.length);
      const key = `${budget.period} ${model}`;
      const limitNanodollars = Math.min(budgets.get(key)?.limitNanodollars ?? share, share);
      budgets.set(key, { model, limitNanodollars, period: budget.period });
    }
  }
  return [...budgets.values()];
}

/** Prisma's times have no zone and are UTC. */
function toUtc(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(" ", "T")}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** A budget that cannot be read is one of nothing. */
function readBudget(row: ForeignRow, note: (message: string) => void): PlannedBudget[] {
  if (row.max_budget === null || row.max_budget === undefined) return [];
  const limit = toNanodollars(row.max_budget);
  if (limit === undefined) {
    note(`has a budget of ${row.max_budget}, which is not an amount: it may spend nothing here`);
    return [{ limitNanodollars: 0, period: "lifetime" }];
  }
  const spent = toNanodollars(row.spend) ?? 0;
  return [toBudget({ limit, spent, days: toDays(textOf(row.budget_duration)) }, note)];
}

/** `30d`, `1mo`, `24h`, `90s` in days; `undefined` where a budget never begins anew. */
function toDays(text: string | undefined): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6})(s|m|h|d|w|mo)$/.exec(text ?? "") ?? [];
  if (count === undefined) return undefined;
  const days = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 30 }[unit] ?? 1;
  return Number(count) * days;
}

function toModelList(
  value: unknown,
  readList: Naming["readList"],
  note: (message: string) => void,
): string[] | undefined {
  const names = toList(value);
  if (names.length === 0 || names.includes("all-proxy-models") || names.includes("all-team-models")) return undefined;
  if (names.some((name) => name.includes("*")))
    note("may use models by a pattern, which is not imported: it may not use these models here");
  return readList(names.slice(0, 500));
}

/**
 * Reads a list of texts. A database without lists stores it as JSON. Other text becomes one name, which matches
 * nothing.
 */
function toList(value: unknown): string[] {
  const parsed = typeof value === "string" ? (parseJson(value, "file") ?? [value]) : value;
  return (Array.isArray(parsed) ? parsed : []).flatMap((one) => textOf(one) ?? []);
}

function isFilled(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return false;
  return typeof value === "object" ? Object.keys(value).length > 0 : true;
}
