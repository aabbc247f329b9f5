import type {
  AdmissionRequest,
  Budget,
  BudgetPeriod,
  Caller,
  KeyLimits,
  Ledger,
  ModelLimits,
  RateLimits,
  Settlement,
} from "../../../src/contract/index.ts";
import { ownBudgetId } from "../../../src/db/index.ts";

/** 2026-01-01T00:00:00Z. */
export const newYear = Date.UTC(2026, 0, 1);

/** What a test wants to say of a claim; the rest is a premium call without limits worth the name. */
export interface AdmissionFields extends Partial<Omit<AdmissionRequest, "caller">> {
  accountId?: string;
  freeTokensPerDay?: number;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrentCalls?: number | undefined;
  keyId?: string;
  /** With the own budget of the key. */
  keyLimits?: KeyLimits | undefined;
  /** The own budget of the account. */
  accountBudget?: AccountBudget | undefined;
  budgets?: readonly Budget[] | undefined;
  isBilledAfterwards?: boolean;
  /** Limits of single models, by their ids. */
  modelLimits?: Readonly<Record<string, ModelLimits>> | undefined;
}

/** The own budget of an account. */
export interface AccountBudget {
  readonly limitNanodollars: number;
  readonly period: BudgetPeriod;
}

let claims = 0;

/** Ids of the keys of an account; its calls are made with the first of them unless a test says otherwise. */
export function keysOf(accountId: string): [string, ...string[]] {
  return accountId === "acc_1" ? ["key_1", ...keys] : [`key_1 of ${accountId}`, `key_2 of ${accountId}`];
}

const keys = [0, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `key_${number}`);

export function createAdmission(fields: AdmissionFields = {}): AdmissionRequest {
  const {
    accountId = "acc_1",
    freeTokensPerDay = 100,
    requestsPerMinute = 1e6,
    tokensPerMinute = 1e9,
    concurrentCalls,
    keyId = keysOf(accountId)[0],
    keyLimits,
    accountBudget,
    budgets,
    modelLimits,
    isBilledAfterwards,
    ...rest
  } = fields;
  claims += 1;
  return {
    callId: `call_${String(claims).padStart(8, "0")}`,
    caller: {
      accountId,
      keyId,
      keyLimits: toRateLimits(keyLimits),
      budgets: [...(budgets ?? []), ...ownBudgets({ accountId, keyId, keyLimits, accountBudget })],
      ...(modelLimits !== undefined && { modelLimits: new Map(Object.entries(modelLimits)) }),
      ...(isBilledAfterwards === true && { isBilledAfterwards }),
      freeTokensPerDay,
      limits: { requestsPerMinute, tokensPerMinute, concurrentCalls },
    },
    model: "model-1",
    capability: "chat",
    premium: true,
    holdNanodollars: 10,
    minNanodollars: Math.min(1, fields.holdNanodollars ?? 10),
    holdTokens: 10,
    minTokens: Math.min(1, fields.holdTokens ?? 10),
    limitTokens: 1,
    priceVersion: "v1",
    openedAt: newYear,
    ...rest,
  };
}

function toRateLimits(limits: KeyLimits | undefined): RateLimits | undefined {
  if (limits === undefined) return undefined;
  const { budgetNanodollars: _, budgetPeriod: __, ...rates } = limits;
  return rates;
}

/** The own budget of a key. */
export function budgetOfKey(limitNanodollars: number, keyId = "key_1", period: BudgetPeriod = "month"): Budget {
  return { id: ownBudgetId(keyId), subject: "key", name: keyId, limitNanodollars, period };
}

function ownBudgets({
  accountId,
  keyId,
  keyLimits,
  accountBudget,
}: Required<Pick<AdmissionFields, "accountId" | "keyId" | "keyLimits" | "accountBudget">>): Budget[] {
  const { budgetNanodollars: limitNanodollars, budgetPeriod: period = "month" } = keyLimits ?? {};
  return [
    ...(limitNanodollars === undefined ? [] : [budgetOfKey(limitNanodollars, keyId, period)]),
    ...(accountBudget === undefined
      ? []
      : [{ id: ownBudgetId(accountId), subject: "account" as const, ...accountBudget }]),
  ];
}

/** The own budgets of the key and the account of a caller, as the ledger knows them. */
export async function readOwnBudgets(ledger: Pick<Ledger, "readLimitsUsage">, caller: Caller) {
  const { budgets } = await ledger.readLimitsUsage(caller);
  const of = (ownerId: string) => {
    const state = budgets.find(({ budget }) => budget.id === ownBudgetId(ownerId));
    if (state === undefined) return undefined;
    const { budget: _, ...figures } = state;
    return figures;
  };
  return { budget: of(caller.keyId), accountBudget: of(caller.accountId) };
}

export function createSettlement(callId: string, fields: Partial<Settlement> = {}): Settlement {
  return {
    callId,
    outcome: "settled",
    plugin: "openai",
    meters: { inputToken: 1 },
    usageSource: "reported",
    costNanodollars: 10,
    quotaTokens: 10,
    status: 200,
    durationMs: 5,
    ...fields,
  };
}
