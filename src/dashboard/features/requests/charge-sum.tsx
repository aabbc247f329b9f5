import type { ReactNode } from "react";
import { formatCount, formatExactPercent, formatExactUsd, formatMoment } from "../../format.ts";
import { type Column, Table } from "../../kit/table.tsx";
import { meterNames, meters } from "../models/meters.ts";
import type { RequestDetail } from "./api.ts";

type Charge = NonNullable<RequestDetail["charge"]>;
type Line = Charge["lines"][number];
type ChargedCall = Pick<RequestDetail, "state" | "premium" | "charged_usd" | "quota_tokens">;
type OwedCall = Pick<RequestDetail, "provider_cost_usd" | "provider_price_version" | "markup_percent">;
type HeldCall = Pick<RequestDetail, "state" | "premium" | "hold_usd" | "hold_tokens">;

/** The charge with all decimals, as in its sum: one request has one figure. */
export function toChargeText({
  state,
  premium,
  charged_usd: charged,
  quota_tokens: tokens,
}: ChargedCall): string | null {
  if (state === "released") return formatExactUsd("0");
  if (state !== "settled") return null;
  if (premium) return charged === null ? "–" : formatExactUsd(charged);
  return tokens === null ? "–" : `${formatCount(tokens)} free tokens`;
}

/** The amount that the provider is owed, and what lies between that and the cost. */
export function toProviderCostText(detail: OwedCall): string {
  const { provider_cost_usd: cost, provider_price_version: own, markup_percent: markup } = detail;
  const price = own === null ? "" : " at its own price for the model";
  return `${formatExactUsd(cost ?? "0")}${price}, markup ${formatExactPercent(markup ?? "0")}`;
}

/** The amount that was held for the request. A call that failed gave it back. */
export function toHoldText({ state, premium, hold_usd, hold_tokens }: HeldCall): string | null {
  if (hold_usd === null) return null;
  const hold = premium ? formatExactUsd(hold_usd) : `${formatCount(hold_tokens ?? 0)} tokens of the free quota`;
  return state === "released" ? `held ${hold}, given back` : hold;
}

/** A charge as quantities times rates, which come to the charge exactly. */
export function ChargeSum({ charge, changedBy }: { charge: Charge; changedBy: string | null }) {
  return (
    <section aria-label="Charge">
      <h3>Charge</h3>
      <Table
        rows={[...charge.lines, undefined]}
        rowKey={(line) => (line === undefined ? "total" : (line.meter ?? line.kind))}
        columns={toColumns(charge.total_usd)}
      />
      <p className="faint">{describePrice(charge, changedBy)}</p>
    </section>
  );
}

/** The last row has no line: it is the sum. */
const toColumns = (total: string): readonly Column<Line | undefined>[] => [
  {
    name: "Unit",
    className: "lead",
    cell: (line) => (line === undefined ? <strong>Charged</strong> : nameLine(line)),
  },
  {
    name: "Quantity",
    className: "end",
    cell: (line) => (line?.quantity === undefined || line.quantity === null ? null : formatCount(line.quantity)),
  },
  { name: "Rate", className: "end", cell: (line) => (line?.kind === "usage" ? <Rate rate={line.rate} /> : null) },
  {
    name: "Amount",
    className: "end",
    cell: (line) => (line === undefined ? <strong>{formatExactUsd(total)}</strong> : formatExactUsd(line.amount_usd)),
  },
];

function nameLine({ kind, meter }: Line): string {
  if (kind === "rounding") return "Rounded up to a billionth of a dollar";
  if (kind === "free_quota") return "Paid by the free quota";
  const name = meterNames.find((each) => meters[each].column === meter);
  return name === undefined ? meters.call.name : meters[name].name;
}

const units: Readonly<Record<number, string>> = { 1: "each", 60000: "per minute", 1000000: "per M" };

function Rate({ rate }: { rate: Line["rate"] }) {
  if (rate === null) return <span className="faint">no rate</span>;
  return `${formatExactUsd(rate.usd)} ${units[rate.per] ?? `per ${formatCount(rate.per)}`}`;
}

function describePrice({ price, service_tier: tier, above_input_tokens: above }: Charge, changedBy: string | null) {
  const notes: ReactNode[] = [
    tier !== null &&
      `Rates of the service tier ${tier.name}${tier.standard_usd === null ? "" : `; the standard rates come to ${formatExactUsd(tier.standard_usd)}`}.`,
    above !== null && `Rates of prompts above ${formatCount(above)} tokens.`,
    price.changed_at !== null &&
      `Price changed on ${formatMoment(price.changed_at)}${changedBy === null ? "" : ` by ${changedBy}`}.`,
    price.replaced_at !== null && `Another price applies since ${formatMoment(price.replaced_at)}.`,
  ];
  return notes.filter((note) => note !== false).join(" ");
}
