import { openStore } from "../../../src/store/index.ts";

/** A process that asks for the wallets again and again, until so many calls are charged; patient, as a command is. */
const [file, calls] = process.argv.slice(2) as [string, string];
while (true) {
  const store = await openStore({ file, lockWaitMs: 10_000 });
  for (let times = 0; times < 50; times++) {
    const [wallet] = await store.db.selectFrom("wallets").select("balance_nanodollars").execute();
    if (wallet?.balance_nanodollars === -10 * Number(calls)) process.exit(0);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await store.close();
}
