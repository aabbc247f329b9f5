import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { openStore } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { temporaryFile } from "../../integration/db/temporary-store.ts";

const keysCount = 100_000;
/** Five thousand ids that nobody has are remembered, and no more. */
const heapBytesMax = 8 << 20;
const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };

test("a hundred thousand wrong keys are refused without growing memory or evicting a right key", async () => {
  const store = await openStore({ file: temporaryFile() });
  try {
    const accounts = createAccounts({ store, defaults, now: Date.now });
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const { key } = await accounts.createKey({ accountId, name: "right" });
    expect(accounts.authenticate(key)).toMatchObject({ accountId });
    let refusedCount = 0;
    const tryWrong = (index: number) => {
      const id = index.toString(36).padStart(12, "0");
      try {
        accounts.authenticate(`sk-mg-${id}-${key.split("-").at(-1)}`);
      } catch (error) {
        if ((error as Error).message.startsWith("Incorrect API key")) refusedCount++;
      }
    };
    for (let index = 0; index < 10_000; index++) tryWrong(index);
    Bun.gc(true);
    const before = heapStats().heapSize;
    const startedAt = performance.now();
    for (let index = 10_000; index < 10_000 + keysCount; index++) tryWrong(index);
    console.log(`${keysCount} wrong keys: ${Math.round(((performance.now() - startedAt) / keysCount) * 1000)} µs each`);
    expect(refusedCount).toBe(keysCount + 10_000);
    // Other files of this process leave garbage, too, which one collection may not find.
    for (let count = 0; count < 5; count++) {
      await Bun.sleep(10);
      Bun.gc(true);
      if (heapStats().heapSize - before < heapBytesMax) break;
    }
    expect(heapStats().heapSize - before).toBeLessThan(heapBytesMax);
    expect(accounts.authenticate(key)).toMatchObject({ accountId });
  } finally {
    await store.close();
  }
});
