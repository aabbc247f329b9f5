import { writeSync } from "node:fs";
import { openStore } from "../../../src/db/index.ts";
import { ProcessLedger } from "../../../src/ledger/index.ts";
import { storeOptions } from "../db/store-options.ts";
import { createAdmission, createSettlement } from "./admissions.ts";

/** A process that makes calls, 16 at once, until it is killed, and says the id of each whose charge was promised written. */
const [place, round] = process.argv.slice(2) as [string, string];
const store = await openStore(storeOptions(place));
const ledger = new ProcessLedger({ store });
await ledger.recover();

let made = 0;
await Promise.all(
  Array.from({ length: 16 }, async () => {
    while (true) {
      const callId = `call_${round}_${made++}`;
      await ledger.admit(createAdmission({ callId }));
      await ledger.settle(createSettlement(callId));
      writeSync(1, `${callId}\n`);
    }
  }),
);
