import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import type { GatewayError } from "../../../src/contract/index.ts";
import { insertAbandoned } from "../../../src/db/call-columns.ts";
import type { LedgerWrite, Store } from "../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { Spool } from "../../../src/ledger/spool.ts";
import { errorOf } from "../../support/error-of.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement, statesOf } from "./fixture.ts";

const root = mkdtempSync(join(tmpdir(), "modelgate-spool-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

/** A process over a store that takes no ends of calls until a test lets it. */
async function fixture() {
  const store = await temporaryStore();
  await addAccount(store, "acc_1", 1000);
  const disk = { takesEnds: false };
  const writeLedger = async (batch: readonly LedgerWrite[], onCommitted?: () => void) => {
    if (!disk.takesEnds && batch.some(({ kind }) => kind === "end")) throw new Error("database or disk is full");
    return await store.writeLedger(batch, onCommitted);
  };
  const failing = Object.create(store, { writeLedger: { value: writeLedger } }) as Store;
  folders += 1;
  const folder = join(root, String(folders));
  const logged: [event: string, fields: Record<string, unknown>][] = [];
  const log = (event: string, fields: Record<string, unknown>) => void logged.push([event, fields]);
  const openSpool = (of: Store, ledgerId = "ledger") =>
    new Spool({ folder, ledgerId, store: of, log: { warn: log, error: log } });
  const spool = openSpool(failing);
  const ledger = new ProcessLedger({ store: failing, spool });
  const run = async (costNanodollars: number) => {
    const admission = createAdmission({ holdNanodollars: 100 });
    await ledger.admit(admission);
    return {
      callId: admission.callId,
      end: () => ledger.settle(createSettlement(admission.callId, { costNanodollars })),
    };
  };
  /** The spool of the next process, which has another id. */
  const next = () => openSpool(Object.create(store, { nodeId: { value: null } }) as Store);
  const lines = () => {
    const [name] = readdirSync(folder);
    return name === undefined ? [] : readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean);
  };
  return { store, disk, folder, logged, openSpool, spool, ledger, run, next, lines };
}

/** The process is gone, and with it its lease and what it knew. */
const die = (store: Store) => store.db.deleteFrom("nodes").execute();

describe("charges that the store does not take", () => {
  test("are on the disk before their answers go out, and the next process charges each of them once", async () => {
    const { store, run, next, lines, folder } = await fixture();
    const calls = [await run(10), await run(20), await run(30)];
    await Promise.all(calls.slice(0, 2).map(({ end }) => end()));
    expect(lines()).toHaveLength(2);
    await calls[2]?.end();
    expect(lines()).toHaveLength(3);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(1000);
    await die(store);
    const spool = next();
    expect(await spool.replay()).toBe(3);
    expect([await spool.replay(), readdirSync(folder)]).toEqual([0, []]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 940, heldNanodollars: 0 });
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { calls: 3, open: 0 } });
  });

  test("leave no file when the store has taken them after all", async () => {
    const { store, disk, ledger, run, lines, folder } = await fixture();
    const [first, second] = [await run(10), await run(20)];
    await first.end();
    expect(lines()).toHaveLength(1);
    disk.takesEnds = true;
    await second.end();
    while ((await ledger.sync()) > 0) await Bun.sleep(10);
    expect(await ledger.close()).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 970, heldNanodollars: 0 });
  });

  test("of a call that another process has ended as abandoned are charged, once", async () => {
    const { store, run, next } = await fixture();
    const call = await run(10);
    await call.end();
    await insertAbandoned(sql`open_call_rows`, 0).execute(store.db);
    await store.db.deleteFrom("open_call_rows").execute();
    const spool = next();
    await die(store);
    expect(await statesOf(store)).toEqual({ [call.callId]: "abandoned" });
    await spool.replay();
    await spool.replay();
    expect(await statesOf(store)).toEqual({ [call.callId]: "settled" });
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 990, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("are read as far as they are whole: a torn last line is no charge, and a damaged one is told", async () => {
    const { store, run, next, folder, lines, logged } = await fixture();
    const calls = [await run(10), await run(20), await run(30)];
    for (const { end } of calls) await end();
    const [name] = readdirSync(folder) as [string];
    const [first, second, third] = lines() as [string, string, string];
    writeFileSync(join(folder, name), [first, second.replace("20", "99"), third, first.slice(0, 80)].join("\n"));
    await die(store);
    expect(await next().replay()).toBe(2);
    expect(logged).toEqual([["spool_damaged", expect.objectContaining({ lines: 1 })]]);
    // It stays for the operator, and is not read again.
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/\.damaged$/)]);
    expect(await next().replay()).toBe(0);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(960);
  });

  test("are not lost with a file that cannot be read", async () => {
    const { run, next, folder } = await fixture();
    await (await run(10)).end();
    const [name = ""] = readdirSync(folder);
    const text = readFileSync(join(folder, name));
    rmSync(join(folder, name));
    mkdirSync(join(folder, name));
    expect((await errorOf(next().replay())).message).toContain("EISDIR");
    const [left = ""] = readdirSync(folder);
    rmSync(join(folder, left), { recursive: true });
    writeFileSync(join(folder, left), text);
    expect(await next().replay()).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("go on after a line that was torn by a disk which was full for a moment", async () => {
    const { store, run, next, folder } = await fixture();
    const calls = [await run(10), await run(20)] as const;
    await calls[0].end();
    const [name] = readdirSync(folder) as [string];
    appendFileSync(join(folder, name), '0123456789abcdef {"kind":');
    await calls[1].end();
    await die(store);
    expect(await next().replay()).toBe(2);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(970);
  });

  test("of another database stay where they are", async () => {
    const { store, run, openSpool, folder } = await fixture();
    await (await run(10)).end();
    await die(store);
    const other = openSpool(Object.create(store, { nodeId: { value: null } }) as Store, "another");
    expect([await other.replay(), readdirSync(folder).length]).toEqual([0, 1]);
  });

  test("of a process that may live are charged and kept, until its lease is over", async () => {
    const { store, run, next, folder } = await fixture();
    await (await run(10)).end();
    const [name] = readdirSync(folder) as [string];
    const id = name.split(".")[1] as string;
    await die(store);
    await store.db.insertInto("nodes").values({ id, seen_at: 0, lease: 1 }).execute();
    const spool = next();
    expect([await spool.replay(), await spool.replay(), readdirSync(folder)]).toEqual([1, 0, [name]]);
    await die(store);
    expect([await spool.replay(), readdirSync(folder)]).toEqual([1, []]);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(990);
  });

  test("and a disk that is full too: answers are given out, the log has what they cost, and no call begins until the store is back", async () => {
    const { disk, folder, ledger, run, logged } = await fixture();
    // Where its folder should be there is a file.
    writeFileSync(folder, "");
    const [first, second] = [await run(10), await run(20)];
    await first.end();
    expect(logged).toEqual([
      [
        "charge_not_kept",
        expect.objectContaining({
          request: first.callId,
          account: "acc_1",
          chargedNanodollars: 10,
          costNanodollars: 10,
        }),
      ],
    ]);
    expect(ledger.trouble()).toEndWith("so no call can be recorded");
    expect((await errorOf<GatewayError>(run(10))).code).toBe("unavailable");
    await second.end();
    expect((await errorOf(ledger.close())).message).toStartWith("Cannot write the charges of 2 calls: ");
    disk.takesEnds = true;
    expect(await ledger.close()).toBe(0);
  });

  test("leave no file behind once the store has taken them, also where the process ends at once", async () => {
    const { store, disk, ledger, run, next, spool } = await fixture();
    const clear = spool.clear.bind(spool);
    spool.clear = async () => {
      await Bun.sleep(100);
      await clear();
    };
    const call = await run(10);
    await call.end();
    disk.takesEnds = true;
    expect(await ledger.close(60_000)).toBe(0);
    expect(await next().replay()).toBe(0);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(990);
  });

  test("are waited for when the process ends, for as long as it may take, and then wait on the disk", async () => {
    const { store, disk, ledger, run, next } = await fixture();
    const calls = [await run(10), await run(20)] as const;
    await calls[0].end();
    expect(await ledger.close(200)).toBe(1);
    const closing = ledger.close(60_000);
    await Bun.sleep(300);
    disk.takesEnds = true;
    expect(await closing).toBe(0);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(990);
    expect(await next().replay()).toBe(0);
  });
});
