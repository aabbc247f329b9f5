import { formatUsd } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { BillError, type BillFigure, type ProviderUsage, parseProviderUsage } from "./provider-bill.ts";
import { type RecordedUsage, recordedUsage } from "./usage.ts";

/** A figure of a day and a model that the ledger and a provider's bill have differently. */
export interface BillDifference {
  readonly day: string;
  readonly model: string;
  readonly figure: BillFigure;
  readonly ledger: number;
  readonly provider: number;
}

interface Reconciling {
  /** A CSV file; errors call it by its name. */
  readonly bill: { readonly name: string; readonly text: string };
  /** Maps any name of a model to the id that both sides are compared by. */
  readonly modelOf: (name: string) => string;
  /** Absent: the calls of all providers. */
  readonly plugin: string | undefined;
  /** Differences up to this percentage are left out. */
  readonly tolerance: number;
}

/**
 * Compares a provider's bill with the ledger, by day and model. Costs are those at the provider, before markups.
 *
 * @throws {BillError}
 */
export async function reconcileBill(
  store: Store,
  { bill, modelOf, plugin, tolerance }: Reconciling,
): Promise<{ readonly usage: ProviderUsage; readonly differences: readonly BillDifference[] }> {
  const usage = parseProviderUsage(bill.name, bill.text, modelOf);
  const days = [...usage.rows.values()].map(({ day }) => day);
  if (days.length === 0) throw new BillError(`Cannot compare ${bill.name}: it has no rows after the header`);
  const recorded = await recordedUsage(store, { startDay: Math.min(...days), endDay: Math.max(...days), plugin });
  return { usage, differences: compare(usage, sumByModel(recorded, modelOf), tolerance) };
}

/** The ledger by the models that the provider tells apart: rows of one model at the provider are one here. */
function sumByModel(recorded: readonly RecordedUsage[], modelOf: (name: string) => string): RecordedUsage[] {
  const sums = new Map<string, RecordedUsage>();
  for (const { day, model, ...figures } of recorded) {
    const name = modelOf(model);
    const key = `${day} ${name}`;
    const before: Readonly<Record<string, unknown>> = { ...sums.get(key) };
    const added = Object.entries(figures).map(([figure, amount]) => {
      const sum = before[figure];
      return [figure, typeof sum === "number" && typeof amount === "number" ? sum + amount : amount];
    });
    sums.set(key, { ...(Object.fromEntries(added) as typeof figures), day, model: name });
  }
  return [...sums.values()];
}

/** Compares by day and model; a row that only one side has counts as 0 on the other. */
function compare(usage: ProviderUsage, recorded: readonly RecordedUsage[], tolerance: number): BillDifference[] {
  const ours = new Map(recorded.map((row) => [`${row.day} ${row.model}`, row]));
  const keys = new Set([...usage.rows.keys(), ...ours.keys()]);
  return [...keys]
    .map((key) => usage.rows.get(key) ?? { ...(ours.get(key) as RecordedUsage), sums: {} })
    .sort((one, other) => one.day - other.day || (one.model < other.model ? -1 : 1))
    .flatMap(({ day, model, sums }) =>
      usage.figures.map((figure) => {
        const ledger = ours.get(`${day} ${model}`)?.[figure] ?? 0;
        return { day: formatDay(day), model, figure, ledger, provider: sums[figure] ?? 0 };
      }),
    )
    .filter(({ ledger, provider }) => Math.abs(ledger - provider) > (tolerance / 100) * Math.max(ledger, provider));
}

/** The column of a bill that has a figure. */
export function toBillColumn(figure: BillFigure): string {
  return figure === "provider_cost_nanodollars" ? "cost_usd" : figure;
}

/** A difference in the words and units of a bill. */
export function describeDifference(
  { day, model, figure, ledger, provider }: BillDifference,
  nameOfModel: (model: string) => string,
) {
  const toText = (amount: number) => (figure === "provider_cost_nanodollars" ? formatUsd(amount) : String(amount));
  return {
    day,
    model: nameOfModel(model),
    figure: toBillColumn(figure),
    ledger: toText(ledger),
    provider: toText(provider),
  };
}

function formatDay(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}
