import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { MeterName } from "../../src/contract/index.ts";
import type { CallRow } from "./ledger-view.ts";

const folder = join(import.meta.dir, "../../catalogue");

interface Rate {
  usd: string;
  per: number;
}

type RateName = Exclude<MeterName, "call">;
type Rates = Partial<Record<RateName, Rate>>;

/** A catalogue row as it stands in the file. */
export interface CatalogueRow {
  id: string;
  aliases?: string[];
  upstreamId: string;
  capability: "chat" | "embeddings" | "images" | "transcription" | "speech";
  premium: boolean;
  omit?: string[];
  voices?: string[];
  dimensions?: { default: number; min: number; max: number };
  inputTokensMax?: number;
  outputTokensMax?: number;
  price?: Rates & { markupPercent?: number; tiers?: (Rates & { aboveInputTokens: number })[] };
}

/** Every row of a plugin's catalogue file; without a name, of all files. */
export function catalogueRows(plugin?: string): CatalogueRow[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  const wanted = plugin === undefined ? files : files.filter((file) => basename(file, ".json") === plugin);
  return wanted.flatMap((file) => {
    const read = JSON.parse(readFileSync(join(folder, file), "utf8")) as CatalogueRow[] | { models: CatalogueRow[] };
    return Array.isArray(read) ? read : read.models;
  });
}

/** The row of a model id. @throws When the catalogue has none. */
export function catalogueRow(id: string): CatalogueRow {
  const row = catalogueRows().find((candidate) => candidate.id === id);
  if (row === undefined) throw new Error(`No model ${id} in the catalogue`);
  return row;
}

/** Sound and pictures without a rate of their own cost what text does. */
const textOf: Partial<Record<RateName, RateName>> = {
  audioInputToken: "inputToken",
  audioOutputToken: "outputToken",
  imageOutputToken: "outputToken",
};

/**
 * What a call must cost in nanodollars: the sum over what was used times its price with the markup, rounded up once.
 * `null` when something was used that has no price. Worked out here from the decimal text of the file in exact fractions, not with the code under test.
 */
export function costOf(row: CatalogueRow, call: CallRow): bigint | null {
  const amounts: [RateName, number | null][] = [
    ["inputToken", call.input_tokens],
    ["audioInputToken", call.audio_input_tokens],
    ["cacheReadToken", call.cache_read_tokens],
    ["cacheWriteToken", call.cache_write_tokens],
    ["cacheWrite1hToken", call.cache_write_1h_tokens],
    ["outputToken", call.output_tokens],
    ["audioOutputToken", call.audio_output_tokens],
    ["imageOutputToken", call.image_output_tokens],
    ["image", call.images],
    ["audioMs", call.audio_ms],
    ["character", call.characters],
  ];
  const cached = sum(call.cache_read_tokens, call.cache_write_tokens, call.cache_write_1h_tokens);
  const input = BigInt(sum(call.input_tokens, call.audio_input_tokens, cached));
  const rates = ratesFor(row, input);
  let [top, bottom] = [0n, 1n];
  for (const [name, amount] of amounts) {
    if (amount === null || amount === 0) continue;
    // Sound and pictures without a rate of their own cost what text does.
    const rate = rates[name] ?? rates[textOf[name] ?? name];
    if (rate === undefined) return null;
    top = top * BigInt(rate.per) + BigInt(amount) * nanodollarsOf(rate.usd) * bottom;
    bottom *= BigInt(rate.per);
  }
  top *= BigInt(100 + (row.price?.markupPercent ?? 0));
  bottom *= 100n;
  return (top + bottom - 1n) / bottom;
}

function ratesFor(row: CatalogueRow, inputTokens: bigint): Rates {
  const tiers = [...(row.price?.tiers ?? [])].sort((a, b) => b.aboveInputTokens - a.aboveInputTokens);
  const tier = tiers.find(({ aboveInputTokens }) => inputTokens > BigInt(aboveInputTokens));
  return { ...row.price, ...tier };
}

function nanodollarsOf(usd: string): bigint {
  const [whole = "0", fraction = ""] = usd.split(".");
  return BigInt(whole) * 10n ** 9n + BigInt(fraction.padEnd(9, "0"));
}

export function sum(...amounts: (number | null)[]): number {
  return amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0);
}
