import { readFileSync } from "node:fs";
import { decodeText } from "../../contract/index.ts";
import { createBillLookup } from "../../providers/index.ts";
import { BillError, describeDifference, reconcileBill, toBillColumn } from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { loadOffline } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { readModelNames } from "../lib/parse.ts";
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
    const { plugins: builtIns } = await context.loadBuiltIns();
    // Rows that are disabled now may have been sold on these days.
    const modelOf = createBillLookup({ ...snapshot, plugins: [...snapshot.plugins, ...builtIns] }, plugin);
    const bill = { name: args.FILE, text: readFile(args.FILE) };
    const { usage, differences } = await withStore(config, ({ store }) =>
      reconcileBill(store, { bill, modelOf, plugin, tolerance }),
    ).catch((error) => {
      throw error instanceof BillError ? new UsageError(error.message, { cause: error }) : error;
    });
    const nameOf = await readModelNames(context, config);
    const named = differences.map((one) => describeDifference(one, nameOf));
    const compared = `${usage.rows.size} rows compared by ${usage.figures.map(toBillColumn).join(", ")}`;
    const text = differences.length === 0 ? `No differences: ${compared}` : columns(named.map(toCells));
    return {
      json: { ok: named.length === 0, differences: named },
      text,
      exitCode: differences.length === 0 ? exitCodes.success : exitCodes.failed,
    };
  },
});

function toCells({ day, model, figure, ledger, provider }: ReturnType<typeof describeDifference>): string[] {
  const unit = figure === "cost_usd" ? " USD" : "";
  return [day, model, figure, `ledger ${ledger}${unit}`, `provider ${provider}${unit}`];
}

function parseTolerance(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,2}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read --tolerance ${text}, expected a percentage from 0 to below 100, such as 0.5`);
}

function readFile(path: string): string {
  try {
    return decodeText(readFileSync(path));
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as Error).message.split(",")[0]}`, { cause: error });
  }
}
