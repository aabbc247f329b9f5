import {
  type AdmissionRequest,
  type BudgetState,
  formatUsd,
  GatewayError,
  type QuotaState,
  quoteValue,
  type ReachedLimit,
  type SpentBudget,
  type WalletState,
} from "../contract/index.ts";

/** How long a caller should wait when the ledger cannot be written. */
const unavailableRetryMs = 1000;
/** The end of a running call cannot be predicted. */
const callsRetryMs = 1000;

/** The owner of a limit, and the model whose calls it counts; without one, all calls. */
export type LimitOwner = Omit<ReachedLimit, "name">;

const ofAccount: LimitOwner = { owner: "account" };

export function requestsExceeded(limit: number, waitMs: number, whose = ofAccount): GatewayError {
  return new GatewayError(
    "rate_limit_exceeded",
    `Request limit reached: ${limit} requests a minute ${describe(whose)}; try again in ${seconds(waitMs)}`,
    { retryAfterMs: waitMs, limit: toReached("requests_per_minute", whose) },
  );
}

export function tokensExceeded(
  { limit, limitTokens }: { limit: number; limitTokens: number },
  waitMs: number,
  whose = ofAccount,
): GatewayError {
  return new GatewayError(
    "rate_limit_exceeded",
    `Token limit reached: ${limit} tokens a minute ${describe(whose)}, and this request has ${limitTokens}; try again in ${seconds(waitMs)}`,
    { retryAfterMs: waitMs, limit: toReached("tokens_per_minute", whose) },
  );
}

export function callsExceeded(limit: number, whose = ofAccount): GatewayError {
  return new GatewayError(
    "rate_limit_exceeded",
    `Concurrency limit reached: ${limit} calls at once ${describe(whose)}; try again when one of them has ended`,
    { retryAfterMs: callsRetryMs, limit: toReached("concurrent_calls", whose) },
  );
}

function toReached(name: ReachedLimit["name"], { owner, model, modelName }: LimitOwner): ReachedLimit {
  return { name, owner, model, modelName };
}

function describe({ owner, model, modelName = model }: LimitOwner): string {
  return modelName === undefined ? `for this ${owner}` : `of the model ${quoteValue(modelName)} for this ${owner}`;
}

/** The fields of an admission that its refusal names. */
type Least = Pick<AdmissionRequest, "model" | "modelName" | "minNanodollars" | "minTokens">;

export function quotaExceeded({ minTokens }: Least, quota: QuotaState, now: number): GatewayError {
  const { limitTokens, usedTokens, heldTokens, resetsAt } = quota;
  const needed = minTokens > 1 ? `, and this request needs up to ${minTokens}` : "";
  return new GatewayError(
    "quota_exceeded",
    `Daily token quota reached: ${limitTokens} free tokens a day, ${usedTokens} used and ${heldTokens} held by running calls${needed}; it resets at ${new Date(resetsAt).toISOString()}`,
    { retryAfterMs: Math.max(0, resetsAt - now) },
  );
}

const periodNames = { day: "Daily", week: "Weekly", month: "Monthly", lifetime: "Lifetime", session: "Session" };

const subjectNames = {
  account: "account",
  team: "team",
  key: "key",
  end_user: "end user",
  tag: "tag",
  session: "session",
  model: "model",
};

/** @param subjectName Of the end user, for example; empty: the call names none. */
export function budgetExceeded(admission: Least, subjectName: string, state: BudgetState, now: number): GatewayError {
  const { model, modelName = model, minNanodollars } = admission;
  const { budget, limitNanodollars, spentNanodollars, heldNanodollars, resetsAt } = state;
  const { subject, period } = budget;
  const name = subject === "model" && subjectName === model ? modelName : subjectName;
  const hasNoSession = subject === "session" && name === "";
  const nameless = hasNoSession ? "all requests that name no session" : `requests without ${subjectNames[subject]}`;
  const named = name === "" ? nameless : `${subjectNames[subject]} ${quoteValue(name)}`;
  const owner = subject === "account" || subject === "team" || subject === "key" ? `this ${subject}` : named;
  const reached = `${periodNames[period]} budget of ${owner} reached: ${formatUsd(limitNanodollars)} USD`;
  const until = resetsAt === undefined ? "" : `it resets at ${new Date(resetsAt).toISOString()}; `;
  const first = hasNoSession ? "name a session in the header session-id, raise the budget," : "raise the budget,";
  const advice = `${first} or use ${subject === "key" ? "another key or " : ""}a free model`;
  return new GatewayError(
    "budget_exceeded",
    `${reached} (${describeScope(budget)}), ${formatUsd(spentNanodollars)} USD spent and ${formatUsd(heldNanodollars)} USD held by running calls, and this request needs up to ${formatUsd(minNanodollars)} USD; ${until}${advice}`,
    resetsAt === undefined ? {} : { retryAfterMs: Math.max(0, resetsAt - now), budget: toSpent(period, resetsAt) },
  );
}

/** Whether a budget is everybody's rule or somebody's own, so that the reader knows whom to ask for more. */
function describeScope({ subject, name, keyId, isOfGateway }: BudgetState["budget"]): string {
  const one = subjectNames[subject];
  if (subject === "account" || subject === "team") return `set for ${isOfGateway ? "each" : "this"} ${one}`;
  if (isOfGateway) return `set for ${name === undefined ? "each" : "this"} ${one} of every account`;
  if (subject === "key" && name !== undefined) return "set for this key";
  return `set for ${name === undefined ? "each" : "this"} ${one} of this ${keyId === undefined ? "account" : "key"}`;
}

function toSpent(period: BudgetState["budget"]["period"], resetsAt: number): SpentBudget | undefined {
  return period === "lifetime" || period === "session" ? undefined : { period, resetsAt };
}

export function balanceExceeded(
  { model, modelName = model, minNanodollars }: Least,
  wallet: WalletState,
): GatewayError {
  const { balanceNanodollars, heldNanodollars } = wallet;
  const advice =
    heldNanodollars > 0
      ? "wait for running calls to end, give them a smaller max_tokens, or credit the wallet"
      : "credit the wallet, or use a free model";
  return new GatewayError(
    "insufficient_balance",
    `Insufficient balance for the paid model ${modelName}: the wallet has ${formatUsd(balanceNanodollars)} USD with ${formatUsd(heldNanodollars)} USD held by running calls, and this request needs up to ${formatUsd(minNanodollars)} USD; ${advice}`,
  );
}

export function ledgerUnavailable(what: string, cause?: unknown): GatewayError {
  return new GatewayError("unavailable", what, { retryAfterMs: unavailableRetryMs, cause });
}

/** Redis cannot be used at all; the message says what to do. */
export class RedisRefused extends Error {
  override readonly name = "RedisRefused";
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 100) / 10} s`;
}
