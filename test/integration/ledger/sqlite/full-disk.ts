import { openStore } from "../../../../src/db/index.ts";
import { ProcessLedger } from "../../../../src/ledger/index.ts";
import { createAdmission, createSettlement } from "../admissions.ts";

/**
 * A process whose files may not grow beyond what its parent set: it makes calls until none is let in any more, and says
 * what became of them.
 */
process.on("SIGXFSZ", () => undefined);
const store = await openStore({ file: process.argv[2] as string });
const ledger = new ProcessLedger({ store });
const outcomes: Record<string, number> = {};
const count = (outcome: string) => {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
};

async function attempt(): Promise<void> {
  const admission = createAdmission({ callId: `full_${outcomes.settled ?? 0}_${Math.random()}` });
  try {
    await ledger.admit(admission);
  } catch (error) {
    return count((error as { code?: string }).code ?? String(error));
  }
  await ledger.settle(createSettlement(admission.callId)).then(
    () => count("settled"),
    (error: { code?: string }) => count(`settle ${error.code ?? error}`),
  );
}

while ((outcomes.unavailable ?? 0) < 40) await Promise.all(Array.from({ length: 8 }, attempt));
process.stdout.write(JSON.stringify({ ...outcomes, kept: await ledger.sync() }));
process.exit(0);
