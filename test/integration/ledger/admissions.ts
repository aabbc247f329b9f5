import type {
  AccountBudget,
  AdmissionRequest,
  KeyLimits,
  ModelLimits,
  Settlement,
  SubjectBudget,
} from "../../../src/contract/index.ts";

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
  keyLimits?: KeyLimits | undefined;
  accountBudget?: AccountBudget | undefined;
  budgets?: readonly SubjectBudget[] | undefined;
  /** Limits of single models, by their ids. */
  modelLimits?: Readonly<Record<string, ModelLimits>> | undefined;
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
    ...rest
  } = fields;
  claims += 1;
  return {
    callId: `call_${String(claims).padStart(8, "0")}`,
    caller: {
      accountId,
      keyId,
      keyLimits,
      accountBudget,
      budgets,
      ...(modelLimits !== undefined && { modelLimits: new Map(Object.entries(modelLimits)) }),
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
