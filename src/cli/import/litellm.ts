import { createHash } from "node:crypto";
import type { ProjectChanges } from "../../accounts/index.ts";
import { getDisplayName, type KeyLimits } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { ModelNames } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { type ForeignDatabase, type ForeignRow, readFlag, readNumber, readText } from "./foreign-database.bun.ts";
import {
  type ImportPlan,
  type PlannedAccount,
  type PlannedBudget,
  type PlannedKey,
  type PlannedModel,
  type PlannedModelLimits,
  type PlannedProvider,
  type Rates,
  splitBudget,
  toBudget,
  toNanodollars,
  toPricedRow,
  toRates,
} from "./plan.ts";
import { createListReader, planModel } from "./plan-model.ts";

/** LiteLLM's names of providers, and the plugin here, or the ready manifest, that is the same provider. */
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
}

/** Rows of a file for one provider. */
interface Gathered {
  manifest?: Record<string, unknown>;
  readonly rows: Map<string, object>;
  readonly keys: Set<string>;
}

/** Reads a `config.yaml`, and the database beside it if there is one. @throws {UsageError} For a file that is none of LiteLLM's. */
export async function planLiteLlm(
  config: unknown,
  database: ForeignDatabase | undefined,
  reading: Reading,
): Promise<ImportPlan> {
  if (!isRecord(config)) throw new UsageError("The file is no configuration of LiteLLM: expected YAML with model_list");
  const notes: string[] = [];
  const deployments = [...toRows(config.model_list), ...(await readStoredModels(database, notes))];
  const { models, providers, readList, targetsOf } = planModels(deployments, config, { ...reading, notes });
  noteSettings(config, notes);
  const people =
    database === undefined ? { accounts: [], keys: [] } : await planPeople(database, { readList, targetsOf, notes });
  return { source: "litellm", models, providers, ...people, notes };
}

function toRows(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Models that were added while it ran. Their fields are encrypted by LITELLM_SALT_KEY, also the name of the model. */
async function readStoredModels(database: ForeignDatabase | undefined, notes: string[]) {
  const rows = (await database?.readTable("LiteLLM_ProxyModelTable")) ?? [];
  const plain = rows.filter(
    ({ litellm_params: params }) => isRecord(params) && /^[\w.-]+\//.test(String(params.model)),
  );
  const sealed = rows.length - plain.length;
  if (sealed > 0) {
    notes.push(
      `${sealed} models in the database are encrypted by LITELLM_SALT_KEY: add them on the page Catalogue, or to the file first`,
    );
  }
  return plain.map((row) => ({ ...row }));
}

function planModels(
  deployments: readonly Record<string, unknown>[],
  config: Record<string, unknown>,
  { known: knownModels, manifests, env, notes }: Reading & { notes: string[] },
) {
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
    const [group, full] = [readText(row.model_name), readText(params.model)];
    if (group === undefined || full === undefined) continue;
    const slash = full.indexOf("/");
    const [provider, upstream] = slash === -1 ? ["openai", full] : [full.slice(0, slash), full.slice(slash + 1)];
    if (upstream === "*" || group.includes("*")) {
      notes.push(`${group} sells every model of ${provider}: see "Unlisted models" in docs/models.md`);
      continue;
    }
    const plugin = plugins[provider];
    const theirs = toTheirs(params, row.model_info);
    const entry = groups.get(group) ?? { targets: [] };
    groups.set(group, { targets: entry.targets, theirs: entry.theirs ?? theirs });
    const key = readKey(params.api_key, env, (variable) =>
      notes.push(`${group}: ${variable} is not set here, so the key of its provider is missing`),
    );
    const weight = readNumber(params.weight);
    const baseUrl = readText(params.api_base);
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
            : `it has that of ${getDisplayName(same)}`;
        notes.push(`${group} has no price in the file: ${price}`);
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
      notes.push(`${group}: ${full} is not served here; add its provider first (docs/providers.md)`);
      continue;
    }
    entry.targets.push({ model: model.id, weight });
    if (clouds.has(plugin)) {
      notes.push(`${group}: set the credential of ${plugin} (docs/providers.md, Clouds)`);
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
  addFallbacks(groups, [config.litellm_settings, settings], notes);
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
    readList: createListReader(knownModels, models, notes),
    targetsOf: toTargets(models, knownModels),
  };
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
  notes: string[],
): void {
  for (const part of settings) {
    if (!isRecord(part)) continue;
    for (const field of ["fallbacks", "context_window_fallbacks"]) {
      for (const [name, others] of toRows(part[field]).flatMap(Object.entries)) {
        const group = groups.get(name);
        const targets = (Array.isArray(others) ? others : []).flatMap(
          (other) => groups.get(String(other))?.targets ?? [],
        );
        if (group === undefined || targets.length === 0)
          notes.push(`The ${field} of ${name} name models that are not here`);
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
  const text = readText(value);
  const variable = /^os\.environ\/(\w+)$/.exec(text ?? "")?.[1];
  if (variable === undefined) return text;
  const secret = readText(env[variable]);
  if (secret === undefined) onMissing(variable);
  return secret;
}

function slugOf(baseUrl: string): string {
  const { hostname, port, pathname } = URL.parse(baseUrl) ?? { hostname: baseUrl, port: "", pathname: "" };
  const words = `${hostname}-${port}-${pathname}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return words.replaceAll(/^-|-$|-v1-?$/g, "").slice(0, 40) || "server";
}

function noteSettings(config: Record<string, unknown>, notes: string[]): void {
  const { litellm_settings: settings, general_settings: general } = config;
  const has = (part: unknown, name: string) => isRecord(part) && part[name] !== undefined && part[name] !== null;
  for (const name of ["callbacks", "success_callback", "cache", "content_policy_fallbacks"]) {
    if (has(settings, name)) notes.push(`litellm_settings.${name} has no counterpart here`);
  }
  for (const name of ["guardrails", "mcp_servers"]) {
    if (config[name] !== undefined) notes.push(`${name} are not carried over`);
  }
  if (has(general, "master_key")) {
    notes.push("The master key is no key here: modelgate admin-key create makes keys that manage the gateway");
  }
}

/** How lists of accounts and keys name models, and the list of what cannot be carried over. */
interface Naming {
  readonly readList: (names: readonly string[]) => string[];
  readonly targetsOf: (name: string) => string[];
  readonly notes: string[];
}

/** Teams, users and keys. Spend is what budgets have used; calls of the past stay where they are. */
async function planPeople(
  database: ForeignDatabase,
  { readList, targetsOf, notes }: Naming,
): Promise<{ accounts: PlannedAccount[]; keys: PlannedKey[] }> {
  const [tokens, teams, users, budgets, customers, organizations] = await Promise.all(
    ["VerificationToken", "TeamTable", "UserTable", "BudgetTable", "EndUserTable", "OrganizationTable"].map((name) =>
      database.readTable(`LiteLLM_${name}`),
    ),
  );
  if (tokens?.length === 0 && teams?.length === 0 && users?.length === 0) {
    notes.push("The database has no keys, teams and users of LiteLLM");
  }
  if (customers?.length) notes.push(`${customers.length} end users with their budgets are not carried over`);
  if (organizations?.length)
    notes.push(`${organizations.length} organizations are not carried over, their teams and keys are`);
  const shared = new Map((budgets ?? []).map((row) => [row.budget_id, row]));
  const accounts = new Map<string, PlannedAccount>();
  for (const row of teams ?? []) {
    const id = String(row.team_id);
    const name = readText(row.team_alias) ?? id;
    const fields = readFields(row, `Team ${name}`, { readList, targetsOf, notes });
    const modelLimits = readModelLimits(row, targetsOf, (message) => notes.push(`Team ${name} ${message}`));
    accounts.set(`team:${id}`, {
      ref: `team:${id}`,
      name: name.slice(0, 200),
      ...fields,
      modelLimits,
      creditNanodollars: 0,
    });
  }
  const withKeys = new Set((tokens ?? []).filter(({ team_id: team }) => team === null).map((row) => row.user_id));
  for (const row of users ?? []) {
    const id = String(row.user_id);
    const email = readEmail(row.user_email);
    if (email === undefined && !withKeys.has(id)) continue;
    const name = readText(row.user_alias) ?? email ?? id;
    const fields = readFields(row, `User ${name}`, { readList, targetsOf, notes });
    const ref = `user:${id}`;
    accounts.set(ref, { ref, name: name.slice(0, 200), email, ...fields, creditNanodollars: 0 });
  }
  const keys = (tokens ?? []).map((row): PlannedKey => {
    const [team, user] = [`team:${row.team_id}`, `user:${row.user_id}`];
    const account = accounts.has(team) ? team : accounts.has(user) ? user : "none";
    if (account === "none" && !accounts.has("none")) {
      accounts.set("none", { ref: "none", name: "LiteLLM", changes: {}, creditNanodollars: 0 });
    }
    return toKey(row, account, { readList, targetsOf, notes, budget: shared.get(row.budget_id) });
  });
  if (accounts.size > 0) {
    notes.push("LiteLLM has budgets and no wallets: premium models need credit (modelgate wallet credit, or --credit)");
  }
  return { accounts: [...accounts.values()], keys };
}

function toKey(
  row: ForeignRow,
  account: string,
  { readList, targetsOf, notes, budget }: Naming & { budget: ForeignRow | undefined },
): PlannedKey {
  const stored = String(row.token);
  const name = (readText(row.key_alias) ?? readText(row.key_name) ?? stored.slice(0, 8)).slice(0, 200);
  const note = (message: string) => notes.push(`Key ${name} ${message}`);
  const own = budget === undefined ? row : { ...budget, ...withoutNulls(row) };
  const { own: limit, budgets } = splitBudget(readBudget(own, note));
  const bounds: KeyLimits = {
    requestsPerMinute: readLimit(own.rpm_limit),
    tokensPerMinute: readLimit(own.tpm_limit),
    concurrentCalls: readLimit(own.max_parallel_requests),
    budgetNanodollars: limit?.limitNanodollars,
    budgetPeriod: limit?.period,
  };
  for (const [field, what] of [
    ["permissions", "has permissions"],
    ["guardrails", "has guardrails"],
    ["tpd_limit", "has a limit of tokens a day"],
    ["allowed_routes", "may use some routes alone"],
  ] as const) {
    if (isFilled(row[field])) note(`${what}, which are not carried over`);
  }
  return {
    account,
    name,
    // Very old versions have keys themselves there.
    sha256: /^[0-9a-f]{64}$/i.test(stored) ? stored : createHash("sha256").update(stored).digest("hex"),
    allowedModels: toModelList(row.models, readList, note),
    expiresAt: toUtc(readText(row.expires)),
    isRevoked: readFlag(row.blocked),
    bounds,
    modelLimits: readModelLimits(row, targetsOf, note),
    budgets: [...budgets, ...readModelBudgets(row, targetsOf, note)],
  };
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
      const limit = readLimit(value);
      if (limit === undefined) continue;
      const targets = targetsOf(model);
      if (targets.length === 0) note(`has limits of ${model}, which nothing here serves`);
      if (targets.length > 1) {
        const share = limit < targets.length ? `: 1 for each, more than its ${limit} in all` : "";
        note(`has limits of ${model}, which ${targets.length} models share here${share}`);
      }
      for (const target of targets) {
        const share = Math.max(1, Math.floor(limit / targets.length));
        const present = limits.get(target) ?? {};
        limits.set(target, { ...present, [name]: Math.min(present[name] ?? share, share) });
      }
    }
  }
  return [...limits].map(([model, of]) => ({ model, limits: of }));
}

/**
 * Budgets of single models. What they have spent is kept in LiteLLM's cache alone. One of a name that several models serve is shared
 * out among them, as limits are.
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
    const nanodollars = toNanodollars(max);
    if (nanodollars === undefined) continue;
    const targets = targetsOf(name);
    if (targets.length === 0) note(`has a budget of ${name}, which nothing here serves`);
    if (targets.length > 1) note(`has a budget of ${name}, which ${targets.length} models share here`);
    const budget = toBudget({ limit: nanodollars, spent: 0, days: toDays(readText(duration)) }, note);
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

function readFields(
  row: ForeignRow,
  who: string,
  { readList, targetsOf, notes }: Naming,
): { changes: ProjectChanges; budgets: PlannedBudget[] } {
  const note = (message: string) => notes.push(`${who} ${message}`);
  const { own: budget, budgets } = splitBudget(readBudget(row, note));
  const allowedModels = toModelList(row.models, readList, note);
  const [requestsPerMinute, tokensPerMinute, concurrentCalls] = [
    row.rpm_limit,
    row.tpm_limit,
    row.max_parallel_requests,
  ].map(readLimit);
  const changes = {
    ...(budget !== undefined && { budget }),
    ...(allowedModels !== undefined && { allowedModels }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(concurrentCalls !== undefined && { concurrentCalls }),
    ...(readFlag(row.blocked) && { isDisabled: true }),
  };
  return { changes, budgets: [...budgets, ...readModelBudgets(row, targetsOf, note)] };
}

function readBudget(row: ForeignRow, note: (message: string) => void) {
  const limit = toNanodollars(row.max_budget);
  if (row.max_budget === null || row.max_budget === undefined || limit === undefined) return undefined;
  const spent = toNanodollars(row.spend) ?? 0;
  return toBudget({ limit, spent, days: toDays(readText(row.budget_duration)) }, note);
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
  const names = Array.isArray(value) ? value.filter((one) => typeof one === "string" && one !== "") : [];
  if (names.length === 0 || names.includes("all-proxy-models") || names.includes("all-team-models")) return undefined;
  if (names.some((name) => name.includes("*")))
    note("may use models by a pattern; here it may use none of these by it");
  return readList(names.slice(0, 500));
}

function readLimit(value: unknown): number | undefined {
  const limit = readNumber(value);
  return limit === undefined ? undefined : Math.max(1, Math.floor(limit));
}

function readEmail(value: unknown): string | undefined {
  const text = readText(value)?.toLowerCase();
  return text !== undefined && /^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/.test(text) ? text : undefined;
}

function withoutNulls(row: ForeignRow): ForeignRow {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

function isFilled(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return false;
  return typeof value === "object" ? Object.keys(value).length > 0 : true;
}
