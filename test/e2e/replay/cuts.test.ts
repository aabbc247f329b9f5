import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isServed } from "../../support/is-served.ts";
import { rounds } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { type Reply, replyOf } from "../../support/reply.ts";
import { saidByChunks, type WireChunk } from "../../support/said.ts";
import { isStream, saidIn } from "../../support/said-in.ts";
import { parseEvents } from "../../support/sse.ts";
import { type Bench, startBench } from "./bench.ts";
import { expectCost } from "./expect-ledger.ts";
import { type Plan, providers, replayOf } from "./plan.ts";

const streams = recordingsOf(...providers)
  .filter(isStream)
  .map(replayOf)
  .filter((plan) => plan !== undefined && !plan.recording.path.includes("/errors/")) as Plan[];
const named = streams.map((plan): [string, Plan] => [plan.recording.path, plan]);

/** More calls than fail of one cut, with its second attempt. */
const worksFirst = 4;
/** How many places a stream is cut at: a sample of its event boundaries and of its other bytes. */
const placesMax = rounds(4, 60);

/** Bytes after which an event has just ended, and bytes anywhere. */
function placesIn(body: Uint8Array, seed: number): number[] {
  const below = randomBelow(seed);
  const text = Buffer.from(body).toString("latin1");
  const ends = [...text.matchAll(/\r?\n\r?\n/g)].map((match) => match.index + match[0].length);
  const boundaries = Array.from({ length: placesMax / 2 }, () => ends[below(ends.length)] as number);
  const others = Array.from({ length: placesMax / 2 }, () => below(body.length));
  return [...new Set([0, ...boundaries, ...others])];
}

describe.skipIf(recordingsMissing !== undefined)("a recorded stream that ends too early", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  test.each(named)("%s ends in a clear error or whole, and settled", async (path, plan) => {
    const whole = replyOf(plan.recording);
    for (const bytes of placesIn(whole.body, path.length)) {
      // Streams that end well keep the circuit of the route closed.
      for (let call = 0; call < worksFirst; call++) {
        bench.upstream.answer(plan.provider, whole);
        await (await bench.gateway.post(plan.endpoint, plan.body)).text();
      }
      await expectClearEnd(bench, plan, { ...whole, body: whole.body.slice(0, bytes), slices: 1 });
    }
  });

  test("the ledger is right after all of them", async () => {
    expect(bench.ledger.counts().open).toBe(0);
    expect((await bench.gateway.run("ledger", "verify")).code).toBe(0);
  });
});

async function expectClearEnd({ gateway, upstream, ledger }: Bench, plan: Plan, reply: Reply): Promise<void> {
  upstream.answer(plan.provider, reply);
  const response = await gateway.post(plan.endpoint, plan.body);
  const text = await response.text();
  const call = ledger.callOf(response);
  const said = saidIn(plan.recording).choices[0];
  if (response.status !== 200) {
    expect({ status: response.status, state: call.state, body: text }).toMatchObject({
      status: 500,
      state: isServed(reply.body) ? "settled" : "released",
    });
    return;
  }
  const { events, done } = parseEvents<WireChunk>(text);
  const got = saidByChunks(events).choices[0];
  // A provider that was cut after its last word has said everything.
  if (done) expect(got?.finish).not.toBeNull();
  else expect(events.at(-1)?.error?.message).toBeTruthy();
  expect(said?.text.replace(/^\s*<think>/, "")).toStartWith(got?.text as string);
  expect(call.state).toBe("settled");
  expectCost(call, plan.row);
}
