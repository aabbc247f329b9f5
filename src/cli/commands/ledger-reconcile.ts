import { readFileSync } from "node:fs";
import { formatUsd } from "../../contract/index.ts";
import { type RecordedUsage, recordedUsage } from "../../reports/index.ts";
import { type CliContext, defineCommand, UsageError } from "../command.ts";
import { toCatalogueRows } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { type ProviderUsage, parseProviderUsage } from "../lib/provider-usage.ts";
import { withStore } from "../lib/with-store.ts";

interface Difference {
  day: string;
  model: string;
  figure: string;
  ledger: number;
  provider: number;
}

export const ledgerReconcile = defineCommand({
  name: "ledger reconcile",
  description: "Compare the ledger with a provider's usage by day and model (CSV); exit 1 if they differ",
  flags: {
    provider: { value: "P", description: "Only calls served by this plugin (default: all)" },
    tolerance: { value: "0.5", description: "Ignore differences up to this percentage (default: 0)" },
  },
  args: ["FILE"],
  example: "ledger reconcile usage.csv --provider openai",
  async run(context, { flags, args, config }) {
    const tolerance = parseTolerance(flags.tolerance);
    const plugin = flags.provider;
    checkPlugin(context, plugin);
    const usage = parseProviderUsage(args.FILE, readFile(args.FILE), createModelLookup(context));
    const days = [...usage.rows.values()].map(({ day }) => day);
    if (days.length === 0) throw new UsageError(`Cannot compare ${args.FILE}: it has no rows after the header`);
    const range = { startDay: Math.min(...days), endDay: Math.max(...days), plugin };
    const recorded = await withStore(config, ({ store }) => recordedUsage(store, range));
    const differences = compare(usage, recorded, tolerance);
    const compared = `${usage.rows.size} rows compared by ${usage.figures.join(", ")}`;
    const text = differences.length === 0 ? `No differences: ${compared}` : columns(differences.map(toCells));
    return { json: { ok: differences.length === 0, differences }, text, exitCode: differences.length === 0 ? 0 : 1 };
  },
});

/** Compares by day and model; a row that only one side has counts as 0 on the other. */
function compare(usage: ProviderUsage, recorded: readonly RecordedUsage[], tolerance: number): Difference[] {
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

function toCells({ day, model, figure, ledger, provider }: Difference): string[] {
  const format = (amount: number) => (figure === "cost_nanodollars" ? `${formatUsd(amount)} USD` : String(amount));
  return [day, model, figure, `ledger ${format(ledger)}`, `provider ${format(provider)}`];
}

/** Maps the provider's model ids to ours. */
function createModelLookup({ plugins }: CliContext): (name: string) => string {
  const modelIds = new Map<string, string>();
  for (const { model } of toCatalogueRows(plugins)) {
    for (const name of [model.id, model.upstreamId, ...(model.aliases ?? [])]) {
      if (name !== undefined && !modelIds.has(name)) modelIds.set(name, model.id);
    }
  }
  return (name) => modelIds.get(name) ?? name;
}

function checkPlugin({ plugins }: CliContext, name: string | undefined): void {
  if (name === undefined || plugins.some((plugin) => plugin.name === name)) return;
  throw new UsageError(`Unknown plugin ${name}, expected one of: ${plugins.map((plugin) => plugin.name).join(", ")}`);
}

function parseTolerance(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,2}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read --tolerance ${text}, expected a percentage from 0 to below 100, such as 0.5`);
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as Error).message.split(",")[0]}`, { cause: error });
  }
}

function formatDay(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}
