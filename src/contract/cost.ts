import { fallbackMeterOf, type MeterName, type Meters, meterNames, sumPromptTokens } from "./meters.ts";

/** One US dollar in the unit of all money in code and in SQL. */
export const nanodollarsPerUsd = 1_000_000_000;

/** Rates over one common denominator: a cost is `Σ amount × numerators[meter] / denominator`, rounded up once. */
export interface RateTable {
  readonly aboveInputTokens: number;
  readonly numerators: Partial<Record<MeterName, number>>;
  readonly denominator: number;
}

/** A price made ready for arithmetic by `compilePrice`. `version` names the exact rates, and a charge records it. */
export interface CompiledPrice {
  readonly version: string;
  /** By falling threshold; the last has threshold 0. */
  readonly tables: readonly RateTable[];
  /** By what clients write in `service_tier`; absent where no tier has a price of its own. */
  readonly serviceTiers?: Readonly<Record<string, CompiledPrice>>;
}

/**
 * What the metered amounts cost, in whole nanodollars, rounded up once at the end.
 *
 * @returns `undefined` when a meter with an amount above zero has no known price, or the sum leaves 2^53.
 */
export function costNanodollars(compiledPrice: CompiledPrice, meters: Meters): number | undefined {
  const table = findTable(compiledPrice, meters);
  let sum = 0;
  for (const name of meterNames) {
    const amount = meters[name];
    if (amount === undefined || amount === 0) continue;
    const numerator = findNumerator(table, name);
    if (numerator === undefined) return undefined;
    sum += amount * numerator;
  }
  if (sum > Number.MAX_SAFE_INTEGER) return exactCost(table, meters);
  return Math.ceil(sum / table.denominator);
}

/** Money for people and for JSON: exact decimal US dollars, no exponent, `1500000` → `"0.0015"`. */
export function formatUsd(nanodollars: number): string {
  const digits = Math.abs(nanodollars).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  const sign = nanodollars < 0 ? "-" : "";
  return `${sign}${digits.slice(0, -9)}${fraction === "" ? "" : `.${fraction}`}`;
}

function findNumerator({ numerators }: RateTable, name: MeterName): number | undefined {
  const fallback = fallbackMeterOf[name];
  return numerators[name] ?? (fallback && numerators[fallback]);
}

/** The rates of a prompt of this length. */
export function findTable(compiledPrice: CompiledPrice, meters: Meters): RateTable {
  const input = sumPromptTokens(meters);
  return (
    compiledPrice.tables.find((table) => input > table.aboveInputTokens) ?? (compiledPrice.tables.at(-1) as RateTable)
  );
}

function exactCost(table: RateTable, meters: Meters): number | undefined {
  let sum = 0n;
  for (const name of meterNames) {
    const amount = meters[name];
    const numerator = findNumerator(table, name);
    if (amount !== undefined && numerator !== undefined) sum += BigInt(amount) * BigInt(numerator);
  }
  const denominator = BigInt(table.denominator);
  const cost = Number((sum + denominator - 1n) / denominator);
  return Number.isSafeInteger(cost) ? cost : undefined;
}
