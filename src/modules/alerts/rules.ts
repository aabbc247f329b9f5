import { nanodollarsPerUsd } from "../../contract/index.ts";
import type { SpentBudget } from "../../db/index.ts";
import type { Model } from "../../provider/index.ts";
import { type FailedCalls, failureMinutes, type ServiceState } from "./service-health.ts";
import { gatewaySubject, type OwnedSubject, type Severity } from "./subject.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** A rule: the unit and default of its threshold, and how long a problem must last before a message is sent. */
interface RuleInfo {
  /** The severity at each level, from 1; the last one holds for higher levels. */
  readonly severities: readonly Severity[];
  readonly unit?: "usd" | "percent" | "days";
  /** In nanodollars for `usd`. */
  readonly threshold?: number;
  readonly delayMs?: number;
  /** Whether account holders have the rule too, for their own account. */
  readonly isForAccounts?: boolean;
}

export const rules = {
  // An empty wallet stops one customer, and wakes nobody at night.
  wallet_low: { severities: ["info", "warning"], unit: "usd", threshold: 1_000_000_000, isForAccounts: true },
  /** Minimum share of a budget for an alert; it alerts at 50, 80 and 100 %. */
  budget: { severities: ["info", "info", "warning"], unit: "percent", threshold: 50, isForAccounts: true },
  store_failing: { severities: ["critical"] },
  calls_failing: { severities: ["critical"], unit: "percent", threshold: 5 },
  provider_failing: { severities: ["warning", "critical"], delayMs: minuteMs },
  circuit_open: { severities: ["warning"] },
  model_retires: { severities: ["info", "warning"], unit: "days", threshold: 30 },
  usage_implausible: { severities: ["warning"] },
  usage_estimated: { severities: ["info"], unit: "percent", threshold: 10 },
  ledger_difference: { severities: ["critical"] },
  disk_full: { severities: ["warning", "critical"], unit: "percent", threshold: 90 },
} as const satisfies Record<string, RuleInfo>;

export type Rule = keyof typeof rules;
export const ruleNames = Object.keys(rules) as Rule[];
export const getRuleInfo = (rule: Rule): RuleInfo => rules[rule];

/** A problem of one subject. A higher `level` is worse and is sent at once. */
export interface Finding {
  /** `metric`: a rule of the operator's own, whose id is the subject. */
  readonly rule: Rule | "metric";
  /** Identifies the problem among those of its rule. */
  readonly subject: string;
  readonly about: OwnedSubject;
  readonly level: number;
  readonly severity: Severity;
  readonly text: string;
  /** When the problem began, if that is known; absent: when it is first found. */
  readonly since?: number | undefined;
}

/** A finding of one of the gateway's own rules, whose level says how severe it is. */
function toFinding(finding: Omit<Finding, "severity"> & { readonly rule: Rule }): Finding {
  const all = getRuleInfo(finding.rule).severities;
  return { ...finding, severity: all[Math.min(finding.level, all.length) - 1] ?? "warning" };
}

const toNode = (name: string) => ({ type: "node", id: name, name }) as const;
const toProvider = (name: string) => ({ type: "provider", id: name, name }) as const;

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
  /** When the state began; absent: it works, or that is not known. */
  readonly since?: number | undefined;
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

/**
 * The problems of a service that have certainly ended: no other process finds them, and an alert about one need not wait until it is
 * no longer found for a while.
 */
export function listEnded({ gateway, short }: ServiceState): { readonly rule: Rule; readonly subject: string }[] {
  return short.failed === 0 ? [{ rule: "calls_failing", subject: gateway }] : [];
}

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
  return [toFinding({ rule: "store_failing", subject: gateway, about: toNode(gateway), level: 1, text })];
}

/**
 * Reports the symptom, whatever its cause. The long window shows that it matters, the short window that it continues.
 */
function findFailingCalls({ gateway, long, short }: ServiceState, threshold: number): Finding[] {
  const isBeyond = ({ calls, failed }: FailedCalls) => failed * 100 > calls * threshold;
  if (long.failed < failedCallsMin || !isBeyond(long) || !isBeyond(short)) return [];
  const shareOf = ({ calls, failed }: FailedCalls) => `${Math.floor((failed * 100) / calls)} %`;
  const text = `${shareOf(long)} of the calls of the gateway ${gateway} ended with 500 or 503 in ${failureMinutes.long} minutes, ${shareOf(short)} in the last ${failureMinutes.short}`;
  return [toFinding({ rule: "calls_failing", subject: gateway, about: toNode(gateway), level: 1, text })];
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
      const text = `${toName(account)}: balance ${toDollars(nanodollars)}, below ${toDollars(threshold)}`;
      const about = { type: "account", id: accountId, name: account } as const;
      return toFinding({ rule: "wallet_low", subject: accountId, about, level: isEmpty ? 2 : 1, text });
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
    return toFinding({ rule: "budget", subject, about: toBudgetSubject(budget), level: Math.max(1, level), text });
  });
}

function toBudgetSubject({ subject, accountId, keyId, name, account }: SpentBudget): OwnedSubject {
  if (subject === "key") return { type: "key", id: keyId ?? "", name, accountId };
  if (subject === "account" || subject === "team") return { type: "account", id: accountId, name: account };
  return { type: subject, id: name, name, accountId };
}

function toSpender({ subject, keyId, name, account }: SpentBudget): string {
  if (subject === "account" || subject === "team") return `The ${subject} ${toName(account)}`;
  if (subject === "key") return `The API key “${toName(name)}” (${keyId})`;
  const words = subject.replace("_", " ");
  return `${name === "" ? `Requests without ${words}` : `The ${words} “${toName(name)}”`} of ${toName(account)}`;
}

/**
 * A name that anybody in an account may have chosen: one short line without the signs of Slack for mentions and links, in
 * which nobody is called by a mention of everybody.
 */
export function toName(name: string): string {
  const line = name
    .replaceAll(/[\s\p{C}<>]+/gu, " ")
    .trim()
    .replaceAll(/@(?=(?:all|channel|everyone|here)\b)/gi, "@\u200b");
  return line.length > nameLengthMax ? `${line.slice(0, nameLengthMax)}…` : line;
}

function findEstimates({ usage: { calls, estimated } }: SharedState, threshold: number): Finding[] {
  if (calls < estimatedCallsMin || estimated * 100 <= calls * threshold) return [];
  const percent = Math.floor((estimated * 100) / calls);
  const text = `The usage of ${percent} % of the latest ${calls} calls was estimated, because their providers did not report usage`;
  return [toFinding({ rule: "usage_estimated", subject: "calls", about: gatewaySubject, level: 1, text })];
}

function findLedgerDifferences({ ledger }: SharedState): Finding[] {
  if (ledger === undefined || ledger.differences === 0) return [];
  const first = ledger.first === undefined ? "" : `: ${ledger.first}`;
  const count = ledger.differences === 1 ? "1 difference" : `${ledger.differences} differences`;
  const text = `The ledger's verification found ${count}${first}`;
  return [toFinding({ rule: "ledger_difference", subject: "ledger", about: gatewaySubject, level: 1, text })];
}

function findOpenCircuits({ routes }: NodeState): Finding[] {
  const open = Map.groupBy(
    routes.filter(({ isOpen }) => isOpen),
    ({ plugin }) => plugin,
  );
  return [...open].map(([plugin, paused]) => {
    const count = paused.length === 1 ? "1 route" : `${paused.length} routes`;
    const text = `${count} of provider ${plugin} paused after failures: ${listNames(paused.map(({ model }) => model))}`;
    return toFinding({ rule: "circuit_open", subject: plugin, about: toProvider(plugin), level: 1, text });
  });
}

/** A provider that answers nothing, or a part of whose keys cannot be used. */
function findFailingProviders({ providers }: NodeState): Finding[] {
  return providers.flatMap(({ provider, state, reason, since, lastFailure, keys }) => {
    const isDown = state === "failing" || state === "refused";
    if (!isDown && keys.unusable === 0) return [];
    const status = lastFailure?.status === undefined ? "" : ` (status ${lastFailure.status})`;
    const last = lastFailure === undefined ? "" : ` Last error: ${lastFailure.kind.replaceAll("_", " ")}${status}.`;
    const what = isDown
      ? `The provider ${provider} is ${state === "refused" ? "refusing the gateway's key" : "failing"}${reason === undefined ? "" : `: ${reason}`}`
      : `${keys.unusable} of ${keys.total} API keys of provider ${provider} cannot be used: the provider refuses or limits them`;
    const about = toProvider(provider);
    const level = isDown ? 2 : 1;
    const text = `${what}.${last}`;
    return [
      toFinding({ rule: "provider_failing", subject: provider, about, level, text, since: isDown ? since : undefined }),
    ];
  });
}

function findImplausible({ routes }: NodeState): Finding[] {
  const plugins = new Set(routes.filter(({ isImplausible }) => isImplausible).map(({ plugin }) => plugin));
  return [...plugins].map((plugin) => {
    const text = `The provider ${plugin} reported more usage than a call can have; the maximum for the call was charged`;
    return toFinding({ rule: "usage_implausible", subject: plugin, about: toProvider(plugin), level: 1, text });
  });
}

function findRetiring({ models }: NodeState, threshold: number, now: number): Finding[] {
  return models.flatMap(({ id, retiredOn, successor }) => {
    if (retiredOn === undefined) return [];
    const days = Math.ceil((Date.parse(retiredOn) - now) / dayMs);
    if (days > threshold || days < -retiredDays) return [];
    const instead = successor === undefined ? "" : `; its successor is ${successor}`;
    const text = days > 0 ? `retires ${id} on ${retiredOn}` : `retired ${id} on ${retiredOn}`;
    const about = { type: "model", id, name: id } as const;
    const level = days > 0 ? 1 : 2;
    return toFinding({ rule: "model_retires", subject: id, about, level, text: `The provider ${text}${instead}` });
  });
}

function findFullDisk({ disk }: NodeState, threshold: number): Finding[] {
  if (disk === undefined || disk.usedShare * 100 < threshold) return [];
  const percent = Math.floor(disk.usedShare * 100);
  const text = `The disk of ${disk.name} is ${percent} % full`;
  const about = toNode(disk.name);
  return [toFinding({ rule: "disk_full", subject: disk.name, about, level: percent >= 98 ? 2 : 1, text })];
}

function listNames(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return `${names.slice(0, namesMax).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
