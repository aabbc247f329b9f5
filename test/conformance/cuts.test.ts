import { describe, expect, test } from "bun:test";
import { isServed } from "../support/is-served.ts";
import { rounds } from "../support/long.ts";
import { cutAtRandom, randomBelow } from "../support/random.ts";
import { recordingsMissing } from "../support/recordings.ts";
import { type Reply, replyOf } from "../support/reply.ts";
import { assemble, type Whole } from "./assemble.ts";
import { chatBy } from "./fixture.ts";
import { brokenStreams, type Case, named, requestOf, streamedChats } from "./recorded.ts";

const randomPlaces = rounds(25, 1000);
const randomCuts = rounds(5, 200);

/** The bytes after which an event has just ended. */
function boundariesOf({ body }: Reply): number[] {
  const text = Buffer.from(body).toString("latin1");
  return [0, ...[...text.matchAll(/\r?\n\r?\n/g)].map((match) => match.index + match[0].length)];
}

function randomPlacesOf({ body }: Reply): number[] {
  const below = randomBelow(body.length);
  return Array.from({ length: randomPlaces }, () => below(body.length));
}

const streams = named([...streamedChats, ...brokenStreams]);

describe.skipIf(recordingsMissing !== undefined)("a stream of any provider", () => {
  test.each(streams)("%s: cut at every event, it ends clearly and settles once", async (_, one) => {
    await expectClearEnds(one, boundariesOf);
  });

  test.each(streams)(`%s: cut at ${randomPlaces} random bytes, it ends clearly and settles once`, async (_, one) => {
    await expectClearEnds(one, randomPlacesOf);
  });

  test.each(streams)("%s: says the same however its bytes arrive", async (_, one) => {
    const reply = replyOf(one.recording);
    const whole = sayable(assemble((await ask(one, reply)).chunks), one);
    for (let seed = 0; seed < randomCuts; seed++) {
      const { chunks } = await ask(one, reply, cutAtRandom(reply.body, 30, seed));
      expect(sayable(assemble(chunks), one)).toEqual(whole);
    }
  });
});

const ask = (one: Case, reply: Reply, pieces?: Uint8Array<ArrayBuffer>[]) =>
  chatBy(one.plugin, requestOf(one, true), reply, pieces);

async function expectClearEnds(one: Case, placesOf: (reply: Reply) => number[]): Promise<void> {
  const reply = replyOf(one.recording);
  const isBroken = brokenStreams.includes(one);
  const whole = assembleText((await ask(one, reply)).chunks);
  for (const place of placesOf(reply)) {
    const { chunks, error, ledger } = await ask(one, { ...reply, body: reply.body.slice(0, place) });
    const { outcome, status, usageSource } = ledger.settlement;
    const text = assembleText(chunks);
    expect({ place, begins: whole.startsWith(text) }).toEqual({ place, begins: true });
    // A provider that was cut after its last word has said everything.
    if (error === undefined) expect({ place, isBroken, status }).toEqual({ place, isBroken: false, status: 200 });
    else {
      expect([400, 500]).toContain(error.status);
      // A sentence, which may begin with the name of the provider that failed.
      expect(error.message.replace(one.plugin.name, "The provider")).toMatch(/^[A-Z].{8}/);
      expect(status).toBe(error.status);
    }
    const isOwed = isServed(reply.body.slice(0, place));
    expect({ place, outcome, paid: usageSource !== "none" }).toEqual({
      place,
      outcome: isOwed ? "settled" : "released",
      paid: isOwed,
    });
    const finishes = chunks.flatMap(({ choices }) => choices).filter(({ finish_reason: reason }) => reason);
    if (error === undefined) expect(finishes.length).toBeGreaterThan(0);
  }
}

function assembleText(chunks: Parameters<typeof assemble>[0]): string {
  return chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");
}

/** A provider without ids is given other ones for every answer. */
function sayable(whole: Whole, { provider }: Case): Whole {
  if (provider !== "gemini") return whole;
  for (const { calls } of whole.choices) for (const call of calls as { id: string }[]) call.id = "";
  return whole;
}
