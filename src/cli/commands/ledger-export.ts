import { exportCalls } from "../../billing/index.ts";
import { callCsv, callJson, csvHeader } from "../call-line.ts";
import { defineCommand, UsageError } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";
import { readDay } from "../read-values.ts";

const dayMs = 86_400_000;

export const ledgerExport = defineCommand({
  name: "ledger export",
  about: "Write the calls of a time to standard output, a line each",
  flags: {
    from: { value: "2026-11-01", about: "The first day, UTC", required: true },
    to: { value: "2026-11-30", about: "The last day, UTC", required: true },
    format: { value: "csv|jsonl", about: "jsonl when left out" },
    account: { value: "A", about: "Only those of this account, by id or e-mail" },
  },
  args: [],
  example: "ledger export --from 2026-11-01 --to 2026-11-30 --format csv",
  async run(ground, { flags, config, json }) {
    const from = readDay("--from", flags.from);
    const until = readDay("--to", flags.to) + dayMs;
    if (until <= from)
      throw new UsageError(`Cannot export from ${flags.from} to ${flags.to}: the last day is before the first`);
    const format = json ? "json" : readFormat(flags.format);
    await withStore(config, async ({ store, accounts }) => {
      const accountId = flags.account === undefined ? undefined : (await accountOf(accounts, flags.account)).id;
      if (format === "csv") ground.stdout(`${csvHeader}\n`);
      let before = format === "json" ? "[\n" : "";
      for await (const page of exportCalls(store, { from, until, accountId })) {
        const lines = page.map((call) => (format === "csv" ? callCsv(call) : JSON.stringify(callJson(call))));
        ground.stdout(`${before}${lines.join(format === "json" ? ",\n" : "\n")}${format === "json" ? "" : "\n"}`);
        if (format === "json") before = ",\n";
        await ground.drained?.();
      }
      if (format === "json") ground.stdout(before === "[\n" ? "[]\n" : "\n]\n");
    });
    return undefined;
  },
});

function readFormat(text: string | undefined): "csv" | "jsonl" {
  if (text === undefined || text === "jsonl") return "jsonl";
  if (text === "csv") return "csv";
  throw new UsageError(`Cannot write --format ${text}, expected csv or jsonl`);
}
