import { createHash } from "node:crypto";
import { type Static, type TOptional, Type } from "@sinclair/typebox";
import { type Capability, capabilityForms } from "./capability.ts";
import {
  getFallback,
  type MeterName,
  type Meters,
  meterNames,
  promptMeters,
  sumPromptTokens,
  unitMeters,
} from "./meters.ts";

/** A rate as people write it: decimal US dollars for a number of units, `{ "usd": "0.10", "per": 1000000 }`. */
export const Rate = Type.Object(
  {
    usd: Type.String({ pattern: "^\\d{1,6}(\\.\\d{1,9})?$", description: "Decimal US dollars, at most nine decimals" }),
    per: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: "For this many units, such as 1000000" }),
  },
  { additionalProperties: false, description: 'Such as { "usd": "0.10", "per": 1000000 }' },
);
export type Rate = Static<typeof Rate>;

const rates = Object.fromEntries(meterNames.map((name) => [name, Type.Optional(Rate)])) as Record<
  MeterName,
  TOptional<typeof Rate>
>;

const tiers = Type.Optional(
  Type.Array(
    Type.Object(
      { aboveInputTokens: Type.Integer({ minimum: 1 }), ...rates },
      { additionalProperties: false, description: "Rates of the whole call when its prompt is longer than this" },
    ),
    { maxItems: 8 },
  ),
);

/**
 * Price of a model: one rate per meter. An absent meter is not free: another meter's rate applies, as `meterTable`
 * says.
 */
export const Price = Type.Object(
  {
    ...rates,
    markupPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1000,
        description: "Percent that calls of this model cost more than its rates",
      }),
    ),
    tiers,
    serviceTiers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[a-z_]{1,32}$" }),
        Type.Object({ ...rates, tiers }, { additionalProperties: false }),
        {
          description: "Rates by `service_tier`, where they differ from the model's own",
        },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Price = Static<typeof Price>;

/**
 * Prepares a price for `costNanodollars`.
 *
 * @throws {RangeError} When a rate cannot be held exactly in integers below 2^53.
 */
export function compilePrice(price: Price): CompiledPrice {
  const cachedPrice = compiled.get(price);
  if (cachedPrice !== undefined) return cachedPrice;
  const compiledPrice = compileTariff(price);
  compiled.set(price, compiledPrice);
  return compiledPrice;
}

/** Cache of compiled prices: a price is compiled when it is checked at load, and for each registry that contains it. */
const compiled = new WeakMap<Price, CompiledPrice>();

function compileTariff({ serviceTiers, ...price }: Price): CompiledPrice {
  const byLength = [...(price.tiers ?? [])].sort((a, b) => b.aboveInputTokens - a.aboveInputTokens);
  const tables = byLength.map((tier) => compileTable({ ...price, ...tier }, tier.aboveInputTokens));
  tables.push(compileTable(price, 0));
  const basisPoints = (price.markupPercent ?? 0) * 100;
  const markup = basisPoints === 0 ? {} : { markupBasisPoints: basisPoints };
  const rates = JSON.stringify([tables, markup]);
  if (serviceTiers === undefined) return { version: fingerprint(rates), tables, ...markup };
  const { tiers: _, ...own } = price;
  const compiledTiers = Object.fromEntries(
    Object.entries(serviceTiers).map(([name, tier]) => [name, compileTariff({ ...own, ...tier })]),
  );
  const version = fingerprint(JSON.stringify([rates, compiledTiers]));
  return { version, tables, ...markup, serviceTiers: compiledTiers };
}

/** A percentage that prices are raised by, in hundredths of a percent; a negative one lowers them. */
export const markupBasisPoints = { min: -9_999, max: 100_000 };
const wholeBasisPoints = 10_000;

/**
 * Reads a percentage with at most two decimals as basis points.
 *
 * @returns `undefined` for another text, and for a percentage that no markup can have.
 */
export function parsePercent(text: string): number | undefined {
  const match = /^(-?)(\d{1,4})(?:\.(\d{1,2}))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = ""] = match;
  const amount = Number(whole) * 100 + Number(fraction.padEnd(2, "0"));
  const basisPoints = sign === "-" && amount !== 0 ? -amount : amount;
  const { min, max } = markupBasisPoints;
  return basisPoints < min || basisPoints > max ? undefined : basisPoints;
}

/** Writes basis points as a percentage: `1250` → `"12.5"`. */
export function formatPercent(basisPoints: number): string {
  return String(basisPoints / 100);
}

/** Prices with other markups: equal ones are the same object. */
const marked = new WeakMap<CompiledPrice, Map<number, CompiledPrice>>();

/** Returns the rates with this markup in place of their own. All costs by the price include it. */
export function withMarkup(price: CompiledPrice, basisPoints: number): CompiledPrice {
  if ((price.markupBasisPoints ?? 0) === basisPoints) return price;
  const prices = marked.get(price) ?? new Map<number, CompiledPrice>();
  marked.set(price, prices);
  const present = prices.get(basisPoints);
  if (present !== undefined) return present;
  const { markupBasisPoints: _, serviceTiers, ...rates } = price;
  const made: CompiledPrice = {
    ...rates,
    ...(basisPoints !== 0 && { markupBasisPoints: basisPoints }),
    ...(serviceTiers !== undefined && {
      serviceTiers: Object.fromEntries(
        Object.entries(serviceTiers).map(([name, tier]) => [name, withMarkup(tier, basisPoints)]),
      ),
    }),
  };
  prices.set(basisPoints, made);
  return made;
}

/**
 * A name for the rates that are paid, with their markup. That of a price with a markup is made of these rates alone:
 * nobody can find out by it what they are without the markup.
 */
export function toSaleVersion(price: CompiledPrice): string {
  const { markupBasisPoints, version, tables } = price;
  if (markupBasisPoints === undefined) return version;
  const factor = BigInt(wholeBasisPoints + markupBasisPoints);
  const rates = tables.map(({ aboveInputTokens, numerators, denominator }) => {
    const bottom = BigInt(denominator) * BigInt(wholeBasisPoints);
    const ofMeters = meterNames.map((name) => reduce(BigInt(numerators[name] ?? 0) * factor, bottom).join("/"));
    return [aboveInputTokens, ofMeters];
  });
  const tiers = Object.entries(price.serviceTiers ?? {}).map(([name, tier]) => [name, toSaleVersion(tier)]);
  return fingerprint(JSON.stringify([rates, tiers]));
}

/** A price as people write it, at the rates that are paid with a markup. The markup itself is not in it. */
export function toSalePrice({ markupPercent: _, ...price }: Price, basisPoints: number): Price {
  if (basisPoints === 0) return price;
  const mark = <Rates extends Partial<Record<MeterName, Rate>>>(rates: Rates): Rates => {
    const own = meterNames.flatMap((name) => {
      const rate = rates[name];
      return rate === undefined ? [] : [[name, markRate(rate, basisPoints)]];
    });
    return { ...rates, ...Object.fromEntries(own) };
  };
  const markAll = ({ tiers, ...rates }: Omit<Price, "markupPercent" | "serviceTiers">) => ({
    ...mark(rates),
    ...(tiers !== undefined && { tiers: tiers.map(mark) }),
  });
  const { serviceTiers, ...own } = price;
  if (serviceTiers === undefined) return markAll(own);
  const tiers = Object.entries(serviceTiers).map(([name, tier]) => [name, markAll(tier)]);
  return { ...markAll(own), serviceTiers: Object.fromEntries(tiers) };
}

/** An exact rate, for the same units or, where it has more than nine decimals, for a multiple of them. */
function markRate({ usd, per }: Rate, basisPoints: number): Rate {
  const nanodollars = parseUsd(usd);
  if (nanodollars === undefined) return { usd, per };
  const top = BigInt(nanodollars) * BigInt(wholeBasisPoints + basisPoints);
  let units = BigInt(wholeBasisPoints);
  let times = 1n;
  while (units > 1n && top % units !== 0n) [units, times] = [units / 10n, times * 10n];
  return { usd: formatUsd(Number(top / units)), per: per * Number(times) };
}

/**
 * Returns the meters that calls of a capability are charged by: its unit, or tokens if the price has only rates of
 * tokens.
 */
export function getBasicMeters(capability: Capability, price: Price | undefined): readonly MeterName[] {
  const { unit, tokens } = capabilityForms[capability];
  if (unit !== undefined && (price?.[unit] !== undefined || price?.inputToken === undefined)) return [unit];
  return tokens;
}

/** Tokens that are held apart where there can be any, because a request says how many. */
const heldApart: ReadonlySet<MeterName> = new Set(["audioInputToken", "audioCacheReadToken"]);
/** Tokens that a provider reports only if the request makes it keep its cache for longer. */
const keptLonger: ReadonlySet<MeterName> = new Set(["cacheWrite1hToken", "cacheWrite12hToken"]);

/**
 * Maximum cost of a call of these amounts, however its provider divides the prompt: it may write all of it to its
 * cache. Writing can cost more than reading, and most if the cache is kept for an hour or longer.
 *
 * @returns `undefined` when the price has no rate for a part of it, or the sum leaves 2^53.
 */
export function costMaxNanodollars(price: CompiledPrice, meters: Meters, keepsLonger: boolean): number | undefined {
  const table = findTable(price, meters);
  if (meterNames.some((name) => meters[name] && table.numerators[name] === undefined)) return undefined;
  const { inputToken = 0, ...others } = meters;
  let costliest: MeterName = "inputToken";
  for (const name of promptMeters) {
    if (heldApart.has(name) || name in others || (!keepsLonger && keptLonger.has(name))) continue;
    const [rate, most] = [table.numerators[name], table.numerators[costliest]];
    if (rate !== undefined && most !== undefined && rate > most) costliest = name;
  }
  return costNanodollars(price, { ...others, [costliest]: inputToken });
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

function compileTable(price: Omit<Price, "tiers">, aboveInputTokens: number): RateTable {
  const fractions = new Map<MeterName, [bigint, bigint]>();
  for (const name of meterNames) {
    const rate: Rate | undefined = price[name];
    if (rate === undefined) continue;
    const nanodollars = parseUsd(rate.usd);
    if (nanodollars === undefined) throw new RangeError(`Cannot hold the price ${rate.usd} of ${name} exactly`);
    fractions.set(name, reduce(BigInt(nanodollars), BigInt(rate.per)));
  }
  let denominator = 1n;
  for (const [, part] of fractions.values()) denominator = (denominator / gcd(denominator, part)) * part;
  const own: Partial<Record<MeterName, number>> = {};
  for (const [name, [top, bottom]] of fractions) {
    const numerator = Number(top * (denominator / bottom));
    if (!Number.isSafeInteger(numerator)) throw new RangeError(`Cannot hold the price of ${name} exactly`);
    own[name] = numerator;
  }
  if (denominator > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("Cannot hold the rates over one denominator");
  const numerators: Partial<Record<MeterName, number>> = {};
  for (const name of meterNames) {
    const numerator = own[name] ?? findFallback(own, name);
    if (numerator !== undefined) numerators[name] = numerator;
  }
  return { aboveInputTokens, numerators, denominator: Number(denominator) };
}

/** Rate of a meter that has no rate in the price: the most expensive rate of the first fallback step that has one. */
function findFallback(own: Readonly<Partial<Record<MeterName, number>>>, name: MeterName): number | undefined {
  for (const meters of getFallback(name)) {
    let most: number | undefined;
    for (const meter of meters) {
      const rate = own[meter];
      if (rate !== undefined && (most === undefined || rate > most)) most = rate;
    }
    if (most !== undefined) return most;
  }
  return undefined;
}

function reduce(top: bigint, bottom: bigint): [bigint, bigint] {
  const divisor = gcd(top, bottom);
  return [top / divisor, bottom / divisor];
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? (a === 0n ? 1n : a) : gcd(b, a % b);
}

/** A short name for the rates. */
function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** One US dollar in the unit of all money in code and in SQL. */
export const nanodollarsPerUsd = 1_000_000_000;

/**
 * Rates over one common denominator, without a markup: a cost is `Σ amount × numerators[meter] / denominator`, rounded
 * up once.
 */
export interface RateTable {
  readonly aboveInputTokens: number;
  /** The rate of every meter that the price says one for, itself or by another meter. */
  readonly numerators: Partial<Record<MeterName, number>>;
  readonly denominator: number;
}

/** A price made ready for arithmetic by `compilePrice`. `version` names the exact rates, and a charge records it. */
export interface CompiledPrice {
  readonly version: string;
  /** Rate tables by falling threshold; the last has threshold 0. */
  readonly tables: readonly RateTable[];
  /** Raises every cost by this, in hundredths of a percent; absent: 0. */
  readonly markupBasisPoints?: number;
  /** Prices by the client's `service_tier`; absent where no tier has a price of its own. */
  readonly serviceTiers?: Readonly<Record<string, CompiledPrice>>;
}

/**
 * Cost of metered amounts in whole nanodollars, with the markup of the price, rounded up once at the end. A meter that the price has no rate for, nor for another
 * that stands for it, adds nothing: {@link listUnpriced} names it.
 *
 * @returns `undefined` when nothing that was used has a rate, or the sum leaves 2^53.
 */
export function costNanodollars(compiledPrice: CompiledPrice, meters: Meters): number | undefined {
  const table = findTable(compiledPrice, meters);
  let sum = 0;
  let [isPriced, isUnpriced] = [false, false];
  for (const name of meterNames) {
    const amount = meters[name];
    if (amount === undefined || amount === 0) continue;
    const numerator = table.numerators[name];
    if (numerator === undefined) isUnpriced = true;
    else {
      isPriced = true;
      sum += amount * numerator;
    }
  }
  if (isUnpriced && !isPriced) return undefined;
  const { markupBasisPoints: markup } = compiledPrice;
  if (markup === undefined) {
    return sum > Number.MAX_SAFE_INTEGER ? exactCost(table, meters) : Math.ceil(sum / table.denominator);
  }
  const [marked, denominator] = [sum * (wholeBasisPoints + markup), table.denominator * wholeBasisPoints];
  const isExact = marked <= Number.MAX_SAFE_INTEGER && denominator <= Number.MAX_SAFE_INTEGER;
  return isExact ? Math.ceil(marked / denominator) : exactCost(table, meters, markup);
}

/** The part of a cost that comes from one meter. */
export interface CostLine {
  readonly meter: MeterName;
  readonly quantity: number;
  /** The exact rate, with its markup; `undefined`: the price has none, and the quantity is not charged. */
  readonly rate: Rate | undefined;
  /** Quantity times rate, in whole nanodollars, rounded down. */
  readonly nanodollars: number;
}

/** A cost as the sum of its lines and of `roundingNanodollars`. */
export interface CostSum {
  /** The rates apply to prompts that are longer; 0: to any. */
  readonly aboveInputTokens: number;
  readonly lines: readonly CostLine[];
  /** The fractions of the lines together, rounded up. */
  readonly roundingNanodollars: number;
  readonly costNanodollars: number;
}

/** {@link costNanodollars} as a sum of lines, exact to the nanodollar. `undefined` where the cost is. */
export function itemizeCost(compiledPrice: CompiledPrice, meters: Meters): CostSum | undefined {
  const cost = costNanodollars(compiledPrice, meters);
  if (cost === undefined) return undefined;
  const { aboveInputTokens, numerators, denominator } = findTable(compiledPrice, meters);
  const bottom = BigInt(denominator) * BigInt(wholeBasisPoints);
  const factor = BigInt(wholeBasisPoints + (compiledPrice.markupBasisPoints ?? 0));
  const lines = meterNames.flatMap((meter): CostLine[] => {
    const quantity = meters[meter];
    if (quantity === undefined || quantity === 0) return [];
    const numerator = numerators[meter];
    if (numerator === undefined) return [{ meter, quantity, rate: undefined, nanodollars: 0 }];
    const top = BigInt(numerator) * factor;
    const rate = toRate(reduce(top, bottom), getRateUnits(meter));
    const nanodollars = Number((BigInt(quantity) * top) / bottom);
    return [{ meter, quantity, rate, nanodollars }];
  });
  const rounding = lines.reduce((rest, { nanodollars }) => rest - nanodollars, cost);
  return { aboveInputTokens, lines, roundingNanodollars: rounding, costNanodollars: cost };
}

/** How many units people state a rate for: a million tokens or characters, a minute of audio, or one. */
function getRateUnits(meter: MeterName): bigint {
  if (meter === "audioMs") return 60_000n;
  return meter === "character" || !unitMeters.includes(meter) ? 1_000_000n : 1n;
}

/** Nanodollars for one unit as an exact rate: for these units, or for the least multiple of them that has no fraction. */
function toRate([top, bottom]: readonly [bigint, bigint], units: bigint): Rate {
  const isOf = (per: bigint) => ({ nanodollars: Number((top * per) / bottom), per: Number(per) });
  const usual = isOf((units * bottom) / gcd(units, bottom));
  const isExact = Number.isSafeInteger(usual.nanodollars) && Number.isSafeInteger(usual.per);
  const { nanodollars, per } = isExact ? usual : isOf(bottom);
  return { usd: formatUsd(nanodollars), per };
}

/** Money for people and for JSON: exact decimal US dollars, no exponent, `1500000` → `"0.0015"`. */
export function formatUsd(nanodollars: number): string {
  const digits = Math.abs(nanodollars).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  const sign = nanodollars < 0 ? "-" : "";
  return `${sign}${digits.slice(0, -9)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** The meters that were used and that a price has no rate for, nor for another that stands for them. */
export function listUnpriced(compiledPrice: CompiledPrice, meters: Meters): MeterName[] {
  const { numerators } = findTable(compiledPrice, meters);
  return meterNames.filter((name) => meters[name] && numerators[name] === undefined);
}

/** The rates of a prompt of this length. */
function findTable(compiledPrice: CompiledPrice, meters: Meters): RateTable {
  const { tables } = compiledPrice;
  const input = tables.length > 1 ? sumPromptTokens(meters) : 0;
  return tables.find((table) => input > table.aboveInputTokens) ?? (tables.at(-1) as RateTable);
}

function exactCost(table: RateTable, meters: Meters, markup = 0): number | undefined {
  let sum = 0n;
  for (const name of meterNames) {
    const amount = meters[name];
    const numerator = table.numerators[name];
    if (amount !== undefined && numerator !== undefined) sum += BigInt(amount) * BigInt(numerator);
  }
  sum *= BigInt(wholeBasisPoints + markup);
  const denominator = BigInt(table.denominator) * BigInt(wholeBasisPoints);
  const cost = Number((sum + denominator - 1n) / denominator);
  return Number.isSafeInteger(cost) ? cost : undefined;
}
