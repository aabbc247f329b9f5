import { usageColumns } from "../../contract/index.ts";
import { verifyLedger } from "../../ledger/index.ts";
import { exportCalls, type WrittenCall } from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { toFields, toJson } from "../export/call-rows.ts";
import { parseDay } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

const dayMs = 86_400_000;

const formats = ["csv", "jsonl"] as const;

export const ledgerVerify = defineCommand({
  name: "ledger verify",
  description:
    "Verify the ledger; exit 1 when balances, quotas, budgets and sums do not match the calls and transactions",
  flags: {},
  args: [],
  example: "ledger verify",
  async run(_context, { config }) {
    const report = await withStore(config, ({ store }) => verifyLedger(store));
    const { wallets, transactions, calls, open, abandoned } = report.counts;
    const counts = `${wallets} wallets, ${transactions} transactions, ${calls} calls (${open} open, ${abandoned} abandoned)`;
    const text = report.ok
      ? `The ledger is consistent: ${counts}`
      : `The ledger is inconsistent: ${report.differences.join("\n")}`;
    return {
      json: report,
      text: [text, ...report.warnings].join("\n"),
      exitCode: report.ok ? exitCodes.success : exitCodes.failed,
    };
  },
});

export const ledgerExport = defineCommand({
  name: "ledger export",
  description: "Write the calls of a period to standard output, one per line",
  flags: {
    from: { value: "2026-11-01", description: "First day, UTC", required: true },
    to: { value: "2026-11-30", description: "Last day, UTC", required: true },
    format: { value: formats.join("|"), description: "Output format (default: jsonl)", choices: formats },
    account: { value: "A", description: "Only calls of this account, by id or e-mail" },
  },
  args: [],
  example: "ledger export --from 2026-11-01 --to 2026-11-30 --format csv",
  async run(context, { flags, config, json }) {
    const from = parseDay("--from", flags.from);
    const until = parseDay("--to", flags.to) + dayMs;
    if (until <= from)
      throw new UsageError(`Cannot export from ${flags.from} to ${flags.to}: the last day is before the first`);
    const format = json ? "json" : parseFormat(flags.format);
    await withStore(config, async ({ store, accounts }) => {
      const accountId = flags.account === undefined ? undefined : (await expectAccount(accounts, flags.account)).id;
      if (format === "csv") context.stdout(`${csvHeader}\n`);
      let before = format === "json" ? "[\n" : "";
      for await (const page of exportCalls(store, { from, until, accountId })) {
        const lines = page.map((call) => (format === "csv" ? toCsv(call) : JSON.stringify(toJson(call))));
        context.stdout(`${before}${lines.join(format === "json" ? ",\n" : "\n")}${format === "json" ? "" : "\n"}`);
        if (format === "json") before = ",\n";
        await context.drained?.();
      }
      if (format === "json") context.stdout(before === "[\n" ? "[]\n" : "\n]\n");
    });
    return undefined;
  },
});

function parseFormat(text: string | undefined): (typeof formats)[number] {
  const format = text === undefined ? "jsonl" : formats.find((name) => name === text);
  if (format !== undefined) return format;
  throw new UsageError(`Cannot write --format ${text}, expected csv or jsonl`);
}

/** The fields of the JSON, with one column for each meter. */
const csvHeader = [...Object.keys(toFields({} as WrittenCall)), ...usageColumns].join(",");

function toCsv(call: WrittenCall): string {
  return [...Object.values(toFields(call)), ...usageColumns.map((column) => call[column])].map(toCell).join(",");
}

/** Quotes a cell as RFC 4180 says; an unknown value is an empty cell. */
function toCell(value: string | number | boolean | null): string {
  if (value === null) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
