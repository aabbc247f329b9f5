import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { rounds } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";
import { ResponsesClient } from "../../support/responses-client.ts";
import { manifestOf, startSocketProvider, type TurnOnSocket } from "../../support/socket-provider.ts";

const roundCount = rounds(2, 60);
const clientCount = 3;
const answersMax = 20;
const untilMsMax = 60_000;

const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
const provider = startSocketProvider();
let gateway: Gateway | undefined;
afterAll(async () => {
  await gateway?.stop();
  await provider.stop();
  rmSync(home, { recursive: true, force: true });
});

const below = randomBelow(46);
/** How often the provider was asked for the turn of each number, which is also the number of its input tokens. */
const asked = new Map<number, number>();

/** Answers with the number of the turn as its usage, and takes a moment between events. */
async function answer({ frame, events, send }: TurnOnSocket): Promise<boolean> {
  const number = Number(/Turn number (\d+)/.exec(JSON.stringify(frame.input.at(-1)))?.[1]);
  asked.set(number, (asked.get(number) ?? 0) + 1);
  for (const event of events as { response?: { status?: string; usage?: object } }[]) {
    const { response } = event;
    if (response?.status === "completed")
      response.usage = { input_tokens: number, output_tokens: 20, total_tokens: number + 20 };
    await Bun.sleep(below(3));
    send(event);
  }
  return true;
}

let numbers = 0;
const delivered = new Set<number>();
let isOver = false;

/** Goes on with one conversation for as long as its connection lives, then begins another. */
async function converse(): Promise<void> {
  while (!isOver) {
    try {
      const client = await ResponsesClient.open(`${gateway?.origin}/v1`, gateway?.key ?? "");
      let previous: string | undefined;
      while (!isOver) {
        const number = ++numbers;
        const input = [{ type: "message", role: "user", content: `Turn number ${number}` }];
        const turn = { model: "lab-1", store: false, input, previous_response_id: previous };
        const { type, response } = await client.turn(turn);
        if (type !== "response.completed") break;
        delivered.add(number);
        previous = response.id;
      }
      client.close();
    } catch {
      await Bun.sleep(100);
    }
  }
}

test(`a gateway that is killed with -9 and ended by SIGTERM in turns, ${roundCount} times, loses and doubles none`, async () => {
  provider.fault = answer;
  mkdirSync(join(home, "plugins"));
  writeFileSync(join(home, "plugins/lab.json"), JSON.stringify(manifestOf(provider, "lab")));
  const env = { LAB_API_KEY: "sk-lab" };
  gateway = await startGateway({ home, env });
  await fillWallet(gateway, "1000000.00");
  const clients = Array.from({ length: clientCount }, converse);
  for (let round = 0; round < roundCount; round++) {
    const enough = delivered.size + 1 + below(answersMax);
    const deadline = Date.now() + untilMsMax;
    while (delivered.size < enough && Date.now() < deadline) await Bun.sleep(1);
    await Bun.sleep(below(25));
    if (round % 2 === 0) process.kill(gateway.pid, "SIGKILL");
    const code = await gateway.stop();
    if (round % 2 === 1) expect(code).toBe(0);
    gateway = await startGateway({ home, env });
  }
  isOver = true;
  await Promise.all(clients);
  expect(await gateway.stop()).toBe(0);
  gateway = undefined;
  expect(provider.faults).toEqual([]);
  const store = await openStore({ file: join(home, "modelgate.db") });
  const rows = await store.db
    .selectFrom("calls")
    .select(["state", "input_tokens", "charged_nanodollars", "usage_source"])
    .execute();
  const settled = rows.filter(({ state }) => state === "settled");
  const paid = new Set(settled.map(({ input_tokens }) => input_tokens as number));
  expect(paid.size).toBe(settled.length);
  expect([...delivered].filter((number) => !paid.has(number))).toEqual([]);
  expect(settled.filter((row) => row.charged_nanodollars !== Number(row.input_tokens) * 1000 + 20 * 10_000)).toEqual(
    [],
  );
  expect(rows.filter(({ state, charged_nanodollars: charged }) => state !== "settled" && charged)).toEqual([]);
  expect([...asked].filter(([, times]) => times > 1)).toEqual([]);
  expect((await verifyLedger(store)).differences).toEqual([]);
  await store.close();
  expect(delivered.size).toBeGreaterThan(roundCount);
  console.log(`${roundCount} ends: ${delivered.size} turns delivered, ${settled.length} charged, ${asked.size} asked`);
});
