/**
 * Whether the gateway marks prompts for the caches of providers ({@link MarkRule}), and whether that pays: what was written to a
 * cache and is never read costs more than a plain prompt. Also how a session is called towards providers that keep requests of
 * one name where their cache is.
 */
import { createHmac } from "node:crypto";
import { type Caller, type CompiledPrice, costNanodollars, type MeterName, type Meters } from "../contract/index.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { MarkRule, Model } from "../provider/index.ts";

/** Calls whose savings and losses decide whether marks stop. */
const judgedCalls = 20;
/** The loss in them, in nanodollars, beyond which marks stop: a cent. */
const lossMax = 10_000_000;
const stoppedMs = 86_400_000;
/** Accounts, keys and models whose calls are counted; each takes less than a kilobyte. */
const countedMax = 10_000;
/** An estimate that is rather too high: a mark on a prompt that is too short costs nothing. */
const bytesPerToken = 3;
/** OpenAI takes 64 characters. */
const cacheKeyBytes = 24;

const cacheMeters: readonly MeterName[] = [
  "cacheReadToken",
  "cacheWriteToken",
  "cacheWrite1hToken",
  "cacheWrite12hToken",
];

/** The parts of a client's request that decide on its marks. */
interface PromptRequest {
  readonly caller: Caller;
  readonly session?: string | undefined;
  readonly leavesCaching?: boolean;
  readonly forbidsMarks?: boolean;
}

/** A run, as far as its prompt goes. */
interface PromptRun {
  readonly caller: Caller;
  /** The id of its model. */
  readonly model: string;
  readonly call: { readonly request: PromptRequest };
  readonly bounds: { readonly countedTokensMax?: number | undefined; readonly sentTokensMax?: number };
}

/** Savings by marks in the latest calls of one key with one model. */
interface Balance {
  /** Nanodollars of each call, below 0 where marks cost more than they saved. */
  saved: number[];
  /** The time by {@link Kernel.now}. */
  stoppedUntilMs: number;
}

/** The rule of marks for all calls of a process. */
export class PromptCaching {
  readonly #isOff: boolean;
  readonly #secret: Uint8Array | undefined;
  readonly #balances = new LruMap<Balance>(countedMax);

  /** @param secret Makes the names of sessions for providers; absent: sessions are sent without a name. */
  constructor({ isOff = false, secret }: { isOff?: boolean; secret?: Uint8Array } = {}) {
    this.#isOff = isOff;
    this.#secret = secret;
  }

  /** The rule for a run at a row of its model; `undefined` where the client marks by itself. */
  ruleOf(run: PromptRun, model: Model, nowMs: number): MarkRule | undefined {
    const { request } = run.call;
    if (request.leavesCaching !== true) return undefined;
    const isOff = this.#isOff || model.cacheMarks === "off" || request.caller.cacheMarks === "off";
    if (isOff || request.forbidsMarks === true) return "off";
    if (model.cacheTokensMin !== undefined && estimateTokens(run) < model.cacheTokensMin) return "short";
    const { stoppedUntilMs = 0 } = this.#balances.get(nameOf(run)) ?? {};
    return stoppedUntilMs > nowMs ? "losing" : "auto";
  }

  /** Counts what marks saved in a run, by the report of its provider. Returns the loss in nanodollars if marks stop by it. */
  count(run: PromptRun, price: CompiledPrice, meters: Meters, nowMs: number): number | undefined {
    const saved = savedNanodollars(price, meters);
    if (saved === undefined) return undefined;
    const name = nameOf(run);
    const balance = this.#balances.get(name) ?? { saved: [], stoppedUntilMs: 0 };
    if (balance.stoppedUntilMs > nowMs) return undefined;
    balance.saved.push(saved);
    if (balance.saved.length > judgedCalls) balance.saved.shift();
    this.#balances.set(name, balance);
    if (balance.saved.length < judgedCalls) return undefined;
    const sum = balance.saved.reduce((total, amount) => total + amount, 0);
    if (sum >= -lossMax) return undefined;
    balance.saved = [];
    balance.stoppedUntilMs = nowMs + stoppedMs;
    return -sum;
  }

  /** A name of the client's session that no other account has; the same on all gateways of a database. */
  cacheKeyOf({ caller, session }: PromptRequest): string | undefined {
    if (session === undefined || this.#secret === undefined) return undefined;
    const hmac = createHmac("sha256", this.#secret).update(JSON.stringify(["prompt cache", caller.accountId, session]));
    return hmac.digest().subarray(0, cacheKeyBytes).toString("base64url");
  }
}

/** The tokens of a prompt by the provider's count, or by the bytes that the hold is made from. */
function estimateTokens({ bounds }: PromptRun): number {
  const { countedTokensMax, sentTokensMax = Number.POSITIVE_INFINITY } = bounds;
  return countedTokensMax ?? Math.ceil(sentTokensMax / bytesPerToken);
}

function nameOf({ caller, model }: PromptRun): string {
  return `${caller.accountId}\n${caller.keyId}\n${model}`;
}

/** The cost of usage without a cache, less what it cost. */
function savedNanodollars(price: CompiledPrice, meters: Meters): number | undefined {
  const plain: Meters = { ...meters };
  let tokens = meters.inputToken ?? 0;
  for (const name of cacheMeters) {
    tokens += meters[name] ?? 0;
    delete plain[name];
  }
  plain.inputToken = tokens;
  const [plainCost, cost] = [costNanodollars(price, plain), costNanodollars(price, meters)];
  return plainCost === undefined || cost === undefined ? undefined : plainCost - cost;
}
