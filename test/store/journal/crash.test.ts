import { expect, test } from "bun:test";
import { join } from "node:path";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { randomBelow } from "../../support/random.ts";
import { temporaryBooks } from "./ground.ts";

const script = (name: string) => join(import.meta.dir, name);
const bounds = { waitMs: 2, sliceWritesMax: 20, rotateBytesMin: 20_000 };

test("killed with -9 at any instant, many times over, the books hold every charge that was told, once", async () => {
  const books = temporaryBooks();
  await (await books.open()).close();
  const told = new Set<string>();
  const below = randomBelow(7);
  for (let round = 0; round < 16; round++) {
    const command = [process.execPath, script("charge-forever.ts"), books.file, String(round), JSON.stringify(bounds)];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
    const killAt = below(20_000);
    let text = "";
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.length >= killAt) child.kill("SIGKILL");
    }
    await child.exited;
    expect(await new Response(child.stderr).text()).toBe("");
    for (const id of text.split("\n").slice(0, -1)) told.add(id);
    const store = await books.open();
    const settled = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
    const written = new Set(settled.map((call) => call.id));
    expect([...told].filter((id) => !written.has(id))).toEqual([]);
    expect((await verifyLedger(store)).differences).toEqual([]);
    const { entries, balance } = books.tables();
    expect([entries, balance]).toEqual([written.size, -10 * written.size]);
    await store.close();
  }
  expect(told.size).toBeGreaterThan(1000);
}, 60_000);

test("three processes that apply a journal while a fourth writes it lose nothing and count nothing twice", async () => {
  const books = temporaryBooks();
  // As a command beside a gateway: on a busy machine the three others may hold the lock for long.
  const store = await books.open({}, 10_000);
  const calls = 3000;
  const writer = Bun.spawn(
    [process.execPath, script("charge-forever.ts"), books.file, "0", JSON.stringify(bounds), String(calls)],
    { stdout: "ignore", stderr: "pipe" },
  );
  const appliers = [1, 2].map(() =>
    Bun.spawn([process.execPath, script("apply-until.ts"), books.file, String(calls)], { stderr: "pipe" }),
  );
  while (writer.exitCode === null) {
    await store.db.selectFrom("wallets").select("balance_nanodollars").execute();
    await Bun.sleep(1);
  }
  for (const child of [writer, ...appliers]) {
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await child.exited).toBe(0);
  }
  await store.db.selectFrom("wallets").select("balance_nanodollars").execute();
  expect(books.tables()).toMatchObject({ settled: calls, entries: calls, balance: -10 * calls, requests: calls });
  expect((await verifyLedger(store)).differences).toEqual([]);
}, 60_000);
