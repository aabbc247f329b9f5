import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isConstraintError } from "../../../src/store/index.ts";
import { appendToFile } from "../../../src/store/sqlite/journal/journal-file.ts";
import { errorOf } from "../../support/error-of.ts";
import { chargeOf, endOf, openOf } from "./facts.ts";
import { never, temporaryBooks, until } from "./ground.ts";

describe("a journal whose disk is full", () => {
  test("keeps no part of a batch that did not fit, and goes on when there is room", async () => {
    const books = temporaryBooks();
    let room = Number.POSITIVE_INFINITY;
    const append = (descriptor: number, text: string) => appendToFile(descriptor, text.slice(0, room));
    const store = await books.open({ ...never, append });
    await store.writeBooks(chargeOf("c1"));
    const whole = books.journalText();
    for (room of [0, 1, 20, 200]) {
      const error = await errorOf(store.writeBooks(chargeOf("c2")));
      expect(error.message).toMatch(/^ENOSPC: \d+ of \d+ bytes were written/);
      expect(isConstraintError(error)).toBe(false);
      expect(books.journalText()).toBe(whole);
    }
    expect(store.readFunds("acc_1")).toMatchObject({ balanceNanodollars: -10 });
    room = Number.POSITIVE_INFINITY;
    await store.writeBooks(chargeOf("c2"));
    await store.close();
    expect(books.tables()).toMatchObject({ settled: 2, balance: -20, applied: 2 });
  });

  test("of a process that may write no longer files holds what was promised, and nothing else", async () => {
    const books = temporaryBooks();
    await (await books.open()).close();
    const script = join(import.meta.dir, "charge-until-full.ts");
    const child = Bun.spawn(["bash", "-c", `ulimit -f 600; exec ${process.execPath} ${script} ${books.file}`], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [told, errors] = await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()));
    expect(await child.exited, errors).toBe(0);
    const ids = (told as string).trim().split("\n");
    const failures = ids.filter((id) => id.startsWith("failed"));
    expect(failures).toHaveLength(2);
    expect(failures.join()).toMatch(/^failed .*(EFBIG|ENOSPC).*(EFBIG|ENOSPC)/);
    await books.open();
    const { settled, balance } = books.tables();
    expect(settled).toBe(ids.length - 2);
    expect(settled).toBeGreaterThan(500);
    expect(balance).toBe(-10 * settled);
  }, 30_000);
});

describe("a journal that cannot be applied", () => {
  test("takes calls up to its bound, then ends of calls alone, says so, and recovers by itself", async () => {
    const books = temporaryBooks();
    const store = await books.open({ waitMs: 1, waitingBytesMax: 2000 });
    const running = openOf("running");
    await store.writeBooks([running]);
    await until(() => books.tables().applied === 1);
    const other = new DatabaseSync(books.file);
    other.exec("begin immediate");
    let calls = 0;
    let error: Error | undefined;
    while (error === undefined) {
      error = await store.writeBooks(chargeOf(`c${++calls}`)).then(
        () => undefined,
        (failure: Error) => failure,
      );
    }
    expect(calls).toBeLessThan(20);
    expect(error.message).toStartWith("The journal is full");
    // So that the queue tries the writes of the batch one by one.
    expect(isConstraintError(await errorOf(store.writeBooks([endOf(running), openOf("late")])))).toBe(true);
    await store.writeBooks([endOf(running)]);
    expect(store.readFunds("acc_1")).toMatchObject({ balanceNanodollars: -10 * calls });
    expect(store.trouble?.()).toMatch(/^1 MB of calls wait in the journal and no more are taken/);
    other.exec("commit");
    other.close();
    await until(() => books.tables().balance === -10 * calls);
    expect(store.trouble?.()).toBeUndefined();
    await store.writeBooks(chargeOf(`c${calls}`));
  });
});
