import { describe, expect, test } from "bun:test";
import { closeSync, copyFileSync, ftruncateSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { StoreError } from "../../../src/store/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { chargeOf } from "./facts.ts";
import { never, temporaryBooks } from "./ground.ts";

/** A database of which three batches of one charge stand in the journal alone, as a crash leaves it. */
async function crashed() {
  const alive = temporaryBooks();
  const store = await alive.open(never);
  for (const id of ["c1", "c2", "c3"]) await store.writeBooks(chargeOf(id));
  const bytes = readFileSync(alive.journal);
  const dead = () => {
    const books = temporaryBooks();
    for (const end of ["", "-wal"]) copyFileSync(alive.file + end, books.file + end);
    return books;
  };
  return { bytes, dead };
}

function cut(file: string, bytes: number): void {
  const descriptor = openSync(file, "r+");
  ftruncateSync(descriptor, bytes);
  closeSync(descriptor);
}

describe("a journal that a crash left", () => {
  test("is applied when the store is opened, once", async () => {
    const { bytes, dead } = await crashed();
    const books = dead();
    for (let time = 0; time < 2; time++) {
      writeFileSync(books.journal, bytes);
      const store = await books.open(never);
      expect(books.tables()).toMatchObject({ settled: 3, balance: -30, applied: 3 });
      await store.close();
    }
  });

  test("may end at any byte of its last line: what was whole counts, and the next batch goes on from there", async () => {
    const { bytes, dead } = await crashed();
    const books = dead();
    const lastLine = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
    writeFileSync(books.journal, bytes);
    cut(books.journal, lastLine);
    await (await books.open(never)).close();
    expect(books.tables()).toMatchObject({ settled: 2, applied: 2 });
    for (let length = lastLine; length < bytes.length; length++) {
      writeFileSync(books.journal, bytes.subarray(0, length));
      const store = await books.open(never);
      const { settled, applied } = books.tables();
      await store.writeBooks(chargeOf(`n${length}`));
      const found = books.journalText();
      expect(found.startsWith(bytes.toString("utf8", 0, lastLine))).toBe(true);
      expect(found.slice(lastLine)).toMatch(/^[0-9a-f]{8} \d+ \[.*\]\n$/);
      await store.close();
      expect(books.tables()).toMatchObject({ settled: settled + 1, applied: applied + 1 });
    }
    const calls = bytes.length - lastLine + 2;
    expect(books.tables()).toMatchObject({ settled: calls, balance: -10 * calls, requests: calls });
  }, 60_000);

  test.each([
    ["a last line that is not as it was written", (text: string) => text.replace("c3", "c9")],
    [
      "nothing but zeros at the end",
      (text: string) => `${text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1)}\0\0\0`,
    ],
  ])("may have %s", async (_what, spoil) => {
    const { bytes, dead } = await crashed();
    const books = dead();
    writeFileSync(books.journal, spoil(bytes.toString()));
    await books.open(never);
    expect(books.tables()).toMatchObject({ settled: 2, applied: 2 });
  });

  test.each([
    ["a changed line", (text: string) => text.replace("c2", "c9"), "the line there is not as it was written"],
    ["a missing line", (text: string) => text.replace(/\n.*\n/, "\n"), "batch 2 is missing before batch 3"],
  ])("with %s in its middle stops the start in one sentence", async (_what, spoil, reason) => {
    const { bytes, dead } = await crashed();
    const books = dead();
    writeFileSync(books.journal, spoil(bytes.toString()));
    const error = await errorOf(books.open(never));
    expect(error).toBeInstanceOf(StoreError);
    expect(error.message).toBe(
      `The journal ${books.journal} is damaged at byte ${bytes.indexOf("\n") + 1}: ${reason}; restore it from a backup, or move it away to go on without the calls it holds`,
    );
  });
});
