import { expect, test } from "bun:test";
import { join } from "node:path";
import { sql } from "kysely";
import type { Store } from "../../../../src/db/index.ts";
import { verifyLedger } from "../../../../src/ledger/index.ts";
import { randomBelow } from "../../../support/random.ts";
import { temporaryFile, temporaryStore } from "../temporary-store.ts";

const script = join(import.meta.dir, "charge-forever.ts");

interface Sums {
  settled: number;
  balance: number;
  charged: number;
}

async function sumsOf({ db }: Store): Promise<Sums> {
  const { rows } = await sql<Sums>`select (select count(*) from calls where state = 'settled') as settled,
    (select coalesce(sum(balance_nanodollars), 0) from wallets) as balance,
    (select coalesce(sum(charged_nanodollars), 0) from daily_charges) as charged`.execute(db);
  return { ...(rows[0] as Sums) };
}

test("killed with -9 at any instant, many times over, the ledger holds every charge that was told, once", async () => {
  const file = temporaryFile();
  await (await temporaryStore(file)).close();
  const told = new Set<string>();
  const below = randomBelow(7);
  for (let round = 0; round < 16; round++) {
    const child = Bun.spawn([process.execPath, script, file, String(round)], { stdout: "pipe", stderr: "pipe" });
    const killAt = below(10_000);
    let text = "";
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.length >= killAt) child.kill("SIGKILL");
    }
    await child.exited;
    expect(await new Response(child.stderr).text()).toBe("");
    for (const id of text.split("\n").slice(0, -1)) told.add(id);
    const store = await temporaryStore(file);
    const settled = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
    const written = new Set(settled.map((call) => call.id));
    expect([...told].filter((id) => !written.has(id))).toEqual([]);
    expect((await verifyLedger(store)).differences).toEqual([]);
    const { charged, balance } = await sumsOf(store);
    expect([charged, balance]).toEqual([10 * written.size, -10 * written.size]);
    await store.close();
  }
  expect(told.size).toBeGreaterThan(1000);
});

test("three processes that write at once beside one that reads lose nothing and count nothing twice", async () => {
  const file = temporaryFile();
  const store = await temporaryStore(file);
  const calls = 300;
  const writers = [0, 1, 2].map((round) =>
    Bun.spawn([process.execPath, script, file, String(round), String(calls)], { stdout: "pipe", stderr: "pipe" }),
  );
  const ended = Promise.all(
    writers.map(async ({ stdout, stderr, exited }) => {
      const [said, complaint] = await Promise.all([stdout, stderr].map((pipe) => new Response(pipe).text()));
      return { told: said?.trim().split("\n").length, complaint, code: await exited };
    }),
  );
  while (writers.some(({ exitCode }) => exitCode === null)) {
    expect((await verifyLedger(store)).differences).toEqual([]);
    await Bun.sleep(1);
  }
  for (const writer of await ended) expect(writer).toEqual({ told: calls, complaint: "", code: 0 });
  const all = 3 * calls;
  expect(await sumsOf(store)).toEqual({ settled: all, balance: -10 * all, charged: 10 * all });
  expect((await verifyLedger(store)).differences).toEqual([]);
});
