import {
  type ChatUsage,
  type CompiledPrice,
  costNanodollars,
  isAmount,
  isReportable,
  type Meters,
  meterNames,
  nanodollarsPerUsd,
  outputMeters,
  quotaWeights,
  reportedUnits,
  sumOutputTokens,
  sumPromptTokens,
  type UnitsReport,
  type UsageSource,
} from "../../contract/index.ts";
import type { Model } from "../../provider/index.ts";
import { TextSample } from "./tokenizer.ts";

/** Usage of a call, and its source. */
export interface Count {
  meters: Meters;
  source: UsageSource;
}

/** Output of one choice of a stream. */
export interface ChoiceOutput {
  /** Length of the text, in characters. */
  length: number;
  isFinished: boolean;
}

/** Output so far, for an estimate when no usage is reported. */
interface Output {
  readonly sample: TextSample;
  /** The choices that the sample is of; empty for a whole answer. */
  readonly choices: ChoiceOutput[];
  /** How much came: images, characters or tokens of speech. Text is counted by the sample. */
  length: number;
  /** Length of the audio, in characters of base64. */
  audioLength: number;
}

/** Usage that the requests of a call reported before their answers were translated. */
export interface ServedUsage {
  /** The requests that are paid for. */
  readonly requests: number;
  /** The paid requests without a usable report. */
  readonly open: number;
  /** The paid requests whose answers were not waited for. */
  readonly cut: number;
  /** The sum of the reports; absent when there is no report. */
  readonly meters: Meters | undefined;
}

/** Options of {@link UsageMeter}. */
export interface UsageMeterOptions {
  /** Whether several requests were sent. The answer may leave some of them out. */
  hasSeveral?: () => boolean;
  served?: () => ServedUsage;
  /** Called with each report as it comes. */
  onReport?: (meters: Meters) => void;
  /** Reads the units that a row is priced by from the usage of one answer, or of its parts. */
  unitsOf?: (usages: readonly unknown[]) => Meters;
  /** Makes of a count what is charged. `isReported`: a provider's report has a part in it. */
  charge?: (count: Count, isReported: boolean) => Count;
}

/**
 * Counts the usage of one call. The provider's last report counts when the answer is complete, and where the answer failed or
 * several requests were served, what each of them reported. Without a usable report, or when the call broke off, usage is
 * estimated from what went in and came out.
 */
export class UsageMeter {
  /** The provider's last report. */
  reported: Meters | undefined = undefined;
  readonly #estimate: () => Promise<Meters>;
  readonly #options: UsageMeterOptions;
  readonly output: Output = { sample: new TextSample(), choices: [], length: 0, audioLength: 0 };
  /** A report that was not believed. */
  implausible: Meters | undefined = undefined;
  /** Something reached the caller, or would have: the call now costs. */
  produced = false;
  /** Text came out, so a report without output tokens is not usable. */
  wrote = false;
  /** The provider says how much of the prompt it read from its cache, and wrote to it, if only that it is nothing. */
  reportsReads = false;
  reportsWrites = false;
  /** The answer is complete. */
  complete = false;
  #counted: Count | Promise<Count> | undefined;
  #hasReport = false;

  /** @param estimate Counts what went in and has come out so far. Called at the end, and only when needed. */
  constructor(estimate: () => Promise<Meters>, options: UsageMeterOptions = {}) {
    this.#estimate = estimate;
    this.#options = options;
  }

  /** @param usages What the answer, or each of its parts, reported, with the units that are not in the meters. */
  report(meters: Meters, ...usages: unknown[]): void {
    this.reported = { ...meters, ...this.#options.unitsOf?.(usages) };
    const { prompt_tokens_details: details } = (usages[0] ?? {}) as Pick<ChatUsage, "prompt_tokens_details">;
    if (typeof details?.cached_tokens === "number") this.reportsReads = true;
    if (typeof details?.cache_write_tokens === "number") this.reportsWrites = true;
    this.#options.onReport?.(this.reported);
  }

  /** The answer is complete. An empty report counts for an empty answer. */
  finish(): void {
    this.complete = true;
    if (!this.wrote && this.reported !== undefined && isZero(this.reported)) this.produced = false;
  }

  /** The final count, at once unless it has to be estimated. Once the answer is complete it is computed only once. */
  count(): Count | Promise<Count> {
    if (!this.complete) return this.#compute();
    this.#counted ??= this.#compute();
    return this.#counted;
  }

  #compute(): Count | Promise<Count> {
    const { reported } = this;
    const isReported = this.complete && reported !== undefined && this.#isUsable(reported);
    const isOnly = isReported && this.#options.hasSeveral?.() !== true;
    this.#hasReport = reported !== undefined;
    if (isOnly) return this.#charge({ meters: reported, source: "reported" });
    return this.#countAll(isReported).then((count) => this.#charge(count));
  }

  #charge(count: Count): Count {
    return this.#options.charge?.(count, this.#hasReport) ?? count;
  }

  /** @param isReported The last report belongs to a complete answer. */
  async #countAll(isReported: boolean): Promise<Count> {
    const { reported } = this;
    const { meters, open = 0, cut = 0, requests = 0 } = this.#options.served?.() ?? {};
    this.#hasReport ||= meters !== undefined;
    const isServed = meters !== undefined && open === 0 && this.#isUsable(meters) && !isZero(meters);
    if (isServed && requests > 1) return { meters, source: "reported" };
    // The requests whose answers were returned reported all their usage, while the providers still work on others.
    const isShort = meters !== undefined && cut > 0 && cut === open;
    if (isReported && reported !== undefined && !isShort) return { meters: reported, source: "reported" };
    if (!this.produced) return { meters: {}, source: "none" };
    if (isServed) return { meters, source: "reported" };
    // An answer whose provider reports that it used nothing.
    if (meters !== undefined && open === 0 && isZero(meters) && !this.wrote && !this.complete) {
      return { meters: {}, source: "none" };
    }
    const estimated = await this.#estimate();
    if (meters !== undefined && open > 0) {
      return { meters: addMeters({ ...meters }, estimated), source: "estimated" };
    }
    return { meters: reported === undefined ? estimated : withLargerOutput(reported, estimated), source: "estimated" };
  }

  #isUsable(reported: Meters): boolean {
    if (this.wrote && !sumOutputTokens(reported)) return false;
    return !(this.produced && isZero(reported));
  }
}

function isZero(meters: Meters): boolean {
  for (const name of meterNames) if (meters[name] !== undefined && meters[name] !== 0) return false;
  return true;
}

/** The most units of {@link reportedUnits} that so many requests use, of those that the model has a price for. */
export function boundUnits(model: Model, requests: number): Meters {
  const meters: Meters = {};
  for (const { name, rowMax } of reportedUnits) {
    const most = model[rowMax];
    if (model.price?.[name] !== undefined && most !== undefined) meters[name] = requests * most;
  }
  return meters;
}

/** The units that each of some reports has, together. One that a report leaves out, or has no number of, is left out. */
export function readUnits(usages: readonly unknown[], { price }: Model): Meters {
  const meters: Meters = {};
  for (const { name, field } of reportedUnits) {
    if (price?.[name] === undefined || usages.length === 0) continue;
    const amounts = usages.map((usage) => {
      const amount: unknown = (usage as UnitsReport | undefined)?.[field];
      return typeof amount === "number" ? Math.ceil(amount) : Number.NaN;
    });
    if (amounts.every(isReportable)) meters[name] = amounts.reduce((sum, amount) => sum + amount, 0);
  }
  return meters;
}

/** Adds the second to the first, which it returns. */
export function addMeters(sum: Meters, part: Meters): Meters {
  for (const name of meterNames) {
    const amount = part[name];
    if (amount !== undefined) sum[name] = (sum[name] ?? 0) + amount;
  }
  return sum;
}

/**
 * Estimates the share of the text that belongs to requests without a report, when other requests have one. It counts
 * the unfinished choices first, then the longest finished ones.
 */
export function shareOfOpen({ choices }: Output, open: number): number {
  const sum = (some: readonly ChoiceOutput[]) => some.reduce((total, { length }) => total + length, 0);
  const all = sum(choices);
  const order = (a: ChoiceOutput, b: ChoiceOutput) =>
    Number(a.isFinished) - Number(b.isFinished) || b.length - a.length;
  return all === 0 ? 0 : sum(choices.toSorted(order).slice(0, open)) / all;
}

/**
 * A report from the middle of a broken call may count the prompt but not yet the output: the larger output is taken. After a
 * search that it does not count the prompt was read again.
 */
function withLargerOutput(reported: Meters, estimated: Meters): Meters {
  if (isZero(reported)) return estimated;
  const meters: Meters = { ...estimated, ...reported };
  const isBeforeSearch = (estimated.webSearch ?? 0) > (reported.webSearch ?? 0);
  for (const name of isBeforeSearch ? [...outputMeters, "inputToken" as const, "webSearch" as const] : outputMeters) {
    const [a, b] = [reported[name], estimated[name]];
    if (isAmount(a) && isAmount(b)) meters[name] = Math.max(a, b);
  }
  return meters;
}

/**
 * The usage to show: as the provider reported it, unless that was not usable. It always has its sum; details are present
 * or left out, never `null`. The cost is added in dollars, if the price is known.
 */
export function toChatUsage(
  reported: ChatUsage | null | undefined,
  { meters, source }: Count,
  compiledPrice: CompiledPrice | undefined,
): ChatUsage {
  const counted = { prompt_tokens: sumPromptTokens(meters), completion_tokens: sumOutputTokens(meters) ?? 0 };
  // The answer may leave out a request that was served too.
  const isAll =
    reported?.prompt_tokens === counted.prompt_tokens &&
    (reported.completion_tokens ?? 0) === counted.completion_tokens;
  const shown = source === "reported" && reported && isAll ? reported : counted;
  const completionTokens = shown.completion_tokens ?? 0;
  const usage: ChatUsage = {
    ...shown,
    completion_tokens: completionTokens,
    total_tokens: shown.prompt_tokens + completionTokens,
  };
  if (usage.prompt_tokens_details === null) delete usage.prompt_tokens_details;
  if (usage.completion_tokens_details === null) delete usage.completion_tokens_details;
  // A provider that resells models puts its own cost there, which account holders do not see.
  if ("cost_details" in usage) delete usage.cost_details;
  const cost = compiledPrice === undefined ? undefined : costNanodollars(compiledPrice, meters);
  if (cost !== undefined) usage.cost = cost / nanodollarsPerUsd;
  return usage;
}

/** The tokens of the daily free quota that usage takes: tokens by their weights, other units by the model's or the usual. */
export function toQuotaTokens(meters: Meters, model: Model): number {
  const ofModel: Meters = model.quotaWeights ?? {};
  let tokens = 0;
  for (const name of meterNames) {
    const amount = meters[name];
    if (amount !== undefined) tokens += amount * (ofModel[name] ?? quotaWeights[name]);
  }
  return Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER);
}
