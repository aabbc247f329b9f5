import { countOutput, type FigureSums, sumFigures, withEarlierFigures } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { type AnswerUsage, toFigures, toFinishReason } from "../../provider/index.ts";

/**
 * The `usage` of an answer of OpenAI's dialect, or of one of its events, with what those before it reported: {@link UsageReports}
 * without a place to keep it in.
 *
 * @example
 * readUsage({ response: { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } })?.total_tokens; // => 5
 */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const reports = new UsageReports(before === undefined ? undefined : (reportsOf.get(before) ?? { whole: before }));
  if (!reports.add(part)) return before;
  const { usage } = reports;
  if (usage !== undefined) reportsOf.set(usage, reports.known);
  return usage;
}

/** The reports behind each usage that was returned. An event arrives with only the usage of the events before it. */
const reportsOf = new WeakMap<object, KnownReports>();

type Report = Record<string, unknown>;

/** A report of one choice of an answer. */
interface ChoiceReport {
  readonly report: Report;
  /** The choice ended at its limit. */
  readonly isCut: boolean;
}

/** The reports of one answer so far. */
interface KnownReports {
  /** The report of all of the answer. */
  readonly whole?: AnswerUsage | undefined;
  /** The last report of each choice since, by its index. */
  readonly ofChoices?: ReadonlyMap<unknown, ChoiceReport>;
}

/**
 * Collects the usage that one answer reports, in whatever places.
 *
 * - A report at the top level or in a member, such as `response` of the Responses protocol, is about the whole
 *   answer. A later report replaces an earlier one, except for a half that it lacks.
 * - A report in a choice (Moonshot) is about that choice. Of several choices the prompt counts once, and their output
 *   adds up. The same report in another choice repeats it, unless both choices ended at their limit and so are equally
 *   long.
 *
 * @example
 * const reports = new UsageReports();
 * const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
 * reports.add({ choices: [{ index: 0, usage }, { index: 1, usage: { ...usage, completion_tokens: 4, total_tokens: 7 } }] });
 * reports.usage; // => { prompt_tokens: 3, completion_tokens: 6, total_tokens: 9 }
 */
export class UsageReports {
  #whole: AnswerUsage | undefined;
  #ofChoices: Map<unknown, ChoiceReport> | undefined;
  /** All that is known; absent without a report. */
  usage: AnswerUsage | undefined;

  constructor({ whole, ofChoices }: KnownReports = {}) {
    this.#whole = whole;
    if (ofChoices !== undefined) this.#ofChoices = new Map(ofChoices);
    this.usage = whole;
  }

  /** The reports so far, for another collector to go on from. */
  get known(): KnownReports {
    return { whole: this.#whole, ...(this.#ofChoices && { ofChoices: this.#ofChoices }) };
  }

  /**
   * Takes an answer, or one of its events.
   *
   * @returns Whether it reports something.
   */
  add(part: Record<string, unknown>): boolean {
    const whole = findReport(part);
    const isOfChoices = this.#addChoices(part.choices);
    if (whole === undefined && !isOfChoices) return false;
    const before = this.#combine();
    if (whole === undefined) {
      this.usage = before;
      return true;
    }
    const usage = completeUsage(whole) as unknown as AnswerUsage;
    this.#whole = before === undefined ? usage : withEarlierFigures(usage, before);
    this.#ofChoices = undefined;
    this.usage = this.#whole;
    return true;
  }

  #addChoices(choices: unknown): boolean {
    if (!Array.isArray(choices)) return false;
    let isReported = false;
    for (let place = 0; place < choices.length; place++) {
      const choice: unknown = choices[place];
      if (!isRecord(choice) || !isRecord(choice.usage)) continue;
      isReported = true;
      const isCut = toFinishReason(choice.finish_reason) === "length";
      this.#ofChoices ??= new Map();
      // Some servers leave the index out.
      const index = choice.index ?? place;
      if (this.#ofChoices.size < choicesMax || this.#ofChoices.has(index))
        this.#ofChoices.set(index, { report: completeUsage(choice.usage), isCut });
    }
    return isReported;
  }

  /** An earlier report of the whole answer stays valid while the reports of the choices have less output. */
  #combine(): AnswerUsage | undefined {
    const whole = this.#whole;
    if (this.#ofChoices === undefined) return whole;
    const sum = addReports([...this.#ofChoices.values()]) as unknown as AnswerUsage;
    if (whole === undefined) return sum;
    return outputOf(sum) < outputOf(whole) ? whole : withEarlierFigures(sum, whole);
  }
}

/** More choices than a request can ask for. */
const choicesMax = 128;

const outputOf = (report: object) => numberOf(report, "completion_tokens") ?? 0;

function numberOf(report: object, name: string): number | undefined {
  const value: unknown = report[name as keyof typeof report];
  return typeof value === "number" ? value : undefined;
}

/** The reports of the choices of one answer as one. */
function addReports(reports: readonly ChoiceReport[]): Report {
  const parts = reports.filter((one, place) => !reports.slice(0, place).some((other) => isRepeated(one, other)));
  // The largest prompt: each choice was written for the same one.
  const [first, ...others] = parts
    .map(({ report }) => report)
    .sort((a, b) => (numberOf(b, "prompt_tokens") ?? 0) - (numberOf(a, "prompt_tokens") ?? 0));
  if (first === undefined || others.length === 0) return first ?? {};
  const output: FigureSums = {};
  for (const { completion_tokens, completion_tokens_details } of [first, ...others])
    sumFigures(output, { completion_tokens, completion_tokens_details });
  const prompt = numberOf(first, "prompt_tokens");
  return {
    ...first,
    ...output,
    ...(prompt !== undefined && { total_tokens: prompt + outputOf(output) }),
  };
}

function isRepeated({ report, isCut }: ChoiceReport, other: ChoiceReport): boolean {
  return !(isCut && other.isCut) && JSON.stringify(report) === JSON.stringify(other.report);
}

/** The report of all of an answer or of one of its events as its provider wrote it, wherever that is. */
function findReport(part: Record<string, unknown>): Record<string, unknown> | undefined {
  if (isRecord(part.usage)) return part.usage;
  for (const name in part) {
    const member = part[name];
    if (isRecord(member) && isRecord(member.usage)) return member.usage;
  }
  return undefined;
}

/**
 * Converts a report to OpenAI's form, for providers that compose their figures differently. The total shows which
 * figures include which, so no report with another meaning is changed:
 *
 * - Reasoning or cached tokens that are reported separately (xAI) are added to the output or the prompt. Tokens that
 *   only the total has (Gemini behind a proxy) are added to the output.
 * - Cached tokens outside of the details (`cached_tokens` of Moonshot, `prompt_cache_hit_tokens` of DeepSeek,
 *   `cache_read_input_tokens` and `cache_creation_input_tokens` of proxies) are copied into them.
 * - A total alone (Voyage, Jina) is the prompt, as for vectors.
 *
 * @example
 * completeUsage({ total_tokens: 7 }); // => { prompt_tokens: 7, total_tokens: 7 }
 */
export function completeUsage(reported: Record<string, unknown>): Record<string, unknown> {
  const usage = toFigures(reported);
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  const beside = usage.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cache_read_input_tokens;
  if (typeof total !== "number") return usage;
  if (prompt === undefined && completion === undefined && usage.input_tokens === undefined) {
    return { prompt_tokens: total, ...usage };
  }
  if (typeof prompt !== "number" || typeof completion !== "number") return usage;
  const promptDetails = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const cached = promptDetails.cached_tokens ?? beside;
  const written = promptDetails.cache_write_tokens ?? usage.cache_creation_input_tokens;
  const { reasoning_tokens: thought } = isRecord(usage.completion_tokens_details)
    ? usage.completion_tokens_details
    : {};
  const reasoning = typeof thought === "number" ? thought : 0;
  const inCache = (typeof cached === "number" ? cached : 0) + (typeof written === "number" ? written : 0);
  const apart = isCachedApart(inCache, prompt, total - prompt - completion, reasoning) ? inCache : 0;
  const added = {
    ...(typeof cached === "number" && promptDetails.cached_tokens === undefined && { cached_tokens: cached }),
    ...(typeof written === "number" &&
      promptDetails.cache_write_tokens === undefined &&
      inCache <= prompt + apart && { cache_write_tokens: written }),
  };
  const details = Object.keys(added).length > 0 ? { ...promptDetails, ...added } : undefined;
  const output = countOutput({ prompt: prompt + apart, output: completion, total });
  if (details === undefined && apart === 0 && output === completion) return usage;
  return {
    ...usage,
    ...(details && { prompt_tokens_details: details }),
    ...(apart > 0 && { prompt_tokens: prompt + apart }),
    ...(output > completion && { completion_tokens: output }),
  };
}

/** Whether cached tokens are no part of the prompt, by what the total has beyond prompt and completion. */
function isCachedApart(cached: number, prompt: number, rest: number, reasoning: number): boolean {
  return cached > 0 && (rest === cached + reasoning || (cached > prompt && rest === cached));
}
