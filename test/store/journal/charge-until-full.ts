import { writeSync } from "node:fs";
import { openStore } from "../../../src/store/index.ts";
import { chargeOf } from "./facts.ts";

/** A process that writes large batches until one fails, then small ones until one fails, and says what was written. */
const store = await openStore({ file: process.argv[2] as string, journal: { waitMs: 1e8 } });
let made = 0;
for (const calls of [50, 1]) {
  while (true) {
    const ids = Array.from({ length: calls }, () => `c${made++}`);
    try {
      await store.writeBooks(ids.flatMap(chargeOf));
    } catch (error) {
      writeSync(1, `failed ${(error as Error).message}\n`);
      break;
    }
    writeSync(1, `${ids.join("\n")}\n`);
  }
}
process.exit(0);
