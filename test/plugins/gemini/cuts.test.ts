import { describe, expect, test } from "bun:test";
import { readEvents, UpstreamFault } from "modelgate/plugin";
import { fromEvents } from "../../../plugins/gemini/from-events.ts";
import { drain, eventsOf, piecesOf } from "../../kit/fake-call.ts";
import { cutAtRandom, randomBelow } from "../../support/random.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { assemble, counting } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);

const streams = recordingsOf("gemini")
  .filter(({ path }) => path.endsWith(".sse"))
  .map(({ path, body }) => [path, body] as const);

const translate = (body: Uint8Array) => drain(fromEvents(eventsOf(body), counting()));

/** Where the last event, which holds the reason of the end, is whole; its blank line may be missing. */
function endOf(body: Uint8Array): number {
  return new TextDecoder("latin1").decode(body).trimEnd().length;
}

async function expectBroken(body: Uint8Array<ArrayBuffer>, place: number): Promise<void> {
  const whole = assemble((await translate(body)).items).choices[0]?.message;
  const { items, error } = await translate(body.subarray(0, place));
  expect(error).toBeInstanceOf(UpstreamFault);
  expect(error).toMatchObject({ kind: "broken" });
  const choice = assemble(items).choices[0];
  expect(choice?.finish_reason ?? null).toBeNull();
  expect((whole?.content ?? "").startsWith(choice?.message.content ?? "")).toBe(true);
  for (const call of choice?.message.tool_calls ?? []) JSON.parse(call.function.arguments);
}

describe.if(recordingsMissing === undefined)("a stream that is cut", () => {
  test.each(streams)("ends in a fault at every event boundary of %s", async (_, body) => {
    const text = new TextDecoder("latin1").decode(body);
    for (const { index } of text.matchAll(/data: /g)) await expectBroken(body, index);
  });

  test.each(streams)("ends in a fault at random bytes of %s", async (_, body) => {
    const below = randomBelow(11);
    for (let round = 0; round < 100; round++) await expectBroken(body, below(endOf(body)));
  });

  test.each(streams)("gives the same however the bytes of %s arrive", async (_, body) => {
    const whole = await translate(body);
    expect(whole.error).toBeUndefined();
    for (let seed = 0; seed < 20; seed++) {
      const events = readEvents(piecesOf(...cutAtRandom(body, 30, seed)));
      expect(await drain(fromEvents(events, counting()))).toEqual(whole);
    }
  });

  test("says what was used until then", async () => {
    const [, body] = streams.find(([path]) => path.includes("3-flash-stream-thoughts")) as (typeof streams)[number];
    const { items, error } = await translate(body.subarray(0, Math.floor(body.length / 2)));
    expect(error).toBeInstanceOf(UpstreamFault);
    expect(assemble(items).usage).toMatchObject({
      prompt_tokens: 44,
      completion_tokens_details: { reasoning_tokens: 902 },
    });
  });
});
