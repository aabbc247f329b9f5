import {
  type CompiledPrice,
  costNanodollars,
  formatUsd,
  getOwn,
  itemizeCost,
  type MeterColumn,
  type Meters,
  meterNames,
  meterTable,
  type Rate,
  toSaleVersion,
  withMarkup,
} from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { type PriceInTime, readPriceInTime } from "./price-book.ts";
import { type RequestDetail, readDetail } from "./requests.ts";

/** A charge as a sum: the amounts of all lines are what the request was charged, to the nanodollar. */
export interface ExplainedCharge {
  readonly lines: readonly ChargeLine[];
  readonly chargedNanodollars: number;
  /** The service tier whose rates apply, and what the model's own rates would have come to; `undefined`: the model's own. */
  readonly tier: { readonly name: string; readonly standardNanodollars: number | undefined } | undefined;
  /** The rates are those of prompts that are longer than this. */
  readonly aboveInputTokens: number | undefined;
  readonly price: PriceInTime;
}

/** `usage`: quantity times rate. `rounding`: fractions of a nanodollar, rounded up. `free_quota`: what the free quota paid. */
export type ChargeLine =
  | {
      readonly kind: "usage";
      readonly meter: MeterColumn;
      readonly quantity: number;
      /** `undefined`: the price has none, and nothing is charged for it. */
      readonly rate: Rate | undefined;
      readonly nanodollars: number;
    }
  | { readonly kind: "rounding" | "free_quota"; readonly nanodollars: number };

/**
 * Explains a charge by the price of its time. `undefined` for a request that was not charged by its usage, and where the price of
 * that time is not kept.
 */
export async function explainCharge(
  store: Pick<Store, "db">,
  request: RequestDetail,
): Promise<ExplainedCharge | undefined> {
  const { state, model, price_version: version, cost_nanodollars: cost, charged_nanodollars: charged } = request;
  if (state !== "settled" || model === null || version === null || cost === null) return undefined;
  const ofTime = await readPriceInTime(store, { model, version, at: request.opened_at });
  if (ofTime === undefined) return undefined;
  // The rates are those that the account paid, whatever part of them is a markup.
  const sale = withMarkup(ofTime.price, request.markup_basis_points ?? 0);
  const price = { ...ofTime, price: sale, version: toSaleVersion(sale) };
  const { tier } = readDetail(request);
  const rates = tier === undefined ? price.price : getOwn(price.price.serviceTiers ?? {}, tier);
  return rates && explain(rates, { request, cost, charged: charged ?? 0, tier, price });
}

function explain(
  rates: CompiledPrice,
  {
    request,
    cost,
    charged,
    tier,
    price,
  }: { request: RequestDetail; cost: number; charged: number; tier: string | undefined; price: PriceInTime },
): ExplainedCharge | undefined {
  const meters = readMeters(request);
  const sum = itemizeCost(rates, meters);
  // Lines that do not come to what the ledger says explain nothing.
  if (sum?.costNanodollars !== cost) return undefined;
  const isPaid = charged === cost;
  if (!isPaid && (charged !== 0 || request.premium !== 0)) return undefined;
  const lines: ChargeLine[] = sum.lines.map(({ meter, ...line }) => {
    return { kind: "usage", meter: meterTable[meter].column, ...line };
  });
  if (sum.roundingNanodollars !== 0) lines.push({ kind: "rounding", nanodollars: sum.roundingNanodollars });
  if (!isPaid) lines.push({ kind: "free_quota", nanodollars: -cost });
  return {
    lines,
    chargedNanodollars: charged,
    tier: tier === undefined ? undefined : { name: tier, standardNanodollars: costNanodollars(price.price, meters) },
    aboveInputTokens: sum.aboveInputTokens === 0 ? undefined : sum.aboveInputTokens,
    price,
  };
}

function readMeters(request: RequestDetail): Meters {
  const meters: Meters = {};
  for (const name of meterNames) {
    const amount = request[meterTable[name].column];
    if (amount !== null) meters[name] = amount;
  }
  return meters;
}

/** A charge in the words of the API; times as `toTime` writes them. Who changed the price is told to operators. */
export function describeCharge<Time>(charge: ExplainedCharge | undefined, toTime: (at: number) => Time) {
  if (charge === undefined) return null;
  const { lines, chargedNanodollars, tier, aboveInputTokens, price } = charge;
  const toTimeOrNull = (at: number | undefined) => (at === undefined ? null : toTime(at));
  return {
    lines: lines.map((line) => {
      const { meter = null, quantity = null, rate = null } = line.kind === "usage" ? line : {};
      return { kind: line.kind, meter, quantity, rate, amount_usd: formatUsd(line.nanodollars) };
    }),
    total_usd: formatUsd(chargedNanodollars),
    service_tier:
      tier === undefined
        ? null
        : {
            name: tier.name,
            standard_usd: tier.standardNanodollars === undefined ? null : formatUsd(tier.standardNanodollars),
          },
    above_input_tokens: aboveInputTokens ?? null,
    price: {
      version: price.version,
      changed_at: toTimeOrNull(price.changedAt),
      replaced_at: toTimeOrNull(price.replacedAt),
    },
  };
}
