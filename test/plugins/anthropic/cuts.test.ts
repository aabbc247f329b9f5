import { describe, expect, test } from "bun:test";
import { UpstreamFault } from "modelgate/plugin";
import { fromEvents } from "../../../plugins/anthropic/from-events.ts";
import { cutAtRandom, randomBelow } from "../../support/random.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { assemble, drain, eventsOf, plain } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);
const streams = recordingsOf("anthropic")
  .filter(({ path }) => path.endsWith(".sse"))
  .map(({ path, body }) => [path, body] as const);

const end = new TextEncoder().encode('data: {"type":"message_stop"');

/** Where the last event is whole: from there on the message has come to its end. */
function endOf(body: Uint8Array): number {
  return new TextDecoder("latin1").decode(body).indexOf(new TextDecoder().decode(end)) + end.length + 1;
}

async function expectBroken(body: Uint8Array<ArrayBuffer>, place: number, whole: Awaited<ReturnType<typeof drain>>) {
  const { chunks, error } = await drain(fromEvents(eventsOf(body.subarray(0, place)), plain));
  expect(error).toBeInstanceOf(UpstreamFault);
  const content = assemble(chunks).message.content ?? "";
  expect((assemble(whole.chunks).message.content ?? "").startsWith(content)).toBe(true);
  const usage = chunks.filter((chunk) => chunk.usage);
  for (const chunk of usage) expect(chunk.choices).toEqual([]);
}

describe.if(recordingsMissing === undefined)("a stream that is cut", () => {
  test.each(streams)("ends in a fault at every event boundary of %s", async (path, body) => {
    const whole = await drain(fromEvents(eventsOf(body), plain));
    const text = new TextDecoder("latin1").decode(body);
    const last = path.includes("errors/") ? body.length : endOf(body);
    for (let place = 0; place !== -1 && place < last; place = text.indexOf("\n\n", place + 2)) {
      await expectBroken(body, place, whole);
    }
  });

  test.each(streams)("ends in a fault at random bytes of %s", async (path, body) => {
    const whole = await drain(fromEvents(eventsOf(body), plain));
    const last = path.includes("errors/") ? body.length : endOf(body) - 1;
    const below = randomBelow(7);
    for (let round = 0; round < 100; round++) await expectBroken(body, below(last), whole);
  });

  test.each(streams)("gives the same however the bytes of %s arrive", async (_, body) => {
    const whole = await drain(fromEvents(eventsOf(body), plain));
    for (let seed = 0; seed < 20; seed++) {
      const pieces = await drain(fromEvents(eventsOf(...cutAtRandom(body, 30, seed)), plain));
      expect(pieces.chunks).toEqual(whole.chunks);
    }
  });

  test("keeps the kind of an error that came in the stream, and what the prompt has cost", async () => {
    const [, body] = streams.find(([path]) => path.includes("200-stream-overloaded")) as (typeof streams)[number];
    const { chunks, error } = await drain(fromEvents(eventsOf(body), plain));
    expect(error).toMatchObject({ kind: "overloaded", message: "Overloaded" });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 15 } });
  });
});
