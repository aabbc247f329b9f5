import { accountLabel, formatUsd, GatewayError, type KeyLimits } from "../../contract/index.ts";
import { findCredentials, type HashedCredential, hashCredentials } from "../../dashboard/data/find-credentials.ts";
import { findLeaked, type LeakedCredential } from "../../identity/index.ts";
import { type ApiKey, cacheMarksSettings, graceSecondsDefault, toKeyFieldsJson } from "../../keys/index.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { readKeyCallers, readKeyCosts } from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { columns, toIsoTime } from "../lib/format.ts";
import {
  expiryForms,
  parseAllowedModels,
  parseBudget,
  parseCacheMarks,
  parseCount,
  parseExpiry,
  parseKeyId,
  parseLimit,
  parseNetworkList,
  parseOrNone,
  parsePeriod,
  periods,
} from "../lib/parse.ts";
import { expectAccount, expectRecipient, type OpenedStore, withStore } from "../lib/with-store.ts";

const limitFlags = {
  "budget-usd": { value: "5.00", description: "Budget for its paid calls in a period" },
  "budget-period": {
    value: "P",
    description: "Period of the budget in UTC: day, week or month (default)",
    choices: periods,
  },
  "requests-per-minute": { value: "N", description: "Requests per minute, in addition to the account's limit" },
  "tokens-per-minute": { value: "N", description: "Tokens per minute, in addition to the account's limit" },
  "concurrent-calls": { value: "N", description: "Concurrent calls" },
} as const;

const changeFlags = {
  name: { value: "N", description: "Purpose of the key" },
  expires: { value: "30d", description: `Expiry: ${expiryForms}` },
  models: { value: "a,b", description: "Models the key may use" },
  networks: { value: "a,b", description: "Addresses and CIDR ranges it may be used from" },
  "cache-marks": {
    value: "W",
    description: "Marks for prompt caches where its client makes none: auto (default) or off",
    choices: cacheMarksSettings,
  },
  ...limitFlags,
} as const;

export const keyCreate = defineCommand({
  name: "key create",
  description: "Create an API key; it is printed only once",
  flags: {
    account: { value: "A", description: "Id or e-mail of the account", required: true },
    ...changeFlags,
    name: { ...changeFlags.name, required: true },
    models: { value: "a,b", description: "Models the key may use (default: all)" },
  },
  args: [],
  example: "key create --account ada@example.org --name laptop --budget-usd 5.00",
  async run(context, { flags, config, now }) {
    const expiresAt = flags.expires === undefined ? undefined : parseExpiry(flags.expires, now);
    const allowedModels =
      flags.models === undefined ? undefined : await parseAllowedModels(flags.models, context, config);
    const bounds = parseLimits(flags, (text, parse) => parse(text));
    const allowedNetworks = flags.networks === undefined ? undefined : parseNetworkList(flags.networks);
    const cacheMarks = flags["cache-marks"] === undefined ? undefined : parseCacheMarks(flags["cache-marks"]);
    const create = async ({ accounts }: OpenedStore) => {
      const { id: accountId } = await expectRecipient(accounts, flags.account);
      return accounts.createKey({
        accountId,
        by: "cli",
        name: flags.name,
        expiresAt,
        allowedModels,
        allowedNetworks,
        cacheMarks,
        bounds,
      });
    };
    const { id, key } = await withStore(config, create, now);
    const advice = `Keep it: only its hash is stored. Revoke it with modelgate key revoke ${id}`;
    return { json: { id, key }, text: `${key}\n${advice}` };
  },
});

export const keyList = defineCommand({
  name: "key list",
  description: "List the API keys, without their secrets",
  flags: {
    account: { value: "A", description: "Only keys of this account, by id or e-mail" },
    "made-by": { value: "P", description: "Only keys that this person made, in any account" },
  },
  args: [],
  example: "key list --account ada@example.org",
  async run(_context, { flags, config, now }) {
    const { keys, owners } = await withStore(config, async ({ accounts }) => {
      const account = flags.account === undefined ? undefined : await expectAccount(accounts, flags.account);
      const owners = new Map((await accounts.list()).map((one) => [one.id, accountLabel(one)]));
      const maker = flags["made-by"] === undefined ? undefined : (await expectAccount(accounts, flags["made-by"])).id;
      const keys = await accounts.listKeys(account?.id);
      return { keys: keys.filter(({ createdBy }) => maker === undefined || createdBy === maker), owners };
    });
    const rows = keys.map((key) => {
      const models = key.allowedModels === undefined ? "all models" : key.allowedModels.join(",");
      const owner = owners.get(key.accountId) ?? key.accountId;
      return [key.id, owner, key.name, formatState(key, now), models, formatBudget(key), formatLastUse(key)];
    });
    const heading = ["id", "account", "name", "state", "models", "budget", "last use"];
    const isWhole = flags.account === undefined && flags["made-by"] === undefined;
    const empty = isWhole ? "No keys yet; create one with modelgate key create" : "No key fits";
    const text = rows.length === 0 ? empty : columns([heading, ...rows]);
    return { json: keys.map((key) => toKeyJson(key, now)), text };
  },
});

export const keyFind = defineCommand({
  name: "key find",
  description: "Find the keys and tokens in a text on standard input, and say whose they are and whether they work",
  flags: {},
  args: [],
  example: "key find < found.log",
  async run(context, { config, now }) {
    const text = await context.stdin?.();
    if (text === undefined || text.trim() === "") {
      throw new UsageError("Standard input is empty, expected the text with the key there");
    }
    const credentials = await hashCredentials(findCredentials(text));
    const lines = await withStore(
      config,
      ({ store, accounts }) => Promise.all(credentials.map((one) => describeLeaked({ store, accounts }, one, now))),
      now,
    );
    const empty = "The text has no key or token of a gateway";
    return {
      json: lines.map(({ json }) => json),
      text: lines.length === 0 ? empty : lines.map(({ text }) => text).join("\n\n"),
      exitCode: lines.some(({ json }) => json.status !== "not_found") ? exitCodes.success : exitCodes.notFound,
    };
  },
});

export const keyCallers = defineCommand({
  name: "key callers",
  description: "List the networks and programs that used an API key in the last 30 days",
  flags: {},
  args: ["ID"],
  example: "key callers ID",
  async run(_context, { args, config, now }) {
    const keyId = parseKeyId(args.ID);
    const read = async ({ store, accounts }: OpenedStore) => {
      if ((await accounts.findKeyOwner(keyId)) === undefined) {
        throw new GatewayError("not_found", `No API key has the id ${JSON.stringify(keyId)}`);
      }
      return await readKeyCallers(store, { keyId, days: callerDays, now });
    };
    const callers = await withStore(config, read, now);
    const heading = ["network", "program", "requests", "first seen", "last seen", ""];
    const text =
      callers.length === 0 ? "No use of this key is recorded" : columns([heading, ...callers.map(toCallerRow)]);
    return { json: callers.map(toCallerJson), text };
  },
});

/** Days of the callers and costs of a key. */
const callerDays = 30;
const dayMs = 86_400_000;

type Caller = Awaited<ReturnType<typeof readKeyCallers>>[number];

function toCallerRow({ network, program, requests, firstAt, lastAt, isNew }: Caller): string[] {
  const name = program === "" ? "-" : program;
  return [network, name, String(requests), formatMinute(firstAt), formatMinute(lastAt), isNew ? "new" : ""];
}

function toCallerSentence({ network, program, requests, firstAt, lastAt, isNew }: Caller): string {
  const name = program === "" ? "" : `, ${program}`;
  const times = `${formatMinute(firstAt)} to ${formatMinute(lastAt)}`;
  return `from ${network}${name}: ${requests} ${requests === 1 ? "request" : "requests"}, ${times}${isNew ? ", new" : ""}`;
}

function toCallerJson({ network, program, requests, firstAt, lastAt, isNew }: Caller) {
  const times = { first_seen_at: toIsoTime(firstAt), last_seen_at: toIsoTime(lastAt) };
  return { network, program, requests, ...times, is_new: isNew };
}

/** Says what the secret that was found is, and whether it opens anything. */
function describeSecret({ secret, isUsable }: Pick<LeakedCredential, "secret" | "isUsable">): string {
  if (secret === "unchecked") return "found by its id; the secret was not compared";
  if (secret === "other") return "not its secret, or an older one";
  const which = secret === "current" ? "its secret" : "its secret before the latest rotation";
  return `${which}, which ${isUsable === true ? "WORKS" : "does not work"}`;
}

async function describeLeaked(
  { store, accounts }: Pick<OpenedStore, "store" | "accounts">,
  leaked: HashedCredential,
  now: number,
) {
  const credential = await findLeaked(store, leaked, now);
  if (credential === undefined) {
    const json = { type: leaked.type, id: leaked.id ?? null, status: "not_found", usable: null };
    return {
      json,
      text: `${leaked.type.replace("_", " ")} ${leaked.id ?? "of another gateway"}: none of this gateway`,
    };
  }
  const { type, id, apiKey, adminKey, secret, status, isUsable } = credential;
  const owner = apiKey && (await accounts.find(apiKey.accountId));
  const maker = apiKey?.createdBy === undefined ? undefined : await accounts.find(apiKey.createdBy);
  const holder = maker === undefined || maker.id === owner?.id ? undefined : accountLabel(maker);
  const last = Math.floor(now / dayMs);
  const costOf = async (days: number) =>
    apiKey && (await readKeyCosts(store, [apiKey], { first: last - days + 1, last })).get(apiKey.id);
  const [today, month] = [await costOf(1), await costOf(callerDays)];
  const callers = apiKey === undefined ? [] : await readKeyCallers(store, { keyId: apiKey.id, days: callerDays, now });
  const key = apiKey ?? adminKey;
  const json = {
    type,
    id,
    status,
    secret,
    usable: isUsable ?? null,
    name: key?.name ?? null,
    key_id: apiKey?.id ?? null,
    account: owner?.id ?? null,
    email: owner?.email ?? null,
    holder: holder ?? null,
    replaced_at: toIsoTime(credential.replacedAt),
    last_used_at: toIsoTime(key?.lastUsedAt),
    cost_today_usd: apiKey === undefined ? null : formatUsd(today ?? 0),
    cost_30_days_usd: apiKey === undefined ? null : formatUsd(month ?? 0),
    callers: callers.map(toCallerJson),
  };
  const whose =
    owner === undefined ? "" : ` of ${accountLabel(owner)}${holder === undefined ? "" : `, made by ${holder}`}`;
  const end = apiKey === undefined ? `modelgate admin-key revoke ${id}` : `modelgate key revoke ${apiKey.id}`;
  const lines = [
    `${type.replace("_", " ")} ${id}, “${key?.name ?? ""}”${whose}: ${describeSecret(credential)}; the key is ${status}`,
    ...(credential.replacedAt === undefined ? [] : [`replaced ${formatMinute(credential.replacedAt)}`]),
    key?.lastUsedAt === undefined ? "never used" : `last used ${formatMinute(key.lastUsedAt)}`,
    ...(apiKey === undefined ? [] : [`cost ${json.cost_today_usd} USD today, ${json.cost_30_days_usd} USD in 30 days`]),
    ...callers.slice(0, 10).map(toCallerSentence),
    // A secret that was replaced opens nothing, and the key of today is somebody's at work.
    ...(status === "active" && isUsable !== false ? [`to end it: ${end}`] : []),
  ];
  return { json, text: lines.map(toTerminalLine).join("\n  ") };
}

export const keySet = defineCommand({
  name: "key set",
  description: "Change an API key; use `none` to remove a limit, omitted flags are unchanged",
  flags: changeFlags,
  args: ["ID"],
  example: "key set ID --budget-usd 5.00",
  async run(context, { flags, args, config, now }) {
    const changes = {
      name: flags.name,
      expiresAt: parseOrNone(flags.expires, (text) => parseExpiry(text, now)),
      allowedModels: await parseOrNone(flags.models, (text) => parseAllowedModels(text, context, config)),
      allowedNetworks: parseOrNone(flags.networks, parseNetworkList),
      cacheMarks: flags["cache-marks"] === undefined ? undefined : parseCacheMarks(flags["cache-marks"]),
      bounds: parseLimits(flags, parseOrNone),
    };
    const { bounds, ...others } = changes;
    const values = [...Object.values(bounds), ...Object.values(others)];
    if (values.every((change) => change === undefined)) {
      throw new UsageError(`Nothing to change, expected one of --${Object.keys(changeFlags).join(", --")}`);
    }
    const id = parseKeyId(args.ID);
    const change = async ({ accounts }: OpenedStore) => {
      await accounts.changeKey(id, changes, "cli");
      return (await accounts.listKeys()).find((key) => key.id === id) as ApiKey;
    };
    const key = await withStore(config, change, now);
    const json = { id, name: key.name, expires_at: toIsoTime(key.expiresAt), ...toKeyFieldsJson(key) };
    const pairs = Object.entries(json).map(([name, value]) => `${name} ${value ?? "none"}`);
    return { json, text: pairs.join(", ") };
  },
});

export const keyRotate = defineCommand({
  name: "key rotate",
  description: "Replace the secret of an API key; the new one is printed only once, the old one works for a while",
  flags: { "grace-seconds": { value: "N", description: "How long the old secret still works (default: an hour)" } },
  args: ["ID"],
  example: "key rotate ID --grace-seconds 3600",
  async run(_context, { flags, args, config, now }) {
    const graceSeconds = parseCount("--grace-seconds", flags["grace-seconds"] ?? String(graceSecondsDefault));
    const id = parseKeyId(args.ID);
    const rotate = ({ accounts }: OpenedStore) => accounts.rotateKey(id, graceSeconds, "cli");
    const { key, previousUntil } = await withStore(config, rotate, now);
    const until = new Date(previousUntil).toISOString();
    return { json: { id, key, previous_until: until }, text: `${key}\nThe old secret works until ${until}` };
  },
});

export const keyRevoke = defineCommand({
  name: "key revoke",
  description: "Revoke an API key permanently",
  flags: {},
  args: ["ID"],
  example: "key revoke ID",
  async run(_context, { args, config }) {
    const id = parseKeyId(args.ID);
    await withStore(config, ({ accounts }) => accounts.revokeKey(id, "cli"));
    return { json: { id, revoked: true }, text: `Revoked ${id}` };
  },
});

type LimitFlags = { readonly [Name in keyof typeof limitFlags]?: string | undefined };

function parseLimits<Value>(
  flags: LimitFlags,
  parse: (text: string, parseValue: (text: string) => number) => Value,
): { [Name in Exclude<keyof KeyLimits, "budgetPeriod">]: Value | undefined } & Pick<KeyLimits, "budgetPeriod"> {
  const read = (
    flag: Exclude<keyof LimitFlags, "budget-period">,
    parseFlag: (flag: string, text: string) => number,
  ) => {
    const text = flags[flag];
    return text === undefined ? undefined : parse(text, (value) => parseFlag(`--${flag}`, value));
  };
  return {
    budgetNanodollars: read("budget-usd", parseBudget),
    budgetPeriod: flags["budget-period"] === undefined ? undefined : parsePeriod(flags["budget-period"]),
    requestsPerMinute: read("requests-per-minute", parseLimit),
    tokensPerMinute: read("tokens-per-minute", parseLimit),
    concurrentCalls: read("concurrent-calls", parseLimit),
  };
}

function toKeyJson(key: ApiKey, now: number) {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    state: formatState(key, now).split(" ")[0],
    expires_at: toIsoTime(key.expiresAt),
    ...toKeyFieldsJson(key),
    budget_used_usd: key.bounds.budgetNanodollars === undefined ? null : formatUsd(key.spentNanodollars),
    created_at: toIsoTime(key.createdAt),
    revoked_at: toIsoTime(key.revokedAt),
    held_for: key.heldFor?.split(", ") ?? null,
    last_used_at: toIsoTime(key.lastUsedAt),
  };
}

function formatBudget({ bounds, spentNanodollars }: ApiKey): string {
  const budget = bounds.budgetNanodollars;
  const period = bounds.budgetPeriod ?? "month";
  return budget === undefined
    ? "no budget"
    : `${formatUsd(spentNanodollars)} of ${formatUsd(budget)} USD this ${period}`;
}

function formatState({ revokedAt, expiresAt, heldFor }: ApiKey, now: number): string {
  if (heldFor !== undefined) return `revoked by its import, for ${heldFor}`;
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt === undefined) return "active";
  return expiresAt <= now ? "expired" : `active until ${formatMinute(expiresAt)}`;
}

function formatLastUse({ lastUsedAt }: ApiKey): string {
  return lastUsedAt === undefined ? "never used" : `last used ${formatMinute(lastUsedAt)}`;
}

function formatMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}
