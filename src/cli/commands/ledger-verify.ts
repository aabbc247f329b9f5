import { verifyLedger } from "../../billing/index.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";

export const ledgerVerify = defineCommand({
  name: "ledger verify",
  about: "Prove that the books are true; exit 1 when they are not",
  flags: {},
  args: [],
  example: "ledger verify",
  async run(_ground, { config }) {
    const report = await withStore(config, ({ store }) => verifyLedger(store));
    const { wallets, entries, calls, open, abandoned } = report.counts;
    const read = `${wallets} wallets, ${entries} entries, ${calls} calls, of them ${open} open and ${abandoned} abandoned`;
    const text = report.ok ? `The books are true: ${read}` : `The books differ: ${report.differences.join("\n")}`;
    return { json: report, text, exitCode: report.ok ? 0 : 1 };
  },
});
