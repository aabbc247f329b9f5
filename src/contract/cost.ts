import { type MeterName, type Meters, meterNames } from "./meters.ts";
import type { Price, Rate } from "./price.ts";

/** One US dollar in the unit of all money in code and in SQL. */
export const nanodollarsPerUsd = 1_000_000_000;

/** Rates over one common denominator: a cost is `Σ amount × numerators[meter] / denominator`, rounded up once. */
interface RateTable {
  readonly aboveInputTokens: number;
  readonly numerators: Partial<Record<MeterName, number>>;
  readonly denominator: number;
}

/** A price made ready for arithmetic. `version` names the exact rates, and a charge records it. */
export interface CompiledPrice {
  readonly version: string;
  /** By falling threshold; the last has threshold 0. */
  readonly tables: readonly RateTable[];
}

/**
 * Prepares a price for {@link costNanodollars}.
 *
 * @throws {RangeError} When a rate cannot be held exactly in integers below 2^53.
 */
export function compilePrice(price: Price): CompiledPrice {
  const known = compiled.get(price);
  if (known !== undefined) return known;
  const compiledPrice = compileTariff(price);
  compiled.set(price, compiledPrice);
  return compiledPrice;
}

/** A price is checked at load and compiled for each registry it stands in. */
const compiled = new WeakMap<Price, CompiledPrice>();

function compileTariff(price: Price): CompiledPrice {
  const tiers = [...(price.tiers ?? [])].sort((a, b) => b.aboveInputTokens - a.aboveInputTokens);
  const tables = tiers.map((tier) => compileTable({ ...price, ...tier }, tier.aboveInputTokens));
  tables.push(compileTable(price, 0));
  return { version: fingerprint(JSON.stringify(tables)), tables };
}

/**
 * What the metered amounts cost, in whole nanodollars, rounded up once at the end.
 *
 * @returns `undefined` when a meter with an amount above zero has no known price, or the sum leaves 2^53.
 */
export function costNanodollars(compiledPrice: CompiledPrice, meters: Meters): number | undefined {
  const table = tableFor(compiledPrice, meters);
  let sum = 0;
  for (const name of meterNames) {
    const amount = meters[name];
    if (amount === undefined || amount === 0) continue;
    const numerator = table.numerators[name];
    if (numerator === undefined) return undefined;
    sum += amount * numerator;
  }
  if (sum > Number.MAX_SAFE_INTEGER) return exactCost(table, meters);
  return Math.ceil(sum / table.denominator);
}

/** Whether every meter in use has a price, so that a premium model can be sold by it. */
export function isPriced(compiledPrice: CompiledPrice, meters: readonly MeterName[]): boolean {
  return compiledPrice.tables.every((table) => meters.every((name) => table.numerators[name] !== undefined));
}

/** Money for people and for JSON: exact decimal US dollars, no exponent, `1500000` → `"0.0015"`. */
export function formatUsd(nanodollars: number): string {
  const digits = Math.abs(nanodollars).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  const sign = nanodollars < 0 ? "-" : "";
  return `${sign}${digits.slice(0, -9)}${fraction === "" ? "" : `.${fraction}`}`;
}

/**
 * Reads decimal US dollars as whole nanodollars.
 *
 * @returns `undefined` when the text is no such number, has more than nine decimals, or leaves 2^53 nanodollars.
 */
export function parseUsd(text: string): number | undefined {
  const match = /^(-?)(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = ""] = match;
  const amount = Number(whole) * nanodollarsPerUsd + Number(fraction.padEnd(9, "0"));
  if (!Number.isSafeInteger(amount)) return undefined;
  return sign === "-" && amount !== 0 ? -amount : amount;
}

function tableFor(compiledPrice: CompiledPrice, meters: Meters): RateTable {
  const input = sumOf(meters.inputToken, meters.cacheReadToken, meters.cacheWriteToken);
  for (const table of compiledPrice.tables) if (input > table.aboveInputTokens) return table;
  return compiledPrice.tables.at(-1) as RateTable;
}

function sumOf(...amounts: (number | undefined)[]): number {
  let sum = 0;
  for (const amount of amounts) if (amount !== undefined) sum += amount;
  return sum;
}

function exactCost(table: RateTable, meters: Meters): number | undefined {
  let sum = 0n;
  for (const name of meterNames) {
    const amount = meters[name];
    const numerator = table.numerators[name];
    if (amount !== undefined && numerator !== undefined) sum += BigInt(amount) * BigInt(numerator);
  }
  const denominator = BigInt(table.denominator);
  const cost = Number((sum + denominator - 1n) / denominator);
  return Number.isSafeInteger(cost) ? cost : undefined;
}

function compileTable(price: Omit<Price, "tiers">, aboveInputTokens: number): RateTable {
  const percent = 100n + BigInt(price.markupPercent === undefined ? 0 : price.markupPercent);
  const fractions = new Map<MeterName, [bigint, bigint]>();
  for (const name of meterNames) {
    const rate: Rate | undefined = price[name];
    if (rate === undefined) continue;
    const nanodollars = parseUsd(rate.usd);
    if (nanodollars === undefined) throw new RangeError(`Cannot hold the price ${rate.usd} of ${name} exactly`);
    fractions.set(name, reduce(BigInt(nanodollars) * percent, BigInt(rate.per) * 100n));
  }
  let denominator = 1n;
  for (const [, part] of fractions.values()) denominator = (denominator / gcd(denominator, part)) * part;
  const numerators: Partial<Record<MeterName, number>> = {};
  for (const [name, [top, bottom]] of fractions) {
    const numerator = Number(top * (denominator / bottom));
    if (!Number.isSafeInteger(numerator)) throw new RangeError(`Cannot hold the price of ${name} exactly`);
    numerators[name] = numerator;
  }
  if (denominator > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("Cannot hold the rates over one denominator");
  return { aboveInputTokens, numerators, denominator: Number(denominator) };
}

function reduce(top: bigint, bottom: bigint): [bigint, bigint] {
  const divisor = gcd(top, bottom);
  return [top / divisor, bottom / divisor];
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? (a === 0n ? 1n : a) : gcd(b, a % b);
}

/** FNV-1a over 64 bits as hex: a short name for the rates, not a secret. */
function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}
