import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

import { open, optional } from "./optional.ts";

/** Definition of a {@link MeterName}: its unit, and everything that follows from it. */
interface Meter {
  /** The column of `calls` and of the sums; also the field of requests in JSON and in exports. */
  readonly column: string;
  /** A token of the prompt or of the answer, or a unit of another kind. */
  readonly kind: "prompt" | "answer" | "unit";
  /** A unit that comes out of a call, as tokens of the answer do. */
  readonly isOutput?: true;
  /**
   * Meters whose rates apply if a price has no rate for this meter, in steps. The first step with a rate counts, and in
   * it the most expensive meter. If no step has a rate, nothing says what a unit costs, and it is not charged.
   */
  readonly fallback: readonly (readonly string[])[];
  /** How many tokens of the free quota one of it takes. Tokens take as many of the tokens per minute. */
  readonly quotaWeight: number;
  /**
   * For a unit: an amount that no request exceeds. It applies if neither a hold nor the row of the model bounds the
   * unit.
   */
  readonly requestMax?: number;
  /** For a unit: the field of a model's row with the maximum for one request. */
  readonly rowMax?: "audioMsMax" | "pagesMax" | "secondsMax";
  /**
   * For a unit: the field of a provider's report that counts it, whatever the capability. If a row has a price for the
   * unit, it also has a maximum, which is held, and which is charged if a report leaves the unit out.
   */
  readonly reportedAs?: "pages" | "seconds";
  /** The label of the counters `modelgate_tokens_total` and `modelgate_units_total`, and how many make one there. */
  readonly metric: readonly [label: string, divisor: number];
}

/** Other tokens of a prompt. A price without a rate for text tokens has a rate for at least one of these. */
const otherInputs = ["audioInputToken", "imageInputToken"];

/**
 * All quantities that are counted and priced: columns, sums, exports, metrics and prices are made from this table.
 * Meters are disjoint: a token read from a cache is a `cacheReadToken` and not also an `inputToken`, so a bill is a dot
 * product of meters and prices. A token written to a cache is a `cacheWrite1hToken` if the provider keeps it for an
 * hour, a `cacheWrite12hToken` if for twelve or more, which cost more each, and otherwise a `cacheWriteToken`. Tokens
 * of audio and of images are counted apart if the provider does so; without a rate of their own they cost as much as
 * text.
 *
 * A token read from a cache costs no more than a token that is read anew, and a token written to a cache may cost more.
 * A price that leaves them out therefore means, for reading, the rate of a token that is read anew, and, for writing,
 * the highest rate of input and cache writes. How to add a meter: `docs/architecture.md`.
 */
export const meterTable = {
  inputToken: {
    column: "input_tokens",
    kind: "prompt",
    fallback: [otherInputs],
    quotaWeight: 1,
    metric: ["input", 1],
  },
  audioInputToken: {
    column: "audio_input_tokens",
    kind: "prompt",
    fallback: [["inputToken"], ["imageInputToken"]],
    quotaWeight: 1,
    metric: ["audio_input", 1],
  },
  imageInputToken: {
    column: "image_input_tokens",
    kind: "prompt",
    fallback: [["inputToken"], ["audioInputToken"]],
    quotaWeight: 1,
    metric: ["image_input", 1],
  },
  cacheReadToken: {
    column: "cache_read_tokens",
    kind: "prompt",
    fallback: [["inputToken"], otherInputs],
    quotaWeight: 0.1,
    metric: ["cache_read", 1],
  },
  audioCacheReadToken: {
    column: "audio_cache_read_tokens",
    kind: "prompt",
    fallback: [["cacheReadToken"], ["audioInputToken"], ["inputToken"], ["imageInputToken"]],
    quotaWeight: 0.1,
    metric: ["audio_cache_read", 1],
  },
  cacheWriteToken: {
    column: "cache_write_tokens",
    kind: "prompt",
    fallback: [["inputToken", "cacheWrite1hToken", "cacheWrite12hToken"], otherInputs],
    quotaWeight: 1,
    metric: ["cache_write", 1],
  },
  cacheWrite1hToken: {
    column: "cache_write_1h_tokens",
    kind: "prompt",
    fallback: [["inputToken", "cacheWriteToken", "cacheWrite12hToken"], otherInputs],
    quotaWeight: 1,
    metric: ["cache_write_1h", 1],
  },
  cacheWrite12hToken: {
    column: "cache_write_12h_tokens",
    kind: "prompt",
    fallback: [["inputToken", "cacheWriteToken", "cacheWrite1hToken"], otherInputs],
    quotaWeight: 1,
    metric: ["cache_write_12h", 1],
  },
  outputToken: {
    column: "output_tokens",
    kind: "answer",
    fallback: [["audioOutputToken", "imageOutputToken"]],
    quotaWeight: 1,
    metric: ["output", 1],
  },
  audioOutputToken: {
    column: "audio_output_tokens",
    kind: "answer",
    fallback: [["outputToken"], ["imageOutputToken"]],
    quotaWeight: 1,
    metric: ["audio_output", 1],
  },
  imageOutputToken: {
    column: "image_output_tokens",
    kind: "answer",
    fallback: [["outputToken"], ["audioOutputToken"]],
    quotaWeight: 1,
    metric: ["image_output", 1],
  },
  image: {
    column: "images",
    kind: "unit",
    isOutput: true,
    fallback: [],
    quotaWeight: 1290,
    requestMax: 10,
    metric: ["images", 1],
  },
  /** An image that goes into an edit, of a model that is charged by the image. */
  inputImage: {
    column: "input_images",
    kind: "unit",
    fallback: [],
    quotaWeight: 0,
    requestMax: 160,
    metric: ["input_images", 1],
  },
  audioMs: {
    column: "audio_ms",
    kind: "unit",
    isOutput: true,
    fallback: [],
    quotaWeight: 0.032,
    requestMax: 14_400_000,
    rowMax: "audioMsMax",
    metric: ["audio_seconds", 1000],
  },
  character: {
    column: "characters",
    kind: "unit",
    isOutput: true,
    fallback: [],
    quotaWeight: 0.25,
    requestMax: 100_000,
    metric: ["characters", 1],
  },
  /** A rerank query with up to 100 documents of up to 500 tokens. */
  searchUnit: {
    column: "search_units",
    kind: "unit",
    fallback: [],
    quotaWeight: 1000,
    requestMax: 10_000,
    metric: ["search_units", 1],
  },
  /** A search of the web that the provider ran for a model. */
  webSearch: {
    column: "web_searches",
    kind: "unit",
    fallback: [],
    quotaWeight: 1000,
    requestMax: 1000,
    metric: ["web_searches", 1],
  },
  /** A page of a document that a model read. */
  page: {
    column: "pages",
    kind: "unit",
    fallback: [],
    quotaWeight: 1000,
    requestMax: 10_000,
    rowMax: "pagesMax",
    reportedAs: "pages",
    metric: ["pages", 1],
  },
  /** A second that a provider bills: of video, or of the time that its hardware took. */
  second: {
    column: "seconds",
    kind: "unit",
    fallback: [],
    quotaWeight: 32,
    requestMax: 86_400,
    rowMax: "secondsMax",
    reportedAs: "seconds",
    metric: ["seconds", 1],
  },
  /** A call of a model that is charged by the call. */
  call: { column: "call_units", kind: "unit", fallback: [], quotaWeight: 0, metric: ["calls", 1] },
} as const satisfies Readonly<Record<string, Meter>>;

export type MeterName = keyof typeof meterTable;

export const meterNames = Object.keys(meterTable) as MeterName[];

/** The table with a wider type: optional fields can be read from each meter. */
const meterOf: Readonly<Record<MeterName, Meter>> = meterTable;

/** Returns the row of a meter, with its optional fields. */
export function getMeter(name: MeterName): Meter {
  return meterOf[name];
}

function namesOf(isOf: (meter: Meter) => boolean): readonly MeterName[] {
  return meterNames.filter((name) => isOf(meterOf[name]));
}

/**
 * The tokens of an answer by a report with a total. What the total has beyond prompt and answer is output that is not declared,
 * such as hidden reasoning behind a proxy. A total without a prompt says nothing of the answer.
 *
 * @example
 * countOutput({ prompt: 20, output: 198, total: 623 }); // => 603
 */
export function countOutput({ prompt, output, total }: { prompt: number; output: number; total: unknown }): number {
  return prompt > 0 && isReportable(total) ? Math.max(output, total - prompt) : output;
}

const reportedHalves = [
  ["prompt_tokens", "prompt_tokens_details"],
  ["completion_tokens", "completion_tokens_details"],
  ["input_tokens", "input_tokens_details"],
  ["output_tokens", "output_tokens_details"],
] as const;

/**
 * Completes a later report of one answer with the half that it lacks and an earlier report had: some servers report the
 * prompt only at the beginning, and zero in its place at the end.
 *
 * @example
 * withEarlierFigures({ prompt_tokens: 0, n: 1 }, { prompt_tokens: 5 }); // => { prompt_tokens: 5, n: 1 }
 */
export function withEarlierFigures<Report extends object>(later: Report, earlier: Report): Report {
  const before = earlier as Record<string, unknown>;
  const complete = { ...later } as Record<string, unknown>;
  let sum = 0;
  let isChanged = false;
  for (const [tokens, details] of reportedHalves) {
    if (!complete[tokens] && before[tokens]) {
      isChanged = true;
      complete[tokens] = before[tokens];
      if (before[details] !== undefined) complete[details] = before[details];
    }
    const half = complete[tokens];
    if (typeof half === "number") sum += half;
  }
  if (!isChanged) return later;
  if (typeof complete.total_tokens === "number") complete.total_tokens = sum;
  return complete as Report;
}

/** Sums of figures. A sum may be divided further, into an object of sums. */
export interface FigureSums {
  [name: string]: number | FigureSums;
}

/**
 * Adds the figures of a part to the sums of the parts before it. Values that are not numbers are left out.
 *
 * @example
 * const sums = { reasoning_tokens: 3 };
 * sumFigures(sums, { reasoning_tokens: 4 });
 * sums.reasoning_tokens; // => 7
 */
export function sumFigures(sums: FigureSums, part: object | null | undefined): void {
  for (const [name, amount] of Object.entries(part ?? {})) {
    const before = sums[name];
    if (typeof amount === "number") sums[name] = typeof before === "number" ? before + amount : amount;
    else if (typeof amount === "object" && amount !== null && !Array.isArray(amount)) {
      const inner = typeof before === "object" ? before : {};
      sumFigures(inner, amount);
      sums[name] = inner;
    }
  }
}

/** Tokens of the prompt of all kinds, cached or not. */
export const promptMeters = namesOf(({ kind }) => kind === "prompt");

/** Tokens of the answer of all kinds. */
export const answerMeters = namesOf(({ kind }) => kind === "answer");

/** Meters of a call's output. */
export const outputMeters = namesOf(({ kind, isOutput }) => kind === "answer" || isOutput === true);

const tokenMeters = namesOf(({ kind }) => kind !== "unit");

/** Meters counted otherwise than in tokens. */
export const unitMeters = namesOf(({ kind }) => kind === "unit");

/** Units that any answer may report, with the field of its usage and the field of the row that has the maximum. */
export const reportedUnits = unitMeters.flatMap((name) => {
  const { reportedAs: field, rowMax } = meterOf[name];
  return field === undefined || rowMax === undefined ? [] : [{ name, field, rowMax }];
});

/** Returns the meters whose rates apply if a price has no rate for a meter, in steps: see `fallback` of the table. */
export function getFallback(name: MeterName): readonly (readonly MeterName[])[] {
  return meterOf[name].fallback as readonly (readonly MeterName[])[];
}

/** How much one of each takes of the free quota, in tokens; a model may say otherwise for units. */
export const quotaWeights = Object.fromEntries(meterNames.map((name) => [name, meterOf[name].quotaWeight])) as Readonly<
  Record<MeterName, number>
>;

/** A column of a meter in `calls` and in the sums. */
export type MeterColumn = (typeof meterTable)[MeterName]["column"];

export const meterColumns: readonly MeterColumn[] = meterNames.map((name) => meterTable[name].column);

/** Columns that usage is shown by: all but the calls of models that are charged by the call. */
export const usageColumns = meterColumns.filter((column) => column !== "call_units") as readonly UsageColumn[];
export type UsageColumn = Exclude<MeterColumn, "call_units">;

function columnsOf(names: readonly MeterName[]): readonly UsageColumn[] {
  return names.map((name) => meterTable[name].column as UsageColumn);
}

/** The columns of {@link promptMeters}. */
export const promptColumns = columnsOf(promptMeters);
/** The columns of the tokens of answers. */
export const answerColumns = columnsOf(answerMeters);

/** The columns of tokens that a provider read from its cache. */
export const cacheReadColumns = columnsOf(["cacheReadToken", "audioCacheReadToken"]);

/** Meters of tokens that a provider wrote to its cache, and their columns. */
export const cacheWriteMeters = promptMeters.filter((name) => name.startsWith("cacheWrite"));
export const cacheWriteColumns = columnsOf(cacheWriteMeters);

/** The field that usage has for each of {@link unitMeters}, and how many of the column make one there. */
export const unitFigures = unitMeters
  .filter((name) => name !== "call")
  .map((name) => {
    const [field, divisor] = meterTable[name].metric;
    return { field, divisor, column: meterTable[name].column as UsageColumn };
  });

/** Adds up some columns of a row of sums. */
export function sumColumns(row: Readonly<Record<UsageColumn, number>>, columns: readonly UsageColumn[]): number {
  return columns.reduce((sum, column) => sum + row[column], 0);
}

/**
 * Units that an answer reports in addition to its tokens: {@link reportedUnits}. A part of a unit counts as a whole
 * unit.
 */
export interface UnitsReport {
  pages?: number | null | undefined;
  seconds?: number | null | undefined;
}

/** Amounts by meter, whole and not negative. An absent meter is unknown or not of this capability, never zero by default. */
export type Meters = Partial<Record<MeterName, number>>;

/**
 * Where meters come from. `reported`: the provider said so. `estimated`: counted here from what went in and came out,
 * because the provider said nothing usable. `none`: nothing came out, so nothing is charged.
 */
export type UsageSource = "reported" | "estimated" | "none";

/** More than any call uses. A larger figure is a provider's mistake; sums and costs of such reports stay below 2^53. */
const reportedMax = 2 ** 33;

/**
 * Turns the usage of a chat or embedding answer into disjoint meters. Figures that are not whole, not finite, negative
 * or beyond what any call uses make the report unusable.
 *
 * @returns `undefined` when the report cannot be used (absent, malformed, or cached exceeding the prompt).
 */
export function toMeters(usage: ChatUsage | null | undefined): Meters | undefined {
  if (usage === null || usage === undefined) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!isReportable(prompt)) return undefined;
  if (completion !== undefined && !isReportable(completion)) return undefined;
  // An absent part is a part of zero tokens: the prompt's own figure has them.
  const details = usage.prompt_tokens_details;
  const { audio_tokens: spoken, image_tokens: drawn } = usage.completion_tokens_details ?? {};
  const writeDetails = details?.cache_write_tokens_details;
  const parts = [
    details?.cached_tokens ?? 0,
    details?.cache_write_tokens ?? 0,
    details?.cache_write_1h_tokens ?? sumKept(writeDetails, "cacheWrite1hToken"),
    details?.cache_write_12h_tokens ?? sumKept(writeDetails, "cacheWrite12hToken"),
    details?.audio_tokens ?? 0,
    details?.image_tokens ?? 0,
    details?.cached_tokens_details?.audio_tokens ?? 0,
    spoken ?? 0,
    drawn ?? 0,
  ] as const;
  if (!parts.every(isAmount)) return undefined;
  const [read, written, hourly, halfDaily, audioIn, seen, heardBefore, audio, images] = parts;
  const input = prompt - read - written;
  const output = (completion ?? 0) - audio - images;
  const isContradictory = audioIn > prompt || seen > prompt || heardBefore > Math.min(audioIn, read);
  if (input < 0 || isContradictory || output < 0 || hourly + halfDaily > written) return undefined;
  // Audio and images that were read from a cache are counted as that; some providers say how much of the audio was.
  const audioInput = Math.min(audioIn - heardBefore, input);
  const imageInput = Math.min(seen, input - audioInput);
  const meters: Meters = { inputToken: input - audioInput - imageInput };
  if (audioInput > 0) meters.audioInputToken = audioInput;
  if (imageInput > 0) meters.imageInputToken = imageInput;
  if (read > heardBefore) meters.cacheReadToken = read - heardBefore;
  if (heardBefore > 0) meters.audioCacheReadToken = heardBefore;
  if (written > hourly + halfDaily) meters.cacheWriteToken = written - hourly - halfDaily;
  if (hourly > 0) meters.cacheWrite1hToken = hourly;
  if (halfDaily > 0) meters.cacheWrite12hToken = halfDaily;
  if (completion !== undefined) meters.outputToken = output;
  if (audio > 0) meters.audioOutputToken = audio;
  if (images > 0) meters.imageOutputToken = images;
  const { web_search_requests: searches } = usage;
  if (searches === undefined || searches === null) return meters;
  return isReportable(searches) ? { ...meters, webSearch: searches } : undefined;
}

/** Members of a request that ask for a cache, and may say for how long: Anthropic's, and OpenAI's for a part and for a request. */
export const lifetimeFields: ReadonlySet<string> = new Set([
  "cache_control",
  "prompt_cache_breakpoint",
  "prompt_cache_options",
]);

/**
 * Meter of the tokens that are written to a cache, by the lifetime that a request sets or a report states. A provider's
 * shortest lifetime costs what any write costs. An unknown lifetime counts as the longest.
 *
 * @example
 * getWriteMeter("30m"); // => "cacheWriteToken"
 * getWriteMeter("7d"); // => "cacheWrite12hToken"
 */
export function getWriteMeter(lifetime: unknown): "cacheWriteToken" | "cacheWrite1hToken" | "cacheWrite12hToken" {
  switch (lifetime) {
    case undefined:
    case null:
    case "5m":
    case "30m":
      return "cacheWriteToken";
    case "1h":
      return "cacheWrite1hToken";
    default:
      return "cacheWrite12hToken";
  }
}

/** Adds up the tokens of a report by lifetime that belong to a meter. `NaN` if an amount is not a number. */
function sumKept(details: Readonly<Record<string, unknown>> | null | undefined, meter: MeterName): number {
  let sum = 0;
  for (const name in details) {
    const lifetime = /^ttl_(.+)_tokens$/.exec(name)?.[1];
    if (lifetime === undefined || getWriteMeter(lifetime) !== meter) continue;
    const amount = details[name] ?? 0;
    sum += typeof amount === "number" ? amount : Number.NaN;
  }
  return sum;
}

/** Whether a provider's figure can be believed and charged. */
export function isReportable(value: unknown): value is number {
  return isAmount(value) && value <= reportedMax;
}

/** Tokens of the prompt of all kinds, cached or not. */
export function sumPromptTokens(meters: Meters): number {
  return sumKnown(meters, promptMeters) ?? 0;
}

/** Tokens of the answer of all kinds; `undefined` if none are counted. */
export function sumOutputTokens(meters: Meters): number | undefined {
  return sumKnown(meters, answerMeters);
}

function sumKnown(meters: Meters, names: readonly MeterName[]): number | undefined {
  let sum: number | undefined;
  for (const name of names) {
    const amount = meters[name];
    if (amount !== undefined) sum = (sum ?? 0) + amount;
  }
  return sum;
}

/** Sums tokens of all kinds for the limit of tokens per minute; `undefined` if no meter counts tokens. */
export function sumTokens(meters: Meters): number | undefined {
  let tokens: number | undefined;
  for (const name of tokenMeters) {
    const amount = meters[name];
    if (amount !== undefined) tokens = (tokens ?? 0) + amount * quotaWeights[name];
  }
  return tokens === undefined ? undefined : Math.ceil(tokens);
}

/** Whether a figure is a valid amount of a meter: a whole number from 0 to 2^53 − 1. */
export function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Tokens of images, transcripts and speech, OpenAI's shape. The details divide them by what they are of. */
export const TokenUsage = Type.Object(
  { input_tokens: Type.Integer(), output_tokens: Type.Integer(), total_tokens: Type.Integer() },
  { additionalProperties: true },
);
export type TokenUsage = Static<typeof TokenUsage>;

type Kind = "text_tokens" | "audio_tokens" | "image_tokens";

/**
 * Turns such usage into disjoint meters. Tokens that the provider does not divide are of the kind that is given: of audio
 * for a transcript, of images for images.
 *
 * @returns `undefined` when the report cannot be used.
 */
export function toTokenMeters(usage: unknown, kinds: { input: Kind; output: Kind }): Meters | undefined {
  if (!Value.Check(TokenUsage, usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  const details: Record<string, unknown> = usage;
  const inputDetails = toDetails(details.input_tokens_details ?? details.input_token_details);
  const outputDetails = toDetails(details.output_tokens_details);
  const chatUsage: ChatUsage = {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: withRest(inputDetails, kinds.input, input),
    completion_tokens_details: withRest(outputDetails, kinds.output, output),
  };
  return toMeters(chatUsage);
}

function toDetails(details: unknown): Record<string, unknown> {
  return typeof details === "object" && details !== null ? { ...details } : {};
}

/** The details, with what they leave open as tokens of one kind. */
function withRest(details: Record<string, unknown>, kind: Kind, total: number): Record<string, unknown> {
  const { text_tokens: text } = details;
  return { [kind]: total - (typeof text === "number" ? text : 0), ...details };
}

/**
 * Tokens of one chat answer, OpenAI's shape: cached and cache-written tokens are parts of `prompt_tokens`, reasoning
 * is a part of `completion_tokens`. `cache_write_tokens` (billed apart), the part of them that is kept for an hour,
 * `web_search_requests` and `cost` are our additions.
 */
export const ChatUsage = Type.Object(
  {
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Optional(Type.Integer()),
    total_tokens: Type.Optional(Type.Integer()),
    prompt_tokens_details: optional(
      Type.Object(
        {
          cached_tokens: optional(Type.Integer()),
          cache_write_tokens: optional(Type.Integer()),
          cache_write_1h_tokens: optional(Type.Integer()),
          cache_write_12h_tokens: optional(Type.Integer()),
          /** OpenAI's: the written tokens by how long they are kept, such as `ttl_30m_tokens` and `ttl_12h_tokens`. */
          cache_write_tokens_details: optional(Type.Record(Type.String(), Type.Unknown())),
          audio_tokens: optional(Type.Integer()),
          image_tokens: optional(Type.Integer()),
          cached_tokens_details: optional(Type.Object({ audio_tokens: optional(Type.Integer()) }, open)),
        },
        open,
      ),
    ),
    completion_tokens_details: optional(
      Type.Object(
        {
          reasoning_tokens: optional(Type.Integer()),
          audio_tokens: optional(Type.Integer()),
          image_tokens: optional(Type.Integer()),
        },
        open,
      ),
    ),
    /** The searches of the web that the provider ran and charges for; absent where it does not say. */
    web_search_requests: optional(Type.Integer()),
    pages: optional(Type.Number({ description: "Pages that the provider charges for" })),
    seconds: optional(Type.Number({ description: "Seconds that the provider charges for" })),
    /** Cost of the whole call in dollars; absent if it is unknown. */
    cost: Type.Optional(Type.Number()),
  },
  open,
);

export type ChatUsage = Static<typeof ChatUsage>;
