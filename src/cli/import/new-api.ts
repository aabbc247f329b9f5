import { createHash } from "node:crypto";
import { getDisplayName, isNetwork, trimSlashes } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { ModelNames } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { type ForeignDatabase, type ForeignRow, readFlag, readNumber, readText } from "./foreign-database.bun.ts";
import {
  type ImportPlan,
  type PlannedAccount,
  type PlannedKey,
  type PlannedProvider,
  type Rates,
  splitBudget,
  toBudget,
  toNanodollars,
  toPricedRow,
  toRates,
} from "./plan.ts";
import { createListReader, planModel } from "./plan-model.ts";

/** new-api's numbers of channels, and the plugin or ready manifest here. */
const plugins: Readonly<Record<number, string>> = {
  1: "openai",
  3: "azure",
  4: "ollama",
  14: "anthropic",
  20: "openrouter",
  24: "gemini",
  33: "bedrock",
  41: "vertex",
  42: "mistral",
  43: "deepseek",
  48: "xai",
};
const openAiType = 1;
const customType = 8;
const clouds = new Set(["azure", "bedrock", "vertex"]);
/** Units of its quota that are one US dollar, where its options do not say. */
const unitsPerUsd = 500_000;
/** A ratio of 1 is $0.002 for a thousand tokens. */
const usdPerRatio = 2;

/** Reads the database of new-api, or of one-api. @throws {UsageError} When it has none of their tables. */
export async function planNewApi(
  database: ForeignDatabase,
  { known: knownModels, manifests }: { known: ModelNames; manifests: Readonly<Record<string, unknown>> },
): Promise<ImportPlan> {
  const [tokens, users, channels, options] = await Promise.all(
    ["tokens", "users", "channels", "options"].map((name) => database.readTable(name)),
  );
  if (!tokens?.length && !users?.length && !channels?.length) {
    throw new UsageError("The database has no tokens, users and channels of new-api");
  }
  const notes: string[] = [];
  const settings = new Map((options ?? []).map(({ key, value }) => [String(key), String(value)]));
  const prices = readPrices(settings, notes);
  const { models, providers, readList } = planChannels(channels ?? [], {
    known: knownModels,
    manifests,
    prices,
    notes,
  });
  const units = readNumber(settings.get("QuotaPerUnit")) ?? unitsPerUsd;
  const accounts = (users ?? []).filter(isPresent).map((row) => toAccount(row, units, notes));
  const refs = new Map((users ?? []).filter(isPresent).map((row) => [String(row.id), refOf(row)]));
  const keys = (tokens ?? []).filter(isPresent).flatMap((row) => {
    const account = refs.get(String(row.user_id));
    if (account !== undefined) return [toKey(row, account, { units, readList, notes })];
    notes.push(`Token ${row.name} has no user`);
    return [];
  });
  return { source: "new-api", models, providers, accounts, keys, notes };
}

/** Rows that were deleted stay in its tables. */
function isPresent({ deleted_at: at }: ForeignRow): boolean {
  return at === null || at === undefined;
}

function readPrices(settings: ReadonlyMap<string, string>, notes: string[]): (model: string) => Rates | undefined {
  const read = (name: string): Record<string, unknown> => {
    const value = parseJson(settings.get(name) ?? "{}", "file");
    return isRecord(value) ? value : {};
  };
  const [ratios, completions, groups] = [read("ModelRatio"), read("CompletionRatio"), read("GroupRatio")];
  for (const [group, ratio] of Object.entries(groups)) {
    if (ratio !== 1) notes.push(`The group ${group} pays ${ratio} times the price; here every account pays the same`);
  }
  return (model) => {
    const ratio = readNumber(ratios[model]);
    if (ratio === undefined) return undefined;
    return { input: ratio * usdPerRatio, output: ratio * usdPerRatio * (readNumber(completions[model]) ?? 1) };
  };
}

function planChannels(
  channels: readonly ForeignRow[],
  {
    known: knownModels,
    manifests,
    prices,
    notes,
  }: {
    known: ModelNames;
    manifests: Readonly<Record<string, unknown>>;
    prices: (model: string) => Rates | undefined;
    notes: string[];
  },
) {
  const providers = new Map<string, PlannedProvider>();
  const groups = new Map<string, { model: string; weight?: number | undefined }[]>();
  const added = new Map<string, Rates | undefined>();
  // The channel with the highest number comes first there.
  const sorted = channels.toSorted((one, other) => (readNumber(other.priority) ?? 0) - (readNumber(one.priority) ?? 0));
  for (const row of sorted) {
    const name = readText(row.name) ?? `channel ${row.id}`;
    if (readNumber(row.status) !== 1) {
      notes.push(`The channel ${name} is disabled and left out`);
      continue;
    }
    const type = readNumber(row.type) ?? 0;
    const plugin = plugins[type];
    const baseUrl = readText(row.base_url);
    const mapping = readJsonObject(row.model_mapping);
    const own = (readText(row.models) ?? "").split(",").filter((model) => model !== "");
    const keys = readKeys(row.key);
    for (const field of ["param_override", "header_override", "status_code_mapping"]) {
      if (readText(row[field]) !== undefined) notes.push(`The channel ${name} has ${field}, which is not carried over`);
    }
    if (baseUrl !== undefined && (type === openAiType || type === customType)) {
      const id = `newapi-${row.id}`;
      const rows = own.map((model) => {
        const theirs = prices(model);
        const upstreamId = String(mapping[model] ?? model);
        // Without a ratio of its own it has the one that new-api knows by the name of the model.
        const same = knownModels.findAtProvider(upstreamId, "openai") ?? knownModels.findAtProvider(upstreamId);
        const target = `${id}/${model}`;
        added.set(target, theirs ?? (same && toRates(same)));
        groups.set(model, [...(groups.get(model) ?? []), { model: target }]);
        if (theirs === undefined) {
          const price =
            same?.price === undefined
              ? "it draws on the free quota until you set one"
              : `it has that of ${getDisplayName(same)}`;
          notes.push(`${model} of the channel ${name} has no ratio: ${price}`);
        }
        return { id: target, upstreamId, ...toPricedRow(theirs, same) };
      });
      const address = /\/v\d+\/?$/.test(baseUrl) ? baseUrl : `${trimSlashes(baseUrl)}/v1`;
      const manifest = { name: id, baseUrl: address, dialect: "openai", credential: "key", models: rows };
      providers.set(id, { name: id, manifest, keys });
      continue;
    }
    if (plugin === undefined) {
      notes.push(
        `The channel ${name} is of a kind (${type}) that is not carried over: ${own.join(", ").slice(0, 200)}`,
      );
      continue;
    }
    if (baseUrl !== undefined) notes.push(`The channel ${name} has the address ${baseUrl}: set it by hand`);
    if (clouds.has(plugin))
      notes.push(`The channel ${name}: set the credential of ${plugin} (docs/providers.md, Clouds)`);
    else {
      const before = providers.get(plugin);
      const manifest = manifests[plugin] as Record<string, unknown> | undefined;
      providers.set(plugin, { name: plugin, manifest, keys: [...new Set([...(before?.keys ?? []), ...keys])] });
    }
    for (const model of own) {
      const target =
        knownModels.findAtProvider(String(mapping[model] ?? model), plugin) ??
        knownModels.findAtProvider(String(mapping[model] ?? model));
      if (target === undefined) notes.push(`${model} of the channel ${name} is not served here`);
      else groups.set(model, [...(groups.get(model) ?? []), { model: target.id }]);
    }
  }
  const models = [...groups].map(([name, targets]) =>
    planModel(name, targets, { known: knownModels, theirs: prices(name), added }),
  );
  return { models, providers: [...providers.values()], readList: createListReader(knownModels, models, notes) };
}

/** One key, one in each line, or a JSON list of them. */
function readKeys(value: unknown): string[] {
  const text = readText(value);
  if (text === undefined) return [];
  // A key may begin so.
  const list = text.startsWith("[") ? parseJson(text, "file") : undefined;
  if (Array.isArray(list)) return list.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return text.split("\n").flatMap((line) => readText(line) ?? []);
}

function readJsonObject(value: unknown): Record<string, unknown> {
  const parsed = typeof value === "string" ? parseJson(value, "file") : value;
  return isRecord(parsed) ? parsed : {};
}

function toAccount(row: ForeignRow, units: number, notes: string[]): PlannedAccount {
  const name = readText(row.display_name) ?? readText(row.username) ?? `user ${row.id}`;
  const email = readText(row.email)?.toLowerCase();
  const isAddress = email !== undefined && /^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/.test(email);
  const quota = readNumber(row.quota) ?? 0;
  if (quota < 0) notes.push(`The user ${name} owes ${-quota / units} USD, which is not carried over`);
  const isDisabled = readNumber(row.status) !== 1;
  return {
    ref: refOf(row),
    name,
    email: isAddress ? email : undefined,
    changes: isDisabled ? { isDisabled } : {},
    creditNanodollars: toNanodollars(Math.max(0, quota) / units) ?? 0,
  };
}

/** Users of two databases that are imported have the same numbers. */
function refOf({ id, username }: ForeignRow): string {
  return `user:${id}:${username}`;
}

function toKey(
  row: ForeignRow,
  account: string,
  { units, readList, notes }: { units: number; readList: (names: readonly string[]) => string[]; notes: string[] },
): PlannedKey {
  const stored = String(row.key).trim();
  const name = (readText(row.name) ?? `token ${row.id}`).slice(0, 200);
  const note = (message: string) => notes.push(`Token ${name} ${message}`);
  const text = stored.startsWith("sk-") ? stored : `sk-${stored}`;
  const rest = toNanodollars(Math.max(0, readNumber(row.remain_quota) ?? 0) / units) ?? 0;
  const isLimited = !readFlag(row.unlimited_quota);
  const budget = isLimited ? toBudget({ limit: rest, spent: 0, days: undefined }, note) : undefined;
  const expires = readNumber(row.expired_time) ?? -1;
  const models = readFlag(row.model_limits_enabled)
    ? (readText(row.model_limits) ?? "").split(",").filter(Boolean)
    : [];
  const networks = (readText(row.allow_ips) ?? "")
    .split("\n")
    .flatMap((line) => readText(line.replaceAll(",", "")) ?? []);
  const wrong = networks.filter((network) => !isNetwork(network));
  if (wrong.length > 0) note(`has networks that are none (${wrong.join(", ")}) and is revoked here`);
  if (readText(row.group) !== undefined && row.group !== "default")
    note(`is of the group ${row.group}, which is not carried over`);
  return {
    account,
    name,
    sha256: createHash("sha256").update(text).digest("hex"),
    isRevoked: readNumber(row.status) !== 1 || wrong.length > 0,
    expiresAt: expires < 0 ? undefined : expires * 1000,
    allowedModels: models.length === 0 ? undefined : readList(models.slice(0, 500)),
    allowedNetworks: networks.length === 0 || wrong.length > 0 ? undefined : networks,
    budgets: splitBudget(budget).budgets,
  };
}
