import { readFileSync } from "node:fs";
import { type RecordedUsage, recordedUsage } from "../../billing/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { type CliContext, defineCommand, UsageError } from "../command.ts";
import { withStore } from "../lib/with-store.ts";
import { type ProviderUsage, readProviderUsage } from "../read-provider-usage.ts";
import { rowsOf } from "../rows.ts";

interface Difference {
  day: string;
  model: string;
  figure: string;
  books: number;
  provider: number;
}

export const ledgerReconcile = defineCommand({
  name: "ledger reconcile",
  about: "Compare the books with a provider's usage by day and model (CSV); exit 1 when they differ",
  flags: {
    provider: { value: "P", about: "Only calls that this plugin answered; all when left out" },
    tolerance: { value: "0.5", about: "Differences up to so many percent are none" },
  },
  args: ["FILE"],
  example: "ledger reconcile usage.csv --provider openai",
  async run(ground, { flags, args, config }) {
    const tolerance = readTolerance(flags.tolerance);
    const route = flags.provider;
    expectPlugin(ground, route);
    const usage = readProviderUsage(args.FILE, readFile(args.FILE), modelNames(ground));
    const days = [...usage.rows.values()].map(({ day }) => day);
    if (days.length === 0) throw new UsageError(`Cannot compare ${args.FILE}: it has a header and no lines`);
    const range = { fromDay: Math.min(...days), toDay: Math.max(...days), route };
    const booked = await withStore(config, ({ store }) => recordedUsage(store, range)).catch((error) => {
      throw error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
    });
    const differences = compare(usage, booked, tolerance);
    const compared = `${usage.rows.size} days and models of ${usage.figures.join(", ")}`;
    const text = differences.length === 0 ? `No difference: ${compared}` : columns(differences.map(cellsOf));
    return { json: { ok: differences.length === 0, differences }, text, exitCode: differences.length === 0 ? 0 : 1 };
  },
});

/** Both sides by day and model; what only one of them has counts as 0 in the other. */
function compare(usage: ProviderUsage, booked: readonly RecordedUsage[], tolerance: number): Difference[] {
  const ours = new Map(booked.map((row) => [`${row.day} ${row.model}`, row]));
  const keys = new Set([...usage.rows.keys(), ...ours.keys()]);
  return [...keys]
    .map((key) => usage.rows.get(key) ?? { ...(ours.get(key) as RecordedUsage), sums: {} })
    .sort((one, other) => one.day - other.day || (one.model < other.model ? -1 : 1))
    .flatMap(({ day, model, sums }) =>
      usage.figures.map((figure) => {
        const books = ours.get(`${day} ${model}`)?.[figure] ?? 0;
        return { day: dayText(day), model, figure, books, provider: sums[figure] ?? 0 };
      }),
    )
    .filter(({ books, provider }) => Math.abs(books - provider) > (tolerance / 100) * Math.max(books, provider));
}

function cellsOf({ day, model, figure, books, provider }: Difference): string[] {
  const shown = (amount: number) => (figure === "cost_nanodollars" ? `${formatUsd(amount)} USD` : String(amount));
  return [day, model, figure, `books ${shown(books)}`, `provider ${shown(provider)}`];
}

/** A provider calls its models by its own ids. */
function modelNames({ plugins }: CliContext): (name: string) => string {
  const known = new Map<string, string>();
  for (const { model } of rowsOf(plugins)) {
    for (const name of [model.id, model.upstreamId, ...(model.aliases ?? [])]) {
      if (name !== undefined && !known.has(name)) known.set(name, model.id);
    }
  }
  return (name) => known.get(name) ?? name;
}

function expectPlugin({ plugins }: CliContext, name: string | undefined): void {
  if (name === undefined || plugins.some((plugin) => plugin.name === name)) return;
  throw new UsageError(
    `No plugin is called ${name}, expected one of: ${plugins.map((plugin) => plugin.name).join(", ")}`,
  );
}

function readTolerance(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,2}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read --tolerance ${text}, expected percent from 0 to below 100, such as 0.5`);
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as Error).message.split(",")[0]}`, { cause: error });
  }
}

function dayText(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}
