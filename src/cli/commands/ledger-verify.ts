import { verifyLedger } from "../../ledger/index.ts";
import { withBooks } from "../books.ts";
import { defineCommand } from "../command.ts";

export const ledgerVerify = defineCommand({
  name: "ledger verify",
  about: "Prove the books: every balance is the sum of its entries, every charge stands once; exit 1 when not",
  flags: {},
  args: [],
  example: "ledger verify",
  async run(_ground, { config }) {
    const report = await withBooks(config, async ({ store }) => verifyLedger(store));
    const lines = report.differences.map((difference) => String(difference));
    const text = report.ok ? "The books are true" : `The books differ:\n${lines.join("\n")}`;
    return { json: report, text, exitCode: report.ok ? 0 : 1 };
  },
});
