import { createHash } from "node:crypto";
import { isNetwork, trimSlashes } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { ModelNames } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { type ForeignDatabase, type ForeignRow, flagOf, readNumber, textOf } from "./foreign-database.bun.ts";
import schemas from "./foreign-schemas.json" with { type: "json" };
import type { Losses, TableRules } from "./losses.ts";
import {
  type DraftAccount,
  type DraftKey,
  type DraftPlan,
  type PlannedModel,
  type PlannedProvider,
  type Rates,
  readEmail,
  toNanodollars,
  toPricedRow,
  toRates,
} from "./plan.ts";
import { createListReader, planModel } from "./plan-model.ts";
import { both, type Restriction, unrestricted } from "./restrictions.ts";

/** Columns that the import understands, of the tables of new-api's newest schema, which `bun run import:refresh` reads. */
export const newApiTables = {
  tokens: {
    used: [
      ...[
        "user_id",
        "key",
        "status",
        "name",
        "expired_time",
        "remain_quota",
        "unlimited_quota",
        "model_limits_enabled",
      ],
      ...["model_limits", "allow_ips", "group", "deleted_at"],
    ],
    // Whether a subscription or the quota pays: here the wallet does.
    harmless: ["id", "created_time", "accessed_time", "used_quota", "billing_type"],
    noted: ["cross_group_retry"],
  },
  users: {
    used: ["id", "username", "display_name", "status", "email", "quota", "group", "deleted_at", "aff_code"],
    harmless: [
      ...["password", "github_id", "discord_id", "oidc_id", "wechat_id", "telegram_id", "linux_do_id", "access_token"],
      ...["used_quota", "request_count", "aff_count", "aff_quota", "aff_history", "inviter_id", "setting"],
      ...["invite_rebate_eligible", "remark", "stripe_customer", "created_at", "last_login_at", "auth_version", "role"],
    ],
  },
  channels: {
    used: [
      ...[
        "id",
        "type",
        "key",
        "status",
        "name",
        "base_url",
        "models",
        "group",
        "model_mapping",
        "priority",
        "channel_info",
      ],
    ],
    harmless: [
      ...["test_model", "created_time", "test_time", "response_time", "balance", "balance_updated_time", "used_quota"],
      ...["auto_ban", "need_reconcile", "other_info", "tag", "remark"],
    ],
    // Headers and fields that are added to calls, and weights among channels of one priority.
    noted: [
      ...["open_ai_organization", "weight", "other", "status_code_mapping", "setting", "settings", "param_override"],
      "header_override",
    ],
  },
} as const satisfies Readonly<Record<string, TableRules>>;

/** Options that restrict somebody, and options that only look like it. */
const newApiOptions: TableRules = {
  used: [
    ...["QuotaPerUnit", "ModelRatio", "CompletionRatio", "GroupRatio", "UserUsableGroups", "AutoGroups"],
    ...["ModelRequestRateLimitEnabled", "ModelRequestRateLimitCount", "ModelRequestRateLimitSuccessCount"],
    ...["ModelRequestRateLimitDurationMinutes", "ModelRequestRateLimitGroup"],
  ],
  harmless: [
    ...[
      "QuotaForNewUser",
      "QuotaForInviter",
      "QuotaForInvitee",
      "QuotaRemindThreshold",
      "PreConsumedQuota",
      "QuotaDisplayType",
    ],
    ...["EmailDomainRestrictionEnabled", "EmailDomainWhitelist", "EmailAliasRestrictionEnabled", "TopUpGroupRatio"],
    ...["quota_setting.enable_free_model_pre_consume", "checkin_setting.min_quota", "checkin_setting.max_quota"],
    ...["legal.privacy_policy", "MaxUserQuotaLimit"],
  ],
};

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

/** Reads the database of new-api, or of one-api. @throws {UsageError} If it has no tokens, users or channels. */
export async function planNewApi(
  database: ForeignDatabase,
  {
    known: knownModels,
    manifests,
    losses,
  }: { known: ModelNames; manifests: Readonly<Record<string, unknown>>; losses: Losses },
): Promise<DraftPlan> {
  // If two rows share an e-mail or a key, the first counts there. Sorting makes this independent of the database's
  // order.
  const [tokens = [], users = [], channels = [], options = []] = await Promise.all(
    ["tokens", "users", "channels", "options"].map(async (name) => sortById(await database.readTable(name))),
  );
  if (tokens.length + users.length + channels.length === 0) {
    throw new UsageError("The database has no tokens, users and channels of new-api");
  }
  const { note } = losses;
  const settings = new Map(options.map(({ key, value }) => [String(key), String(value)]));
  const heldForAll = examineOptions(settings, losses);
  const prices = readPrices(settings, note);
  const { models, providers, readList, groupsOf } = planChannels(channels, {
    known: knownModels,
    manifests,
    prices,
    losses,
  });
  const units = readUnits(settings);
  const groups = new Groups({ models, groupsOf, readList, settings });
  const present = users.filter(isPresent);
  const accounts = present.map((row) => toAccount(row, { units, groups, note }));
  const owners = new Map(present.map((row) => [String(row.id), row]));
  const heldForUser = new Map(present.map((row) => [String(row.id), examine("users", row, nameOfUser(row), losses)]));
  const keys = tokens.filter(isPresent).flatMap((row) => {
    const owner = owners.get(String(row.user_id));
    if (owner === undefined) {
      note(`Token ${row.name} has no user`);
      return [];
    }
    if (textOf(row.key) === undefined) {
      note(`Token ${row.name} has no text, and is left out`);
      return [];
    }
    const heldFor = [...heldForAll, ...(heldForUser.get(String(row.user_id)) ?? [])];
    return [toKey(row, owner, { units, readList, groups, losses, heldFor })];
  });
  return { source: "new-api", models, providers, accounts, keys, losses };
}

function sortById(rows: readonly ForeignRow[]): ForeignRow[] {
  return rows.toSorted((one, other) => (readNumber(one.id) ?? 0) - (readNumber(other.id) ?? 0));
}

/** Units of its quota that are one US dollar. @throws {UsageError} When it says something else than a number above 0. */
function readUnits(settings: ReadonlyMap<string, string>): number {
  const text = settings.get("QuotaPerUnit");
  if (text === undefined) return unitsPerUsd;
  const units = readNumber(text);
  if (units !== undefined && units > 0) return units;
  throw new UsageError(
    `The option QuotaPerUnit is ${JSON.stringify(text.slice(0, 50))}, expected a number above 0: without it no balance is known; set it there`,
  );
}

function examine(table: keyof typeof newApiTables, row: ForeignRow, owner: string, losses: Losses): string[] {
  const defaults = (schemas["new-api"].tables as Readonly<Record<string, ForeignRow>>)[table];
  return losses.examine(table, { row, owner, rules: newApiTables[table], defaults });
}

/** Examines new-api's options, which are rows with a name each. Options that restrict nobody are too many to note. */
function examineOptions(settings: ReadonlyMap<string, string>, losses: Losses): string[] {
  const effect = "all keys are revoked here";
  const off = new Set(["false", "0", "null"]);
  const row = Object.fromEntries(
    [...settings].filter(([name, value]) => !off.has(value) && /limit|quota|block|restrict|forbid|allowed/i.test(name)),
  );
  return losses.examine("options", { row, owner: "options", rules: newApiOptions, effect });
}

/** Reads an object of the options. */
function readSetting(settings: ReadonlyMap<string, string>, name: string): Record<string, unknown> | undefined {
  const value = parseJson(settings.get(name) ?? "", "file");
  return isRecord(value) ? value : undefined;
}

/** Groups decide which channels, and so which models, a user or a token may use. */
class Groups {
  /** The ids here of the models of each group. */
  readonly #models = new Map<string, Set<string>>();
  readonly #all: ReadonlySet<string>;
  readonly #settings: ReadonlyMap<string, string>;

  constructor({
    models,
    groupsOf,
    readList,
    settings,
  }: {
    models: readonly PlannedModel[];
    groupsOf: ReadonlyMap<string, ReadonlySet<string>>;
    readList: (names: readonly string[]) => string[];
    settings: ReadonlyMap<string, string>;
  }) {
    this.#settings = settings;
    this.#all = new Set(readList(models.map(({ name }) => name)));
    for (const [name, groups] of groupsOf) {
      for (const group of groups) {
        const ids = this.#models.get(group) ?? new Set();
        const [id = name] = readList([name]);
        this.#models.set(group, ids.add(id));
      }
    }
  }

  /** Restricts to the models of these groups; no restriction if these are all models. */
  restrict(names: readonly string[]): Restriction {
    const ids = new Set(names.flatMap((name) => [...(this.#models.get(name) ?? [])]));
    const limits = this.#limitsOf(names[0] ?? "default");
    if (ids.size === this.#all.size) return { ...unrestricted, limits };
    return { ...unrestricted, limits, models: [...ids] };
  }

  /** Groups that a token of a group uses, as far as its user may use them; undefined if they are unknown. */
  readToken(group: string, ofUser: string): readonly string[] | undefined {
    if (group === "" || group === ofUser) return [ofUser];
    const usable = readSetting(this.#settings, "UserUsableGroups") ?? { default: "", vip: "" };
    if (group !== "auto") return group in usable ? [group] : [];
    const auto = parseJson(this.#settings.get("AutoGroups") ?? "", "file");
    return Array.isArray(auto) ? auto.map(String) : undefined;
  }

  /** The limit of requests that each user has, as requests a minute. */
  #limitsOf(group: string): Restriction["limits"] {
    if (!flagOf(this.#settings.get("ModelRequestRateLimitEnabled"), true)) return {};
    const read = (name: string) => readNumber(this.#settings.get(`ModelRequestRateLimit${name}`));
    const minutes = read("DurationMinutes") ?? 1;
    const ofGroup = readSetting(this.#settings, "ModelRequestRateLimitGroup")?.[group];
    const [total, good] = Array.isArray(ofGroup) ? ofGroup.map(readNumber) : [read("Count"), read("SuccessCount")];
    // 0 requests in all are no limit there, and each good one counts as one of all.
    const counts = [total, good].filter((count) => count !== undefined && count > 0) as number[];
    if (counts.length === 0) return {};
    return { requestsPerMinute: Math.floor(Math.min(...counts) / Math.max(1, minutes)) };
  }
}

/** Rows that were deleted stay in its tables. */
function isPresent({ deleted_at: at }: ForeignRow): boolean {
  return at === null || at === undefined;
}

function readPrices(
  settings: ReadonlyMap<string, string>,
  note: (message: string) => void,
): (model: string) => Rates | undefined {
  const read = (name: string) => readSetting(settings, name) ?? {};
  const [ratios, completions, groups] = [read("ModelRatio"), read("CompletionRatio"), read("GroupRatio")];
  for (const [group, ratio] of Object.entries(groups)) {
    if (ratio !== 1) note(`The group ${group} pays ${ratio} times the price; here every account pays the same`);
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
    losses,
  }: {
    known: ModelNames;
    manifests: Readonly<Record<string, unknown>>;
    prices: (model: string) => Rates | undefined;
    losses: Losses;
  },
) {
  const { note } = losses;
  /** Groups whose users may use each name. */
  const groupsOf = new Map<string, Set<string>>();
  const providers = new Map<string, PlannedProvider>();
  const groups = new Map<string, { model: string; weight?: number | undefined }[]>();
  const added = new Map<string, Rates | undefined>();
  // The channel with the highest number comes first there.
  const sorted = channels.toSorted((one, other) => (readNumber(other.priority) ?? 0) - (readNumber(one.priority) ?? 0));
  for (const row of sorted) {
    const name = textOf(row.name) ?? `channel ${row.id}`;
    if (readNumber(row.status) !== 1) {
      note(`The channel ${name} is disabled and left out`);
      continue;
    }
    const type = readNumber(row.type) ?? 0;
    const plugin = plugins[type];
    const baseUrl = textOf(row.base_url);
    const mapping = readJsonObject(row.model_mapping);
    const own = (textOf(row.models) ?? "").split(",").filter((model) => model !== "");
    const keys = readKeys(row.key, row.channel_info);
    examine("channels", row, `The channel ${name}`, losses);
    const ofGroups = (textOf(row.group) ?? "default").split(",").flatMap((group) => textOf(group) ?? []);
    const offer = (model: string) => {
      const present = groupsOf.get(model) ?? new Set();
      for (const group of ofGroups) present.add(group);
      groupsOf.set(model, present);
    };
    if (baseUrl !== undefined && (type === openAiType || type === customType)) {
      const id = `newapi-${row.id}`;
      const rows = own.map((model) => {
        const theirs = prices(model);
        const upstreamId = String(mapping[model] ?? model);
        // Without a ratio of its own, the model has the ratio that new-api has built in for its name.
        const same = knownModels.findAtProvider(upstreamId, "openai") ?? knownModels.findAtProvider(upstreamId);
        const target = `${id}/${model}`;
        added.set(target, theirs ?? (same && toRates(same)));
        offer(model);
        groups.set(model, [...(groups.get(model) ?? []), { model: target }]);
        if (theirs === undefined) {
          const price =
            same?.price === undefined
              ? "it draws on the free quota until you set one"
              : `it has the price of ${getDisplayName(same)}`;
          note(`${model} of the channel ${name} has no ratio: ${price}`);
        }
        return { id: target, upstreamId, ...toPricedRow(theirs, same) };
      });
      const address = /\/v\d+\/?$/.test(baseUrl) ? baseUrl : `${trimSlashes(baseUrl)}/v1`;
      const manifest = { name: id, baseUrl: address, dialect: "openai", credential: "key", models: rows };
      providers.set(id, { name: id, manifest, keys });
      continue;
    }
    if (plugin === undefined) {
      note(`The channel ${name} is of a kind (${type}) that is not carried over: ${own.join(", ").slice(0, 200)}`);
      continue;
    }
    if (baseUrl !== undefined) note(`The channel ${name} has the address ${baseUrl}: set it by hand`);
    if (clouds.has(plugin)) note(`The channel ${name}: set the credential of ${plugin} (docs/providers.md, Clouds)`);
    else {
      const before = providers.get(plugin);
      const manifest = manifests[plugin] as Record<string, unknown> | undefined;
      providers.set(plugin, { name: plugin, manifest, keys: [...new Set([...(before?.keys ?? []), ...keys])] });
    }
    for (const model of own) {
      const target =
        knownModels.findAtProvider(String(mapping[model] ?? model), plugin) ??
        knownModels.findAtProvider(String(mapping[model] ?? model));
      if (target === undefined) note(`${model} of the channel ${name} is not served here`);
      else {
        offer(model);
        groups.set(model, [...(groups.get(model) ?? []), { model: target.id }]);
      }
    }
  }
  const models = [...groups].map(([name, targets]) =>
    planModel(name, targets, { known: knownModels, theirs: prices(name), added }),
  );
  const readList = createListReader(knownModels, models, note);
  return { models, providers: [...providers.values()], readList, groupsOf };
}

/** One key, one in each line, or a JSON list of them; without those that are switched off among several. */
function readKeys(value: unknown, info: unknown): string[] {
  const text = textOf(value);
  if (text === undefined) return [];
  const list = text.startsWith("[") ? parseJson(text, "file") : undefined;
  const keys = Array.isArray(list)
    ? list.map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
    : text.split("\n");
  const { is_multi_key: isMulti, multi_key_status_list: statuses } = readJsonObject(info);
  const states = readJsonObject(statuses);
  return keys.flatMap((key, place) =>
    !flagOf(isMulti, true) || isOn({ status: states[place] }) ? (textOf(key) ?? []) : [],
  );
}

function readJsonObject(value: unknown): Record<string, unknown> {
  const parsed = typeof value === "string" ? parseJson(value, "file") : value;
  return isRecord(parsed) ? parsed : {};
}

function nameOfUser(row: ForeignRow): string {
  return textOf(row.display_name) ?? textOf(row.username) ?? `user ${row.id}`;
}

function groupOfUser(row: ForeignRow): string {
  return textOf(row.group) ?? "default";
}

function toAccount(
  row: ForeignRow,
  { units, groups, note }: { units: number; groups: Groups; note: (message: string) => void },
): DraftAccount {
  const name = nameOfUser(row);
  const email = readEmail(row.email, `The user ${name}`, note);
  const quota = row.quota === null || row.quota === undefined ? 0 : readNumber(row.quota);
  if (quota !== undefined && quota < 0) note(`The user ${name} owes ${-quota / units} USD, which is not carried over`);
  const credit = quota === undefined ? undefined : toNanodollars(Math.max(0, quota) / units);
  if (credit === undefined)
    note(`The user ${name} has a quota of ${row.quota}, which is too large for a balance here: credit it by hand`);
  const ofGroup = groups.restrict([groupOfUser(row)]);
  if (ofGroup.models !== undefined) {
    note(
      `The group ${groupOfUser(row)} of the user ${name} has ${ofGroup.models.length} of the models, and so has the account`,
    );
  }
  // The account gets no list of models: a token may belong to a group with more models than the user's group. Each
  // token has its own list instead.
  return {
    ref: refOf(row),
    name,
    email,
    restriction: { ...unrestricted, limits: ofGroup.limits, isBlocked: !isOn(row) },
    creditNanodollars: credit ?? 0,
  };
}

/** Without a status it is on; a status that cannot be read is another than that. */
function isOn({ status }: ForeignRow): boolean {
  return status === null || status === undefined || readNumber(status) === 1;
}

/**
 * Identifies a user across imports. The number alone is ambiguous, because two imported databases number their users
 * alike. A user can change their name, and would then be imported as a new user and credited again. The code that they
 * invite others with never changes.
 */
function refOf({ id, username, aff_code: code }: ForeignRow): string {
  return `user:${id}:${textOf(code) ?? username}`;
}

interface KeyReading {
  readonly units: number;
  readonly readList: (names: readonly string[]) => string[];
  readonly groups: Groups;
  readonly losses: Losses;
  readonly heldFor: readonly string[];
}

/** Largest possible budget here, in US dollars; nobody spends more. */
const budgetUsdMax = 9_000_000;

function toKey(row: ForeignRow, owner: ForeignRow, { units, readList, groups, losses, heldFor }: KeyReading): DraftKey {
  const stored = String(row.key).trim();
  const name = (textOf(row.name) ?? `token ${row.id}`).slice(0, 200);
  const note = (message: string) => losses.note(`Token ${name} ${message}`);
  const text = stored.startsWith("sk-") ? stored : `sk-${stored}`;
  const holds = [...heldFor, ...examine("tokens", row, `Token ${name}`, losses)];
  const group = textOf(row.group) ?? "";
  const ofToken = groups.readToken(group, groupOfUser(owner));
  if (ofToken === undefined && losses.lose("tokens.group", `Token ${name}`)) holds.push("tokens.group");
  if (ofToken?.length === 0) note(`is of the group ${group}, which its user may not use, and is revoked here`);
  const networks = (textOf(row.allow_ips) ?? "").split("\n").flatMap((line) => textOf(line.replaceAll(",", "")) ?? []);
  const wrong = networks.filter((network) => !isNetwork(network));
  if (wrong.length > 0) note(`has invalid networks (${wrong.join(", ")}) and is revoked here`);
  const models = readModels(row, readList, note);
  if (!isOn(owner)) note("is of a user who is disabled, and is revoked here");
  const own: Restriction = {
    ...unrestricted,
    // The rest lasts for ever.
    budgets: flagOf(row.unlimited_quota, false)
      ? []
      : [
          {
            limitNanodollars: toNanodollars(Math.min(toUsd(row.remain_quota, units), budgetUsdMax)) ?? 0,
            period: "lifetime",
          },
        ],
    models,
    isBlocked: !isOn(row) || !isOn(owner) || wrong.length > 0 || ofToken?.length === 0,
  };
  const { models: ofGroup } = ofToken === undefined ? unrestricted : groups.restrict(ofToken);
  return {
    account: refOf(owner),
    name,
    sha256: createHash("sha256").update(text).digest("hex"),
    expiresAt: readEnd(row),
    allowedNetworks: networks.length === 0 || wrong.length > 0 ? undefined : networks,
    restriction: both(own, { ...unrestricted, models: ofGroup }),
    heldFor: holds,
  };
}

/** The rest of a quota in US dollars; one that cannot be read is used up. */
function toUsd(quota: unknown, units: number): number {
  return Math.max(0, readNumber(quota) ?? 0) / units;
}

/** Reads the end of a token. Only -1 means that it never ends. */
function readEnd({ expired_time: time }: ForeignRow): number | undefined {
  if (time === null || time === undefined) return undefined;
  const seconds = readNumber(time);
  if (seconds === -1) return undefined;
  return seconds === undefined || seconds < 1 ? 1 : seconds * 1000;
}

/** A list that is in force and empty allows nothing. */
function readModels(
  row: ForeignRow,
  readList: (names: readonly string[]) => string[],
  note: (message: string) => void,
): string[] | undefined {
  if (!flagOf(row.model_limits_enabled, true)) return undefined;
  const models = (textOf(row.model_limits) ?? "").split(",").filter(Boolean);
  if (models.length === 0) note("may use no model there, and is revoked here");
  return readList(models);
}
