import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { verifyLedger } from "../../../../src/ledger/index.ts";
import { randomBelow } from "../../../support/random.ts";
import { addPayer, chargeOf } from "../facts.ts";
import { temporaryFile, temporaryStore } from "../temporary-store.ts";

const commits = 12;
const tries = 40;

/** A database with some calls in its write-ahead log alone, as it stands while its process lives. */
async function runningDatabase() {
  const file = temporaryFile();
  const made = await temporaryStore(file);
  await addPayer(made);
  await made.close();
  const store = await temporaryStore(file);
  const ends: number[] = [];
  for (let commit = 0; commit < commits; commit++) {
    await store.writeLedger(chargeOf(`c${commit}`));
    ends.push(statSync(`${file}-wal`).size);
  }
  return { file, log: readFileSync(`${file}-wal`), ends };
}

/** What a power failure may leave of the end of a log, or a bad disk of its middle. */
const spoilings: readonly [string, (log: Buffer, at: number) => Buffer][] = [
  ["cut off", (log, at) => log.subarray(0, at)],
  ["filled with zeros from there", (log, at) => Buffer.concat([log.subarray(0, at), Buffer.alloc(log.length - at)])],
  [
    "with that byte changed",
    (log, at) => {
      const changed = Buffer.from(log);
      changed[at] = (log[at] as number) ^ 0xff;
      return changed;
    },
  ],
];

test.each(spoilings)("a log torn at any byte has every whole commit before it, and no other: %s", async (_, spoil) => {
  const { file, log, ends } = await runningDatabase();
  const below = randomBelow(13);
  for (let round = 0; round < tries; round++) {
    const at = below(log.length);
    const copy = temporaryFile();
    copyFileSync(file, copy);
    writeFileSync(`${copy}-wal`, spoil(log, at));
    const store = await temporaryStore(copy);
    const { differences, counts } = await verifyLedger(store);
    const calls = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
    // Zeros that stand for zeros change nothing.
    const whole = ends.filter((end) => end <= at || spoil(log, at).subarray(0, end).equals(log.subarray(0, end)));
    expect([calls.length, counts.calls, differences]).toEqual([whole.length, whole.length, []]);
    await store.close();
  }
});

test("a copy of a database without its log is what had been moved into it, true, and takes the next call", async () => {
  const { file } = await runningDatabase();
  const copy = temporaryFile();
  copyFileSync(file, copy);
  const store = await temporaryStore(copy);
  expect(await verifyLedger(store)).toMatchObject({ counts: { calls: 0, open: 0 }, differences: [] });
  await store.writeLedger(chargeOf("next"));
  expect(await verifyLedger(store)).toMatchObject({ counts: { calls: 1, open: 0 }, differences: [] });
  await store.close();
});
