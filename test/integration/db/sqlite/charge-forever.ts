import { writeSync } from "node:fs";
import { openStore } from "../../../../src/db/index.ts";
import { addPayer, endOf, openOf } from "../facts.ts";

/** A process that makes calls, 8 at once, and says the id of each whose charge was committed; ends without a word to the store. */
const [file, round, calls] = process.argv.slice(2) as [string, string, string | undefined];
// Several of these write at once, so that one waits as long as a command does.
const store = await openStore({ file, lockWaitMs: 10_000 });
await addPayer(store);
let made = 0;
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (calls === undefined || made < Number(calls)) {
      const open = openOf(`call_${round}_${made++}`);
      await store.writeLedger([open]);
      await new Promise(setImmediate);
      await store.writeLedger([endOf(open)]);
      writeSync(1, `${open.callId}\n`);
    }
  }),
);
process.exit(0);
