import { readFileSync } from "node:fs";
import { formatUsd } from "../../contract/index.ts";
import type { ProviderPlugin } from "../../provider/index.ts";
import { createBillLookup } from "../../providers/index.ts";
import { type BillDifference, BillError, reconcileBill } from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { loadOffline } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { withStore } from "../lib/with-store.ts";

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
    const { plugins: builtIns } = await context.loadBuiltIns();
    // Rows that are disabled now may have been sold on these days.
    const modelOf = createBillLookup({ ...snapshot, plugins: [...snapshot.plugins, ...builtIns] }, plugin);
    const bill = { name: args.FILE, text: readFile(args.FILE) };
    const { usage, differences } = await withStore(config, ({ store }) =>
      reconcileBill(store, { bill, modelOf, plugin, tolerance }),
    ).catch((error) => {
      throw error instanceof BillError ? new UsageError(error.message, { cause: error }) : error;
    });
    const compared = `${usage.rows.size} rows compared by ${usage.figures.join(", ")}`;
    const text = differences.length === 0 ? `No differences: ${compared}` : columns(differences.map(toCells));
    return {
      json: { ok: differences.length === 0, differences },
      text,
      exitCode: differences.length === 0 ? exitCodes.success : exitCodes.failed,
    };
  },
});

function toCells({ day, model, figure, ledger, provider }: BillDifference): string[] {
  const format = (amount: number) =>
    figure === "provider_cost_nanodollars" ? `${formatUsd(amount)} USD` : String(amount);
  return [day, model, figure, `ledger ${format(ledger)}`, `provider ${format(provider)}`];
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
