import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type BudgetTarget,
  budgetsMax,
  commandLine,
  createBudget,
  createProject,
  type ForeignKey,
  importForeignKeys,
  listBudgets,
  listModelLimits,
  type ProjectChanges,
  setModelLimits,
} from "../../accounts/index.ts";
import { type Config, getCatalogueFolder } from "../../config/index.ts";
import {
  type BudgetPeriod,
  formatUsd,
  GatewayError,
  type Model,
  parseUsd,
  type RateLimits,
  type SubjectBudget,
} from "../../contract/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { Providers } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import type { OpenedStore } from "../lib/with-store.ts";

/**
 * Plan of a move from another gateway to this one. `--dry-run` prints it and everything else carries it out.
 * What this gateway cannot do as the other did is never made looser: it is made stricter or left out, and `notes` say so.
 */
export interface ImportPlan {
  /** The other gateway: `litellm`, `new-api`, `openrouter`. */
  readonly source: string;
  readonly models: readonly PlannedModel[];
  readonly providers: readonly PlannedProvider[];
  readonly accounts: readonly PlannedAccount[];
  readonly keys: readonly PlannedKey[];
  /** Losses and changes, one message each. */
  readonly notes: readonly string[];
}

/** A name that clients of the other gateway use. */
export interface PlannedModel {
  readonly name: string;
  /** Names of models here that serve it, by falling priority, or by weight where they have some; empty: none does. */
  readonly targets: readonly { readonly model: string; readonly weight?: number | undefined }[];
  /** US dollars for a million tokens of prompt and answer; absent: the other gateway does not say. */
  readonly theirs?: Rates | undefined;
  readonly ours?: Rates | undefined;
  /** `virtual`: a virtual model of that name is made; `served`: a model here has that name. */
  readonly kind: "served" | "virtual" | "missing";
}

export interface Rates {
  readonly input: number;
  readonly output: number;
}

/** A provider that is added by a manifest, or whose keys are stored. */
export interface PlannedProvider {
  readonly name: string;
  /** Absent: it is built in. */
  readonly manifest?: Readonly<Record<string, unknown>> | undefined;
  readonly keys: readonly string[];
}

/** Limits of one model, by its id here. */
export interface PlannedModelLimits {
  readonly model: string;
  readonly limits: RateLimits;
}

/** A budget beside the one that an account or key has by itself: of one model, or one that never begins anew. */
export interface PlannedBudget extends Pick<SubjectBudget, "limitNanodollars" | "period"> {
  /** The id of a model here; absent: the budget counts all calls of the account or key. */
  readonly model?: string | undefined;
}

export interface PlannedAccount {
  /** The id of the other gateway, unique in it. */
  readonly ref: string;
  readonly name: string;
  /** Address of the person whose own account it is; absent: a team without members. */
  readonly email?: string | undefined;
  readonly changes: ProjectChanges;
  /** Limits of single models for all of its keys together. */
  readonly modelLimits?: readonly PlannedModelLimits[];
  readonly budgets?: readonly PlannedBudget[];
  /** Prepaid money. */
  readonly creditNanodollars: number;
}

export interface PlannedKey extends Omit<ForeignKey, "accountId"> {
  /** {@link PlannedAccount.ref} */
  readonly account: string;
  /** Limits of single models for this key. */
  readonly modelLimits?: readonly PlannedModelLimits[];
  readonly budgets?: readonly PlannedBudget[];
}

/**
 * Leaves out what would go to somebody who has only signed up with the e-mail of a user there: their keys and their money are
 * of whoever has that e-mail, and here it is anybody's.
 */
export async function withoutClaimed(
  plan: ImportPlan,
  { accounts }: Pick<OpenedStore, "accounts">,
): Promise<ImportPlan> {
  const claimed = new Set<string>();
  const notes: string[] = [];
  for (const { ref, email, creditNanodollars: credit } of plan.accounts) {
    if (email === undefined || (await accounts.find(email))?.holder !== "claimed") continue;
    claimed.add(ref);
    const keys = plan.keys.filter(({ account }) => account === ref).length;
    const money = credit > 0 ? ` and ${formatUsd(credit)} USD` : "";
    notes.push(
      `${email} is only claimed here, by somebody who signed up with it: ${keys} keys${money} are left out. Take the account ` +
        `back (modelgate account invite ${email}, or POST /organization/invites), and import again`,
    );
  }
  if (claimed.size === 0) return plan;
  return {
    ...plan,
    accounts: plan.accounts.filter(({ ref }) => !claimed.has(ref)),
    keys: plan.keys.filter(({ account }) => !claimed.has(account)),
    notes: [...plan.notes, ...notes],
  };
}

/** Turns a sum in floating point into nanodollars; `undefined` for one that is none. */
export function toNanodollars(usd: unknown): number | undefined {
  const value = typeof usd === "string" ? Number(usd) : usd;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  return parseUsd(value.toFixed(9));
}

/**
 * A budget for a time in days as one of ours: for the next longer period, or of a longer one the share of a month, so that it is
 * never looser. Without a time it lasts for ever, and what is left of it is the limit.
 */
export function toBudget(
  { limit, spent, days }: { limit: number; spent: number; days: number | undefined },
  note: (message: string) => void,
): Pick<SubjectBudget, "limitNanodollars" | "period"> {
  if (days === undefined) return { limitNanodollars: Math.max(0, limit - spent), period: "lifetime" };
  if (spent > 0) note("has a budget that begins anew here: what it has spent in this period is not counted");
  const period = days <= 1 ? "day" : days <= 7 ? "week" : "month";
  if (days <= 31) {
    if (days !== 1 && days !== 7 && days < 28) note(`has a budget for ${days} days; here it is for a ${period}`);
    return { limitNanodollars: limit, period };
  }
  note(`has a budget for ${days} days; here it is the share of a month`);
  return { limitNanodollars: Math.floor((limit * 28) / days), period };
}

/** The part of a budget that an account or key has by itself, and the budgets beside it. */
export function splitBudget(budget: Pick<SubjectBudget, "limitNanodollars" | "period"> | undefined): {
  readonly own?: { readonly limitNanodollars: number; readonly period: BudgetPeriod };
  readonly budgets: readonly PlannedBudget[];
} {
  if (budget === undefined) return { budgets: [] };
  const { limitNanodollars, period } = budget;
  return period === "lifetime" ? { budgets: [budget] } : { own: { limitNanodollars, period }, budgets: [] };
}

/** Rates of a model here, as far as they are by the token. */
export function toRates({ price }: Model): Rates | undefined {
  const rateOf = (rate: { usd: string; per: number } | undefined) =>
    rate === undefined ? undefined : (Number(rate.usd) * 1_000_000) / rate.per;
  const [input, output] = [rateOf(price?.inputToken), rateOf(price?.outputToken)];
  return input === undefined ? undefined : { input, output: output ?? 0 };
}

/**
 * The price in the row of a model at an address of its own: theirs, else that of the model which has the same name here, with
 * what it is sold as. Without both it is not known, and its calls draw on the free quota until the operator sets one.
 */
export function toPricedRow(theirs: Rates | undefined, same: Model | undefined): Record<string, unknown> {
  const rate = (usd: number) => ({ usd: String(Number(usd.toFixed(9))), per: 1_000_000 });
  if (theirs !== undefined) {
    return { premium: true, price: { inputToken: rate(theirs.input), outputToken: rate(theirs.output) } };
  }
  if (same?.price === undefined) return { premium: false };
  const { capability, premium, price, audioMsMax, pagesMax, secondsMax } = same;
  return { capability, premium, price, audioMsMax, pagesMax, secondsMax };
}

export function formatPlan(plan: ImportPlan): string {
  const { models, providers, accounts, keys, notes } = plan;
  const parts: string[] = [];
  const section = (title: string, head: string[], rows: string[][]) => {
    if (rows.length > 0) parts.push(`${title}\n${columns([head, ...rows])}`);
  };
  section(
    "Models (USD for a million tokens of prompt / answer)",
    ["name", "served by", "theirs", "ours"],
    models.map(({ name, targets, theirs, ours }) => [
      name,
      targets.map(({ model }) => model).join(", ") || "nothing here",
      formatRates(theirs),
      formatRates(ours),
    ]),
  );
  section(
    "Providers",
    ["name", "added", "keys"],
    providers.map(({ name, manifest, keys: own }) => [
      name,
      manifest === undefined ? "built in" : String(manifest.baseUrl),
      String(own.length),
    ]),
  );
  section(
    "Accounts",
    ["name", "e-mail", "budget", "credit"],
    accounts.map(({ name, email = "", changes: { budget }, budgets = [], creditNanodollars: credit }) => [
      name,
      email,
      formatBudget(budget ?? budgets.find(({ model }) => model === undefined)),
      credit === 0 ? "" : formatUsd(credit),
    ]),
  );
  const nameOf = new Map(accounts.map(({ ref, name }) => [ref, name]));
  section(
    "Keys, which keep working",
    ["name", "account", "budget", "models", "ends"],
    keys.map(({ name, account, bounds = {}, budgets = [], allowedModels, expiresAt, isRevoked }) => [
      name,
      nameOf.get(account) ?? account,
      formatBudget(
        bounds.budgetNanodollars === undefined
          ? budgets.find(({ model }) => model === undefined)
          : { limitNanodollars: bounds.budgetNanodollars, period: bounds.budgetPeriod ?? "month" },
      ),
      allowedModels === undefined ? "all" : allowedModels.join(", "),
      isRevoked ? "revoked" : expiresAt === undefined ? "never" : new Date(expiresAt).toISOString().slice(0, 10),
    ]),
  );
  section(
    "Budgets of models",
    ["model", "of", "budget"],
    [...accounts, ...keys].flatMap(({ name, budgets = [] }) =>
      budgets.flatMap(({ model, ...budget }) => (model === undefined ? [] : [[model, name, formatBudget(budget)]])),
    ),
  );
  section(
    "Limits of models",
    ["model", "of", "requests/min", "tokens/min"],
    [...accounts, ...keys].flatMap(({ name, modelLimits = [] }) =>
      modelLimits.map(({ model, limits: { requestsPerMinute, tokensPerMinute } }) => [
        model,
        name,
        String(requestsPerMinute ?? "–"),
        String(tokensPerMinute ?? "–"),
      ]),
    ),
  );
  if (notes.length > 0) parts.push(["Not carried over as it was", ...notes.map((text) => `- ${text}`)].join("\n"));
  return parts.length === 0 ? "There is nothing to import" : parts.join("\n\n");
}

/** A budget for people: `5 USD a day`, `12 USD in all`; empty for none. */
export function formatBudget(budget: Pick<SubjectBudget, "limitNanodollars" | "period"> | undefined): string {
  if (budget === undefined) return "";
  const usd = formatUsd(budget.limitNanodollars);
  return budget.period === "lifetime" ? `${usd} USD in all` : `${usd} USD a ${budget.period}`;
}

function formatRates(rates: Rates | undefined): string {
  const toText = (value: number) => String(Number(value.toPrecision(6)));
  return rates === undefined ? "–" : `${toText(rates.input)} / ${toText(rates.output)}`;
}

/** A plan for `--json`, without secrets. */
export function toPlanJson({ providers, keys, ...plan }: ImportPlan) {
  return {
    ...plan,
    providers: providers.map(({ name, manifest, keys: own }) => ({
      name,
      base_url: manifest?.baseUrl ?? null,
      keys: own.length,
    })),
    keys: keys.map(({ sha256: _, ...key }) => key),
  };
}

/** Result of an import. */
export interface ImportResult {
  readonly accounts: number;
  readonly keys: number;
  readonly creditedNanodollars: number;
  readonly providers: number;
  readonly virtualModels: number;
  readonly notes: readonly string[];
}

/**
 * Carries a plan out. It may be repeated: accounts, keys, credits, providers and models that are there stay as they are.
 */
export async function applyPlan(
  plan: ImportPlan,
  { store, accounts: own }: OpenedStore,
  { config, providers, now }: { config: Config; providers: Providers; now: number },
): Promise<ImportResult> {
  const notes: string[] = [];
  const ids = new Map<string, string>();
  let created = 0;
  let credited = 0;
  for (const { ref, name, email, changes, creditNanodollars } of plan.accounts) {
    const address = email ?? addressOf(plan.source, ref);
    const ownAccount = await own.find(address);
    let id = ownAccount?.id;
    if (id === undefined) {
      created += 1;
      id = await createProject(store, { by: commandLine, name, email, address, changes }, () => now);
    }
    ids.set(ref, id);
    if (creditNanodollars === 0) continue;
    const note = `Balance of ${plan.source}`;
    const reference = `import:${plan.source}:${ref}`.slice(0, 200);
    try {
      const fields = { accountId: id, nanodollars: creditNanodollars, note, reference };
      if (!(await creditWallet(store, fields, () => now)).repeated) credited += creditNanodollars;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== "conflict") throw error;
      notes.push(`${name} was credited at an earlier import with another sum, which stays`);
    }
  }
  const keys = plan.keys.map(({ account, modelLimits: _, budgets: _budgets, ...key }) => ({
    ...key,
    accountId: ids.get(account) as string,
  }));
  const { added, ids: keyIds } = await importForeignKeys(store, keys, { now, by: commandLine.accountId });
  await setLimits(plan, store, { ids, keyIds, now });
  for (const { ref, name, budgets = [] } of plan.accounts) {
    const left = await addBudgets(store, { accountId: ids.get(ref) as string, budgets }, now);
    notes.push(...noteBudgets(name, left));
  }
  for (const { account, name, sha256, budgets = [] } of plan.keys) {
    const accountId = ids.get(account) as string;
    const left = await addBudgets(store, { accountId, keyId: keyIds.get(sha256), budgets }, now);
    notes.push(...noteBudgets(`The key ${name}`, left));
  }
  const addedProviders = await addProviders(plan.providers, providers, notes);
  const virtualModels = addVirtualModels(plan.models, config);
  return {
    accounts: created,
    keys: added,
    creditedNanodollars: credited,
    providers: addedProviders,
    virtualModels,
    notes,
  };
}

/** Sets the limits of models. Those that a model has there already stay. */
async function setLimits(
  { accounts, keys }: ImportPlan,
  store: OpenedStore["store"],
  { ids, keyIds, now }: { ids: ReadonlyMap<string, string>; keyIds: ReadonlyMap<string, string>; now: number },
): Promise<void> {
  const planned = [
    ...accounts.map(({ ref, modelLimits = [] }) => ({ accountId: ids.get(ref), keyId: undefined, modelLimits })),
    ...keys.map(({ account, sha256, modelLimits = [] }) => {
      return { accountId: ids.get(account), keyId: keyIds.get(sha256), modelLimits };
    }),
  ].filter(({ modelLimits }) => modelLimits.length > 0);
  for (const { accountId, keyId, modelLimits } of planned) {
    const present = await listModelLimits(store, accountId);
    for (const { model, limits } of modelLimits) {
      const isThere = present.some((one) => one.keyId === keyId && one.model === model);
      if (!isThere) await setModelLimits(store, { by: commandLine, accountId, keyId, model, limits }, now);
    }
  }
}

/**
 * Adds the budgets beside the own one of an account or of a key. Those that are there stay, with what they have counted.
 *
 * @returns Those that were not added, because the account has as many as it can.
 */
export async function addBudgets(
  store: OpenedStore["store"],
  { accountId, keyId, budgets }: { accountId: string; keyId?: string | undefined; budgets: readonly PlannedBudget[] },
  now: number,
): Promise<readonly PlannedBudget[]> {
  const left: PlannedBudget[] = [];
  for (const budget of budgets) {
    const { model, limitNanodollars, period } = budget;
    const target: BudgetTarget =
      model !== undefined
        ? { subject: "model", name: model, keyId, period }
        : keyId !== undefined
          ? { subject: "key", name: keyId, period }
          : { subject: "account", period };
    try {
      await createBudget(store, { by: commandLine, accountId, ...target, limitNanodollars }, now);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== "conflict") throw error;
      const present = await listBudgets(store, [accountId], { limit: budgetsMax });
      const fields = ["subject", "name", "keyId", "period"] as const;
      if (!present.some((one) => fields.every((field) => one[field] === target[field]))) left.push(budget);
    }
  }
  return left;
}

/** Notes of budgets that an account or key was not given. */
export function noteBudgets(who: string, left: readonly PlannedBudget[]): string[] {
  return left.map(({ model, ...budget }) => {
    const of = model === undefined ? "" : ` for ${model}`;
    return `${who} has no budget of ${formatBudget(budget)}${of} here: the account has ${budgetsMax}, its limit`;
  });
}

/** The address of a team that was imported, by which the next import finds it again. */
function addressOf(source: string, ref: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([source, ref]))
    .digest("hex")
    .slice(0, 32);
  return `import-${digest}@imported.invalid`;
}

async function addProviders(
  planned: readonly PlannedProvider[],
  { actions, settings, snapshot }: Providers,
  notes: string[],
): Promise<number> {
  let added = 0;
  for (const { name, manifest, keys } of planned) {
    const isThere =
      snapshot.plugins.some((plugin) => plugin.name === name) || settings.rows.get(name)?.isRemoved === false;
    try {
      if (manifest !== undefined && !isThere) {
        await actions.add(commandLine, name, manifest);
        added += 1;
      }
      const stored = new Set(settings.keysOf(name).map(({ secret }) => secret));
      for (const key of keys) if (!stored.has(key)) await actions.setKey(commandLine, name, key);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      notes.push(`The provider ${name} was not added: ${error.message}`);
    }
  }
  return added;
}

/** Adds virtual models to the operator's file. Names that stand there stay. */
function addVirtualModels(models: readonly PlannedModel[], config: Config): number {
  const rows = models
    .filter(({ kind }) => kind === "virtual")
    .map(({ name, targets }) => ({
      id: name,
      models: targets.map(({ model, weight }) => (weight === undefined ? model : { model, weight })),
      ...(targets.some(({ weight }) => weight !== undefined) && { strategy: "weight" }),
    }));
  const { path: folder } = getCatalogueFolder(config);
  const file = join(folder, "virtual.json");
  const present = existsSync(file) ? parseJson(readFileSync(file, "utf8"), "file") : { models: [] };
  const list = isRecord(present) ? present.models : present;
  if (!Array.isArray(list)) throw new UsageError(`${file} has no list of models; repair it first`);
  const ids = new Set(list.map((row) => (isRecord(row) ? row.id : undefined)));
  const fresh = rows.filter(({ id }) => !ids.has(id));
  if (fresh.length === 0) return 0;
  mkdirSync(folder, { recursive: true });
  // Renamed into place, so that a running gateway reads all of it or nothing.
  writeFileSync(`${file}.import`, `${JSON.stringify({ models: [...list, ...fresh] }, null, 2)}\n`);
  renameSync(`${file}.import`, file);
  return fresh.length;
}
