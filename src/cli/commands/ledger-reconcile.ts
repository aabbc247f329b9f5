import { readFileSync } from "node:fs";
import { formatUsd } from "../../contract/index.ts";
import type { ProviderPlugin } from "../../provider/index.ts";
import { ModelNames, type PluginSnapshot } from "../../providers/index.ts";
import { type RecordedUsage, recordedUsage } from "../../reports/index.ts";
import { type BuiltIns, defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { loadOffline } from "../lib/catalogue.ts";
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
    provider: { value: "P", description: "Only calls served by this provider (default: all)" },
    tolerance: { value: "0.5", description: "Ignore differences up to this percentage (default: 0)" },
  },
  args: ["FILE"],
  example: "ledger reconcile usage.csv --provider openai",
  async run(context, { flags, args, config }) {
    const tolerance = parseTolerance(flags.tolerance);
    const plugin = flags.provider;
    const snapshot = await loadOffline(context, config);
    checkPlugin(snapshot.plugins, plugin);
    const modelOf = createModelLookup(await context.loadBuiltIns(), snapshot, plugin);
    const usage = parseProviderUsage(args.FILE, readFile(args.FILE), modelOf);
    const days = [...usage.rows.values()].map(({ day }) => day);
    if (days.length === 0) throw new UsageError(`Cannot compare ${args.FILE}: it has no rows after the header`);
    const range = { startDay: Math.min(...days), endDay: Math.max(...days), plugin };
    const recorded = await withStore(config, ({ store }) => recordedUsage(store, range));
    const differences = compare(usage, sumByModel(recorded, modelOf), tolerance);
    const compared = `${usage.rows.size} rows compared by ${usage.figures.join(", ")}`;
    const text = differences.length === 0 ? `No differences: ${compared}` : columns(differences.map(toCells));
    return {
      json: { ok: differences.length === 0, differences },
      text,
      exitCode: differences.length === 0 ? exitCodes.success : exitCodes.failed,
    };
  },
});

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
  const format = (amount: number) =>
    figure === "provider_cost_nanodollars" ? `${formatUsd(amount)} USD` : String(amount);
  return [day, model, figure, `ledger ${format(ledger)}`, `provider ${format(provider)}`];
}

/**
 * Maps any name of a model to the id that both sides are compared by. With a provider, it is the id of the provider's
 * first row for the same upstream model. A name without a row may belong to a model that is sold without a row.
 */
function createModelLookup(
  { plugins: builtIns }: BuiltIns,
  { plugins, registry }: PluginSnapshot,
  provider: string | undefined,
): (name: string) => string {
  // Rows that are disabled now may have been sold on these days.
  const models = new ModelNames({ plugins: [...plugins, ...builtIns], registry });
  if (provider === undefined) return (name) => models.findAtProvider(name)?.id ?? name;
  const { models: rows = [], unlisted } = plugins.find(({ name }) => name === provider) ?? {};
  const firstIds = new Map(rows.map(({ id, upstreamId }) => [upstreamId, id] as const).reverse());
  const { prefix = "" } = unlisted ?? {};
  return (name) => {
    const model = models.findAtProvider(name, provider);
    if (model !== undefined) return firstIds.get(model.upstreamId) ?? model.id;
    return unlisted === undefined || name.startsWith(prefix) ? name : prefix + name;
  };
}

function checkPlugin(plugins: readonly ProviderPlugin[], name: string | undefined): void {
  if (name === undefined || plugins.some((plugin) => plugin.name === name)) return;
  throw new UsageError(`Unknown provider ${name}, expected one of: ${plugins.map((plugin) => plugin.name).join(", ")}`);
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
