import { statfs } from "node:fs/promises";
import { hostname } from "node:os";
import { accountLabel } from "../../contract/index.ts";
import { callKeyOfTime, readSpentBudgets, type Store } from "../../db/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { ProviderHealth } from "../../providers/index.ts";
import { readLedgerCheck } from "./ledger-check.ts";
import type { NodeState, SharedState } from "./rules.ts";

const dayMs = 86_400_000;
/** A wallet that paid for nothing since then has been left. */
const activeDays = 7;
/** Maximum number of subjects reported, the worst first; a longer list would not be read. */
const subjectsMax = 200;
const callsMax = 1000;

/** Sources of a node's state other than its circuits. */
export interface NodeSources {
  /** The home folder. */
  readonly folder: string;
  readonly health: () => readonly ProviderHealth[];
  /** The ids of the models that were called in the last 30 days. */
  readonly usedModels: () => Promise<ReadonlySet<string>>;
}

/** Reads the state of this process: its circuits and keys, its models and its disk. */
export async function readNodeState(
  { registry, now }: Pick<Kernel, "registry" | "now">,
  { folder, health, usedModels }: NodeSources,
): Promise<NodeState> {
  const nowMs = now();
  const entries = [...registry.modelEntries];
  const routes = entries.flatMap((entry) => entry.routes);
  const used = await usedModels();
  return {
    routes: routes.map(({ plugin, model, circuitBreaker, health }) => {
      const isOpen = health.stateAt(nowMs) === "open" || circuitBreaker.stateAt(nowMs) !== "closed";
      return { plugin: plugin.name, model: model.id, isOpen, isImplausible: health.isImplausible(nowMs) };
    }),
    providers: health().map(({ provider, state, reason, since, last, keys }) => {
      const unusable = keys.filter((key) => key.state === "refused" || key.state === "degraded").length;
      const isTestLatest = last.test !== undefined && last.test.at > (last.error?.at ?? 0);
      const failure = isTestLatest ? undefined : last.error;
      const lastFailure = failure && { kind: failure.kind, status: failure.status };
      return { provider, state, reason, since, lastFailure, keys: { total: keys.length, unusable } };
    }),
    // In the sandbox no provider serves them, and the end of one that nobody calls concerns nobody.
    models: entries.filter((entry) => entry.routes.some(isReal) && used.has(entry.model.id)).map(({ model }) => model),
    disk: await readDisk(folder),
  };
}

const isReal = ({ plugin }: { plugin: { name: string } }) => plugin.name !== "sandbox";

/**
 * How full the disk of a folder is, as `df` computes it: space reserved for the system counts neither as used nor as
 * free.
 */
export async function readDisk(folder: string): Promise<NodeState["disk"]> {
  try {
    const { blocks, bfree, bavail } = await statfs(folder);
    const used = blocks - bfree;
    return used + bavail === 0 ? undefined : { name: `${hostname()}:${folder}`, usedShare: used / (used + bavail) };
  } catch {
    return undefined;
  }
}

/** Parts of the shared state that the rules need. */
interface Wanted {
  /** Wallets below this. */
  readonly walletBelow: number;
  /** Absent: of all accounts that used theirs lately. */
  readonly accountIds?: readonly string[];
  readonly now: number;
}

/**
 * Reads the state shared by all nodes. Each query is bounded, since an embedded store answers on the thread that serves
 * calls.
 */
export async function readSharedState(store: Store, { walletBelow, accountIds, now }: Wanted): Promise<SharedState> {
  const isOfAll = accountIds === undefined;
  return {
    wallets: await readWallets(store, { walletBelow, now, ...(accountIds && { accountIds }) }),
    // Spending of less than half of a budget is not reported.
    budgets: await readSpentBudgets(store, now, {
      accountIds,
      leastShare: 0.5,
      limit: isOfAll ? subjectsMax : subjectsMax * 10,
    }),
    usage: isOfAll ? await readEstimates(store, now) : { calls: 0, estimated: 0 },
    ledger: isOfAll ? await readLedgerCheck(store) : undefined,
  };
}

async function readWallets({ db }: Store, { walletBelow, accountIds, now }: Wanted): Promise<SharedState["wallets"]> {
  const today = Math.floor(now / dayMs);
  const rows = await db
    .selectFrom("wallets")
    .innerJoin("accounts", "accounts.id", "wallets.account_id")
    .select(["accounts.id", "accounts.email", "accounts.name", "wallets.balance_nanodollars"])
    .where("wallets.balance_nanodollars", "<", walletBelow)
    .where("accounts.disabled_at", "is", null)
    .where("accounts.billed_afterwards", "=", 0)
    .$if(accountIds !== undefined, (query) => query.where("accounts.id", "in", accountIds ?? []))
    .$if(accountIds === undefined, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom("daily_charges")
            .select("daily_charges.day")
            .whereRef("daily_charges.account_id", "=", "accounts.id")
            .where("daily_charges.day", ">", today - activeDays),
        ),
      ),
    )
    .orderBy("wallets.balance_nanodollars")
    .limit(subjectsMax)
    .execute();
  return rows.map(({ id, balance_nanodollars: nanodollars, ...names }) => ({
    accountId: id,
    account: accountLabel(names),
    nanodollars,
  }));
}

async function readEstimates({ db }: Store, now: number): Promise<SharedState["usage"]> {
  const rows = await db
    .selectFrom(
      db
        .selectFrom("calls")
        .select("usage_source")
        .where("id_bytes", ">", callKeyOfTime(now - dayMs))
        .where("state", "=", "settled")
        .orderBy("id_bytes", "desc")
        .limit(callsMax)
        .as("latest"),
    )
    .select(({ fn }) => ["usage_source", fn.countAll().as("calls")])
    .groupBy("usage_source")
    .execute();
  const calls = rows.reduce((sum, row) => sum + Number(row.calls), 0);
  const estimated = rows.find((row) => row.usage_source === "estimated")?.calls;
  return { calls, estimated: estimated === undefined ? 0 : Number(estimated) };
}
