import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { openStore } from "../../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { temporaryFile, temporaryStore } from "../../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

const blocks = 1200;

test("a full disk refuses calls with 503, charges nothing twice and loses no charge but those that a kill finds in memory", async () => {
  const file = temporaryFile();
  const first = await temporaryStore(file);
  await addAccount(first, "acc_1", 1e9);
  await first.close();
  const script = fileURLToPath(import.meta.resolve("./full-disk.ts"));
  // `ulimit -f` counts blocks of 1024 bytes in this shell.
  const child = Bun.spawn(["bash", "-c", `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, script, file], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, complaint] = await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()));
  expect([await child.exited, complaint]).toEqual([0, ""]);
  const { kept, ...outcomes } = JSON.parse(text as string);
  expect(outcomes.settled).toBeGreaterThan(100);
  expect(Object.keys(outcomes).filter((outcome) => !/^(settled|unavailable)$/.test(outcome))).toEqual([]);

  const store = await openStore({ file });
  const ledger = new ProcessLedger({ store });
  // Charges that were kept in memory died with their process: these calls were answered, and pay nothing.
  expect((await ledger.recover()).released).toBe(kept);
  const admission = createAdmission();
  await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId));
  expect(await readWalletState(store, "acc_1")).toEqual({
    balanceNanodollars: 1e9 - 10 * (outcomes.settled - kept + 1),
    heldNanodollars: 0,
  });
  expect((await verifyLedger(store)).differences).toEqual([]);
  await ledger.close();
  await store.close();
});
