import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../src/db/index.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { rounds } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";
import { startClients } from "./clients.ts";
import { expectTrueLedger } from "./expect-true-ledger.ts";
import { startMeteredProvider } from "./metered-provider.ts";

const roundCount = rounds(12, 200);
const clientCount = 8;
/** A gateway lives for at most so many answers after its start, and sometimes for none, and a moment more. */
const answersMax = 40;
const momentMsMax = 25;
const untilMsMax = 60_000;

const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
const provider = startMeteredProvider(3);
let gateway: Gateway | undefined;
afterAll(async () => {
  await gateway?.stop();
  await provider.stop();
  rmSync(home, { recursive: true, force: true });
});

test(`a gateway killed with -9 at random instants under load, ${roundCount} times, loses no charge and doubles none`, async () => {
  const below = randomBelow(4);
  const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
  gateway = await startGateway({ home, env });
  // The calls cost more and more, as their numbers are what they cost.
  await fillWallet(gateway, "1000000.00");
  const clients = startClients(clientCount, gateway.key, () => (gateway as Gateway).origin);
  for (let round = 0; round < roundCount; round++) {
    const enough = clients.delivered.size + below(answersMax);
    const deadline = Date.now() + untilMsMax;
    while (clients.delivered.size < enough && Date.now() < deadline) await Bun.sleep(1);
    await Bun.sleep(below(momentMsMax));
    process.kill(gateway.pid, "SIGKILL");
    await gateway.stop();
    gateway = await startGateway({ home, env });
  }
  await clients.stop();
  expect(await gateway.stop()).toBe(0);
  gateway = undefined;
  const store = await openStore({ file: join(home, "modelgate.db") });
  const { settled, unpaid } = await expectTrueLedger(store, { provider, clients });
  const { count } = await store.db
    .selectFrom("open_calls")
    .select((select) => select.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  expect(count).toBe(0);
  await store.close();
  expect(clients.delivered.size).toBeGreaterThan(5 * roundCount);
  // A client saw a 200, or an answer that broke off: never an error that the gateway made.
  expect([...clients.statuses.keys()].filter((status) => status !== 200 && status !== 0)).toEqual([]);
  console.log(`${roundCount} kills: ${clients.delivered.size} answers delivered, ${settled} charged, ${unpaid} unpaid`);
});
