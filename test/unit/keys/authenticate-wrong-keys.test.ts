import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { openStore } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { temporaryFile } from "../../integration/db/temporary-store.ts";

const rounds = 5;
const keysOfRound = 20_000;
/** One that kept 100 bytes of each key would grow by twice as much in every round. */
const grownBytesMax = 1_000_000;
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
    // Other files of this process leave garbage, too, and some of it goes while a round runs: the middle round tells.
    const grown: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (let count = 0; count < 3; count++) Bun.gc(true);
      const before = heapStats().heapSize;
      const startedAt = performance.now();
      for (let index = 0; index < keysOfRound; index++) tryWrong(10_000 + round * keysOfRound + index);
      const micros = Math.round(((performance.now() - startedAt) / keysOfRound) * 1000);
      for (let count = 0; count < 3; count++) Bun.gc(true);
      grown.push(heapStats().heapSize - before);
      console.log(`${keysOfRound} wrong keys: ${micros} µs each, ${grown.at(-1)} bytes more`);
    }
    expect(refusedCount).toBe(rounds * keysOfRound + 10_000);
    expect(grown.sort((one, other) => one - other)[rounds >> 1]).toBeLessThan(grownBytesMax);
    expect(accounts.authenticate(key)).toMatchObject({ accountId });
  } finally {
    await store.close();
  }
});
