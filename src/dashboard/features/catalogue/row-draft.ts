import type { Capability, ModelRow } from "../models/api.ts";
import { type Meter, meterNames, meters } from "../models/meters.ts";
import type { CatalogueModel, FileRow, Terms } from "./api.ts";

type Price = NonNullable<ModelRow["price"]>;
/** The meters of each capability; others are shown when they have a price. */
const metersOf: Record<Capability, readonly Meter[]> = {
  chat: [
    "inputToken",
    "outputToken",
    "cacheReadToken",
    "cacheWriteToken",
    "cacheWrite1hToken",
    "cacheWrite12hToken",
    "webSearch",
  ],
  embeddings: ["inputToken"],
  images: ["image", "inputImage", "inputToken", "imageInputToken", "outputToken", "imageOutputToken"],
  transcription: ["audioMs", "inputToken", "audioInputToken", "outputToken"],
  speech: ["character", "inputToken", "outputToken", "audioOutputToken"],
  moderation: ["inputToken"],
  rerank: ["searchUnit", "inputToken"],
};

/** The meters that a model of any capability may be priced by as well. */
const furtherMeters: readonly Meter[] = ["page", "second", "call"];

export function shownMeters({ capability, rates }: RowDraft): Meter[] {
  const shown = [...metersOf[capability], ...furtherMeters];
  return meterNames.filter((meter) => shown.includes(meter) || rates[meter].usd !== "");
}

/** The features that a model of a capability may have. */
export const featuresOf: Partial<Record<Capability, readonly string[]>> = {
  chat: ["vision", "tools", "json_schema", "audio", "pdf"],
  images: ["edits"],
  transcription: ["translation"],
};

/** Features to write to the row. An image model whose row has no features also accepts edits. */
function toFeatures({ capability, features }: RowDraft, under: Partial<ModelRow>): readonly string[] | undefined {
  const names: readonly string[] = featuresOf[capability] ?? [];
  const own = features.filter((name) => names.includes(name));
  if (capability === "images") return own.length > 0 && under.features === undefined ? undefined : own;
  return orNone(own) ?? (under.features?.length === 0 ? [] : undefined);
}

/** A rate as it is typed; without dollars the meter has no price. */
export interface RateDraft {
  readonly usd: string;
  readonly per: number;
}

/** The row of a model as the form has it. */
export interface RowDraft {
  plugin: string;
  id: string;
  upstreamId: string;
  capability: Capability;
  aliases: string;
  premium: boolean;
  rates: Readonly<Record<Meter, RateDraft>>;
  /** Percent above the rates; empty: the markup of the provider or the gateway. */
  markupPercent: string;
  priority: string;
  weight: string;
  contextTokens: string;
  outputTokensMax: string;
  pagesMax: string;
  secondsMax: string;
  features: readonly string[];
  /** Empty: the value below the operator's row, or else what the gateway derives from the model's name. */
  reasoning: "" | "yes" | "no";
  retiredOn: string;
  successor: string;
  whenRetired: "" | "refuse" | "serve" | "successor";
  source: string;
  checkedOn: string;
  disabled: boolean;
  /** The operator's fields that the form does not show. */
  rest: FileRow;
}

const texts = ["upstreamId", "retiredOn", "successor", "source", "checkedOn"] as const;
const numbers = ["priority", "weight", "contextTokens", "outputTokensMax", "pagesMax", "secondsMax"] as const;
const shown: readonly string[] = [
  "id",
  "capability",
  "aliases",
  "premium",
  "price",
  "features",
  "reasoning",
  "whenRetired",
  "disabled",
  ...texts,
  ...numbers,
];

/** The draft of a row as it is in force. */
export function toDraft(plugin: string, id: string, row: Partial<ModelRow>, own: FileRow | null): RowDraft {
  const text = (value: unknown) => (value === undefined || value === null ? "" : String(value));
  const rates = Object.fromEntries(
    meterNames.map((meter) => {
      const rate = row.price?.[meter];
      return [meter, { usd: rate?.usd ?? "", per: rate?.per ?? (meters[meter].sizes[0]?.[0] as number) }];
    }),
  ) as Record<Meter, RateDraft>;
  return {
    plugin,
    id,
    capability: row.capability ?? "chat",
    aliases: (row.aliases ?? []).join(", "),
    premium: row.premium ?? true,
    rates,
    markupPercent: text(row.price?.markupPercent),
    features: row.features ?? (row.capability === "images" ? ["edits"] : []),
    reasoning: row.reasoning === undefined ? "" : row.reasoning ? "yes" : "no",
    whenRetired: row.whenRetired ?? "",
    disabled: row.disabled ?? false,
    ...(Object.fromEntries([...texts, ...numbers].map((name) => [name, text(row[name])])) as Pick<
      RowDraft,
      (typeof texts)[number] | (typeof numbers)[number]
    >),
    rest: Object.fromEntries(Object.entries(own ?? {}).filter(([name]) => !shown.includes(name))),
  };
}

/** The row below the operator's own. */
export function toUnder({ base, signed }: Pick<CatalogueModel, "base" | "signed">): Partial<ModelRow> {
  const merged = { ...base, ...signed };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

/**
 * Computes the operator's row that turns the row below it into the draft. It has only the fields that differ, with
 * `null` for a field that is removed.
 *
 * @returns `undefined` if nothing differs: no row is needed then.
 */
export function toRow(draft: RowDraft, under: Partial<ModelRow>, price: ModelRow["price"]): FileRow | undefined {
  const draftRow: Record<string, unknown> = {
    capability: draft.capability,
    premium: draft.premium,
    aliases: orNone(splitNames(draft.aliases)),
    features: toFeatures(draft, under),
    reasoning: draft.reasoning === "" ? under.reasoning : draft.reasoning === "yes",
    whenRetired: draft.whenRetired || undefined,
    disabled: draft.disabled || undefined,
    price: toPrice(draft, price),
  };
  for (const name of texts) draftRow[name] = draft[name].trim() || undefined;
  for (const name of numbers) draftRow[name] = toNumber(draft[name]);
  const row: Record<string, unknown> = { id: draft.id, ...draft.rest };
  for (const [name, value] of Object.entries(draftRow)) {
    if (isSame(value, under[name as keyof ModelRow])) continue;
    row[name] = value ?? null;
  }
  // A row that names a successor is otherwise taken to want that it answers.
  if (typeof row.successor === "string" && row.whenRetired === undefined) row.whenRetired = draft.whenRetired || null;
  return Object.keys(row).length === 1 ? undefined : row;
}

/** Price of the form, including what it does not show: the rates for long prompts and for service tiers. */
function toPrice(
  { rates, markupPercent }: Pick<RowDraft, "rates" | "markupPercent">,
  { tiers, serviceTiers }: Price = {},
): Price | undefined {
  const entries = meterNames.flatMap((meter) => {
    const { usd, per } = rates[meter];
    return usd.trim() === "" ? [] : [[meter, { usd: usd.trim(), per }]];
  });
  const markup = toNumber(markupPercent);
  const price: Price = Object.fromEntries([...entries, ...(markup === undefined ? [] : [["markupPercent", markup]])]);
  if (tiers !== undefined) price.tiers = tiers;
  if (serviceTiers !== undefined) price.serviceTiers = serviceTiers;
  return Object.keys(price).length === 0 ? undefined : price;
}

const exampleOf: Record<Capability, { text: string; amounts: Partial<Record<Meter, number>> }> = {
  chat: { text: "1,000 input and 500 output tokens", amounts: { inputToken: 1000, outputToken: 500, call: 1 } },
  embeddings: { text: "1,000 input tokens", amounts: { inputToken: 1000, call: 1 } },
  images: { text: "one image", amounts: { image: 1, call: 1 } },
  transcription: { text: "one minute of audio", amounts: { audioMs: 60_000, call: 1 } },
  speech: { text: "1,000 characters", amounts: { character: 1000, call: 1 } },
  moderation: { text: "1,000 input tokens", amounts: { inputToken: 1000, call: 1 } },
  rerank: { text: "a query with 100 documents", amounts: { searchUnit: 1, call: 1 } },
};

/** Terms that a form makes. Text that is not a number is sent as it was typed: the gateway says what it expected. */
export function toTerms(draft: RowDraft, price: ModelRow["price"]): Terms {
  const [contextTokens, outputTokensMax] = [draft.contextTokens, draft.outputTokensMax].map(toNumber);
  return {
    premium: draft.premium,
    price: toPrice(draft, price) ?? {},
    ...(draft.capability !== "chat" && { capability: draft.capability }),
    ...(contextTokens !== undefined && { contextTokens: contextTokens as number }),
    ...(outputTokensMax !== undefined && { outputTokensMax: outputTokensMax as number }),
  };
}

/** The cost of an example call without a markup, in dollars; `undefined` while a rate is not a number. */
export function exampleCost(draft: RowDraft): { text: string; usd: number | undefined } {
  const { rates, capability } = draft;
  const isByToken = rates[metersOf[capability][0] as Meter].usd.trim() === "" && rates.inputToken.usd.trim() !== "";
  const { text, amounts } = exampleOf[isByToken ? "chat" : capability];
  let usd = 0;
  for (const [meter, amount] of Object.entries(amounts) as [Meter, number][]) {
    const rate = draft.rates[meter];
    if (rate.usd.trim() === "") {
      if (meter !== "call") return { text, usd: undefined };
      continue;
    }
    usd += (Number(rate.usd) * amount) / rate.per;
  }
  const cost = Math.ceil(usd * 1e9 - 1e-6) / 1e9;
  return { text, usd: Number.isFinite(cost) ? cost : undefined };
}

function splitNames(text: string): string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

function orNone<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Text that is not a number is sent as it was typed: the gateway says what it expected. */
function toNumber(text: string): number | string | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isNaN(value) ? text : value;
}

function isSame(one: unknown, other: unknown): boolean {
  return toStable(one) === toStable(other);
}

/** JSON that does not depend on the order of the fields. */
function toStable(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
