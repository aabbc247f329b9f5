import { nanodollarsPerUsd } from "../contract/index.ts";
import type { SpentBudget } from "../db/index.ts";
import type { Model } from "../provider/index.ts";
import { type FailedCalls, failureMinutes, type ServiceState } from "./service-health.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** A rule: the unit and default of its threshold, and how long a problem must last before a message is sent. */
interface RuleInfo {
  readonly unit?: "usd" | "percent" | "days";
  /** In nanodollars for `usd`. */
  readonly threshold?: number;
  readonly delayMs?: number;
  /** Whether account holders have the rule too, for their own account. */
  readonly isForAccounts?: boolean;
}

export const rules = {
  wallet_low: { unit: "usd", threshold: 1_000_000_000, isForAccounts: true },
  /** Minimum share of a budget for an alert; it alerts at 50, 80 and 100 %. */
  budget: { unit: "percent", threshold: 50, isForAccounts: true },
  store_failing: {},
  calls_failing: { unit: "percent", threshold: 5 },
  provider_failing: { delayMs: minuteMs },
  circuit_open: {},
  model_retires: { unit: "days", threshold: 30 },
  usage_implausible: {},
  usage_estimated: { unit: "percent", threshold: 10 },
  ledger_difference: {},
  disk_full: { unit: "percent", threshold: 90 },
} as const satisfies Record<string, RuleInfo>;

export type Rule = keyof typeof rules;
export const ruleNames = Object.keys(rules) as Rule[];
export const getRuleInfo = (rule: Rule): RuleInfo => rules[rule];

/** A problem of one subject. A higher `level` is worse and is sent at once. */
export interface Finding {
  /** `metric`: a rule of the operator's own, whose id is the subject. */
  readonly rule: Rule | "metric";
  readonly subject: string;
  readonly level: number;
  readonly text: string;
}

/** The threshold of each rule that is switched on; of a rule without one it is 0. */
export type Thresholds = Partial<Record<Rule, number>>;

export interface RouteHealth {
  readonly plugin: string;
  readonly model: string;
  readonly isOpen: boolean;
  /** Its provider reported usage lately that no call can have. */
  readonly isImplausible?: boolean;
}

/** The health of a provider. */
export interface ProviderState {
  readonly provider: string;
  readonly state: "working" | "degraded" | "failing" | "refused" | "unknown";
  readonly reason: string | undefined;
  /** The provider's words are not here: they may repeat a prompt, and an alert leaves the gateway. */
  readonly lastFailure: { readonly kind: string; readonly status: number | undefined } | undefined;
  /** How many of its keys are refused or paused, of how many. */
  readonly keys: { readonly total: number; readonly unusable: number };
}

/** State of one node. */
export interface NodeState {
  readonly routes: readonly RouteHealth[];
  /** State of each provider that serves models. */
  readonly providers: readonly ProviderState[];
  /** Models that were called lately. */
  readonly models: readonly Pick<Model, "id" | "retiredOn" | "successor">[];
  /** Absent where the platform does not say. */
  readonly disk?: { readonly name: string; readonly usedShare: number } | undefined;
}

/** State shared by all nodes. */
export interface SharedState {
  readonly wallets: readonly { readonly accountId: string; readonly account: string; readonly nanodollars: number }[];
  /** Budgets in their running period. */
  readonly budgets: readonly SpentBudget[];
  /** Counts of the latest calls of a day. */
  readonly usage: { readonly calls: number; readonly estimated: number };
  /** Result of the last verification; absent before the first. */
  readonly ledger?: { readonly differences: number; readonly first?: string | undefined } | undefined;
}

/** Fewer calls say nothing about the share of estimates. */
const estimatedCallsMin = 20;
/** How long after its retirement a model is still reported. */
const retiredDays = 7;
const namesMax = 5;
const nameLengthMax = 80;

/** How long calls cannot be recorded before that is an alert: restarting a database takes less time. */
const troubleMs = 30_000;
/** Fewer failed calls say nothing about their share. */
const failedCallsMin = 5;

/** Checks the state that a process knows without the database. */
export function checkService(state: ServiceState, thresholds: Thresholds, now: number): Finding[] {
  const { store_failing: trouble, calls_failing: percent } = thresholds;
  return [
    ...(trouble === undefined ? [] : findTrouble(state, now)),
    ...(percent === undefined ? [] : findFailingCalls(state, percent)),
  ];
}

function findTrouble({ gateway, trouble }: ServiceState, now: number): Finding[] {
  if (trouble === undefined || now - trouble.since < troubleMs) return [];
  const text = `The gateway ${gateway} refuses calls. ${trouble.text}`;
  return [{ rule: "store_failing", subject: gateway, level: 1, text }];
}

/**
 * Reports the symptom, whatever its cause. The long window shows that it matters, the short window that it continues.
 */
function findFailingCalls({ gateway, long, short }: ServiceState, threshold: number): Finding[] {
  const isBeyond = ({ calls, failed }: FailedCalls) => failed * 100 > calls * threshold;
  if (long.failed < failedCallsMin || !isBeyond(long) || !isBeyond(short)) return [];
  const shareOf = ({ calls, failed }: FailedCalls) => `${Math.floor((failed * 100) / calls)} %`;
  const text = `${shareOf(long)} of the calls of the gateway ${gateway} ended with 500 or 503 in ${failureMinutes.long} minutes, ${shareOf(short)} in the last ${failureMinutes.short}`;
  return [{ rule: "calls_failing", subject: gateway, level: 1, text }];
}

/** Checks the state of one node. */
export function checkNode(state: NodeState, thresholds: Thresholds, now: number): Finding[] {
  const { model_retires: days, disk_full: percent } = thresholds;
  return [
    ...(thresholds.circuit_open === undefined ? [] : findOpenCircuits(state)),
    ...(thresholds.provider_failing === undefined ? [] : findFailingProviders(state)),
    ...(thresholds.usage_implausible === undefined ? [] : findImplausible(state)),
    ...(days === undefined ? [] : findRetiring(state, days, now)),
    ...(percent === undefined ? [] : findFullDisk(state, percent)),
  ];
}

/** Checks the shared state. */
export function checkShared(state: SharedState, thresholds: Thresholds): Finding[] {
  const { wallet_low: low, budget, usage_estimated: share } = thresholds;
  return [
    ...(low === undefined ? [] : findLowWallets(state, low)),
    ...(budget === undefined ? [] : findSpentBudgets(state, budget)),
    ...(share === undefined ? [] : findEstimates(state, share)),
    ...(thresholds.ledger_difference === undefined ? [] : findLedgerDifferences(state)),
  ];
}

function findLowWallets({ wallets }: SharedState, threshold: number): Finding[] {
  return wallets
    .filter(({ nanodollars }) => nanodollars < threshold)
    .map(({ accountId, account, nanodollars }) => {
      const isEmpty = nanodollars <= 0;
      const text = `${toLine(account)}: balance ${toDollars(nanodollars)}, below ${toDollars(threshold)}`;
      return { rule: "wallet_low", subject: accountId, level: isEmpty ? 2 : 1, text };
    });
}

/** `$0.65`, with more digits for less than ten cents: `−$0.00042`. */
export function toDollars(nanodollars: number): string {
  const size = Math.abs(nanodollars) / nanodollarsPerUsd;
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: size > 0 && size < 0.1 ? 9 : 2 };
  return `${nanodollars < 0 ? "−" : ""}$${size.toLocaleString("en-US", digits)}`;
}

function findSpentBudgets({ budgets }: SharedState, threshold: number): Finding[] {
  return budgets.flatMap((budget) => {
    const { id, accountId, keyId, name, period, budgetNanodollars, spentNanodollars } = budget;
    // A budget of 0 allows no spending on purpose, so it is no alert.
    if (budgetNanodollars === 0) return [];
    const percent = Math.floor((spentNanodollars / budgetNanodollars) * 100);
    const level = [50, 80, 100].filter((step) => percent >= Math.max(step, threshold)).length;
    if (percent < threshold) return [];
    const spent = `${toDollars(spentNanodollars)} of ${toDollars(budgetNanodollars)}`;
    const span =
      period === "lifetime" || period === "session"
        ? `budget of its ${period === "session" ? "run" : period}`
        : `budget of this ${period}`;
    const text = `${toSpender(budget)} has spent ${percent} % of its ${span}: ${spent}`;
    const subject = `${id} ${accountId} ${keyId ?? name}`;
    return { rule: "budget", subject, level: Math.max(1, level), text };
  });
}

function toSpender({ subject, keyId, name, account }: SpentBudget): string {
  if (subject === "account" || subject === "team") return `The ${subject} ${toLine(account)}`;
  if (subject === "key") return `The API key “${toLine(name)}” (${keyId})`;
  const words = subject.replace("_", " ");
  return `${name === "" ? `Requests without ${words}` : `The ${words} “${toLine(name)}”`} of ${toLine(account)}`;
}

/** A name that anybody in an account may have chosen: one short line without the signs of Slack for mentions and links. */
function toLine(name: string): string {
  const line = name.replaceAll(/[\s\p{C}<>]+/gu, " ").trim();
  return line.length > nameLengthMax ? `${line.slice(0, nameLengthMax)}…` : line;
}

function findEstimates({ usage: { calls, estimated } }: SharedState, threshold: number): Finding[] {
  if (calls < estimatedCallsMin || estimated * 100 <= calls * threshold) return [];
  const percent = Math.floor((estimated * 100) / calls);
  const text = `The usage of ${percent} % of the latest ${calls} calls was estimated, because their providers did not report usage`;
  return [{ rule: "usage_estimated", subject: "calls", level: 1, text }];
}

function findLedgerDifferences({ ledger }: SharedState): Finding[] {
  if (ledger === undefined || ledger.differences === 0) return [];
  const first = ledger.first === undefined ? "" : `: ${ledger.first}`;
  const count = ledger.differences === 1 ? "1 difference" : `${ledger.differences} differences`;
  return [
    {
      rule: "ledger_difference",
      subject: "ledger",
      level: 1,
      text: `The ledger's verification found ${count}${first}`,
    },
  ];
}

function findOpenCircuits({ routes }: NodeState): Finding[] {
  const open = Map.groupBy(
    routes.filter(({ isOpen }) => isOpen),
    ({ plugin }) => plugin,
  );
  return [...open].map(([plugin, paused]) => {
    const count = paused.length === 1 ? "1 route" : `${paused.length} routes`;
    const text = `${count} of provider ${plugin} paused after failures: ${listNames(paused.map(({ model }) => model))}`;
    return { rule: "circuit_open", subject: plugin, level: 1, text };
  });
}

/** A provider that answers nothing, or a part of whose keys cannot be used. */
function findFailingProviders({ providers }: NodeState): Finding[] {
  return providers.flatMap(({ provider, state, reason, lastFailure, keys }) => {
    const isDown = state === "failing" || state === "refused";
    if (!isDown && keys.unusable === 0) return [];
    const status = lastFailure?.status === undefined ? "" : ` (status ${lastFailure.status})`;
    const last = lastFailure === undefined ? "" : ` Last error: ${lastFailure.kind.replaceAll("_", " ")}${status}.`;
    const what = isDown
      ? `The provider ${provider} is ${state === "refused" ? "refusing the gateway's key" : "failing"}${reason === undefined ? "" : `: ${reason}`}`
      : `${keys.unusable} of ${keys.total} API keys of provider ${provider} cannot be used: the provider refuses or limits them`;
    return [{ rule: "provider_failing" as const, subject: provider, level: isDown ? 2 : 1, text: `${what}.${last}` }];
  });
}

function findImplausible({ routes }: NodeState): Finding[] {
  const plugins = new Set(routes.filter(({ isImplausible }) => isImplausible).map(({ plugin }) => plugin));
  return [...plugins].map((plugin) => {
    const text = `The provider ${plugin} reported more usage than a call can have; the maximum for the call was charged`;
    return { rule: "usage_implausible", subject: plugin, level: 1, text };
  });
}

function findRetiring({ models }: NodeState, threshold: number, now: number): Finding[] {
  return models.flatMap(({ id, retiredOn, successor }) => {
    if (retiredOn === undefined) return [];
    const days = Math.ceil((Date.parse(retiredOn) - now) / dayMs);
    if (days > threshold || days < -retiredDays) return [];
    const instead = successor === undefined ? "" : `; its successor is ${successor}`;
    const text = days > 0 ? `retires ${id} on ${retiredOn}` : `retired ${id} on ${retiredOn}`;
    return { rule: "model_retires", subject: id, level: days > 0 ? 1 : 2, text: `The provider ${text}${instead}` };
  });
}

function findFullDisk({ disk }: NodeState, threshold: number): Finding[] {
  if (disk === undefined || disk.usedShare * 100 < threshold) return [];
  const percent = Math.floor(disk.usedShare * 100);
  const text = `The disk of ${disk.name} is ${percent} % full`;
  return [{ rule: "disk_full", subject: disk.name, level: percent >= 98 ? 2 : 1, text }];
}

function listNames(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return `${names.slice(0, namesMax).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
