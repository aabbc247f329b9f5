import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "../../audit/index.ts";
import { type Config, getCatalogueFolder } from "../../config/index.ts";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { inTransaction, type TransactionScope } from "../../db/index.ts";
import { importForeignKeys } from "../../keys/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import type { Providers } from "../../providers/index.ts";
import { replaceFile } from "../../providers/write-file.ts";
import {
  type BudgetTarget,
  budgetsMax,
  createBudget,
  createProject,
  isSameTarget,
  listBudgets,
  listModelLimits,
  noteImported,
  setModelLimits,
} from "../../tenants/index.ts";
import { UsageError } from "../command.ts";
import type { OpenedStore } from "../lib/with-store.ts";
import { formatBudget, type ImportPlan, type PlannedAccount, type PlannedModel, type PlannedProvider } from "./plan.ts";
import type { PlannedBudget } from "./restrictions.ts";
import { addressOf } from "./settle-plan.ts";

/** Result of an import. */
export interface ImportResult {
  readonly accounts: number;
  readonly keys: number;
  /** Keys that an earlier import held back, and that are usable now. */
  readonly releasedKeys: number;
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
  { store }: OpenedStore,
  { config, providers, now }: { config: Config; providers: Providers; now: number },
): Promise<ImportResult> {
  const notes: string[] = [];
  const ids = new Map<string, string>();
  let created = 0;
  let credited = 0;
  for (const account of plan.accounts) {
    const { ref, name, id: hereId, sharedWith, creditNanodollars } = account;
    let id = hereId ?? (sharedWith === undefined ? undefined : ids.get(sharedWith));
    try {
      if (id === undefined && sharedWith === undefined) {
        id = await createImported(store, account, { source: plan.source, notes, now });
        created += 1;
      }
    } catch (error) {
      // One account that cannot be here stops no other.
      notes.push(`The account ${name} was left out with its keys: ${refusalOf(error).message}`);
    }
    if (id === undefined) continue;
    ids.set(ref, id);
    if (creditNanodollars === 0) continue;
    const note = `Balance of ${plan.source}`;
    const reference = `import:${plan.source}:${ref}`.slice(0, 200);
    try {
      const fields = { accountId: id, nanodollars: creditNanodollars, note, reference };
      if (!(await creditWallet(store, fields, () => now)).repeated) credited += creditNanodollars;
    } catch (error) {
      const { code, message } = refusalOf(error);
      const earlier = `${name} was credited at an earlier import with another sum, which stays`;
      notes.push(
        code === "conflict" ? earlier : `${name} was not credited ${formatUsd(creditNanodollars)} USD: ${message}`,
      );
    }
  }
  const keys = plan.keys.flatMap((key) => {
    const accountId = ids.get(key.account);
    return accountId === undefined ? [] : [{ ...key, accountId }];
  });
  const { added, released, refused } = await importForeignKeys(store, keys, {
    now,
    by: commandLine.accountId,
    restrict: async (scope, { name, ...key }, keyId) => {
      notes.push(...noteBudgets(`The key ${name}`, await restrict(scope, { ...key, keyId }, now)));
    },
  });
  notes.push(...refused.map(({ name, reason }) => `The key ${name} was left out: ${reason}`));
  const addedProviders = await addProviders(plan.providers, providers, notes);
  const virtualModels = addVirtualModels(plan.models, config);
  return {
    accounts: created,
    keys: added,
    releasedKeys: released,
    creditedNanodollars: credited,
    providers: addedProviders,
    virtualModels,
    notes: notes.map(toTerminalLine),
  };
}

/** Creates an account with all that restricts it at once: cut off between the two, it would be there without. */
function createImported(
  store: OpenedStore["store"],
  { ref, name, email, changes, ...restrictions }: PlannedAccount,
  { source, notes, now }: { source: string; notes: string[]; now: number },
): Promise<string> {
  const fields = { by: commandLine, name, email, address: email ?? addressOf(source, ref), changes };
  return inTransaction(store, async (scope) => {
    const accountId = await createProject(scope, fields, () => now);
    notes.push(...noteBudgets(name, await restrict(scope, { ...restrictions, accountId }, now)));
    await noteImported(scope, { source, kind: "account", ref, target: accountId }, now);
    return accountId;
  });
}

/** A refusal of what another gateway wrote. @throws Anything else. */
function refusalOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  throw error;
}

/**
 * Adds the limits and budgets of an account or a key. Existing limits of a model stay, and so do existing budgets.
 *
 * @returns Budgets that were not added because the account is full.
 */
async function restrict(
  scope: TransactionScope,
  {
    accountId,
    keyId = "",
    modelLimits,
    budgets,
  }: Pick<PlannedAccount, "modelLimits" | "budgets"> & { accountId: string; keyId?: string },
  now: number,
): Promise<readonly PlannedBudget[]> {
  const present = modelLimits.length === 0 ? [] : await listModelLimits(scope, [accountId]);
  for (const { model, limits } of modelLimits) {
    const isThere = present.some((one) => one.key_id === keyId && one.model === model);
    if (isThere) continue;
    const columns = {
      requests_per_minute: limits.requestsPerMinute ?? null,
      tokens_per_minute: limits.tokensPerMinute ?? null,
    };
    await setModelLimits(scope, { by: commandLine, accountId, key_id: keyId, model, ...columns }, now);
  }
  return await addBudgets(scope, { accountId, keyId: keyId === "" ? undefined : keyId, budgets }, now);
}

/**
 * Adds the budgets that an account or a key has besides its own. Existing budgets stay, with the spending they counted.
 *
 * @returns Budgets that were not added because the account already has the maximum number.
 */
export async function addBudgets(
  store: TransactionScope,
  { accountId, keyId, budgets }: { accountId: string; keyId?: string | undefined; budgets: readonly PlannedBudget[] },
  now: number,
): Promise<readonly PlannedBudget[]> {
  const left: PlannedBudget[] = [];
  for (const budget of budgets) {
    const { model, limitNanodollars: budget_nanodollars, period: budget_period } = budget;
    const target: BudgetTarget =
      model !== undefined
        ? { subject: "model", name: model, key_id: keyId ?? null, budget_period }
        : keyId !== undefined
          ? { subject: "key", name: keyId, budget_period }
          : { subject: "account", budget_period };
    try {
      await createBudget(store, { by: commandLine, accountId, ...target, budget_nanodollars }, now);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== "conflict") throw error;
      const present = await listBudgets(store, [accountId], { limit: budgetsMax });
      if (!present.some((one) => isSameTarget(one, target))) left.push(budget);
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

/** Adds virtual models to the operator's file. Names that the file already has stay as they are. */
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
  replaceFile(file, `${JSON.stringify({ models: [...list, ...fresh] }, null, 2)}\n`);
  return fresh.length;
}
