import { describe, expect, test } from "bun:test";
import { type ServerEvent, UpstreamError } from "modelgate/plugin";
import { StreamNormalizer } from "../../../../src/kernel/normalize/answer.ts";
import { UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";
import { MessagesStream } from "../../../../src/protocols/messages/client-stream.ts";
import { toMessagesAnswer } from "../../../../src/protocols/messages/inbound.ts";
import { toMessagesBody } from "../../../../src/protocols/messages/outbound.ts";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from "../../../../src/protocols/messages/schema.ts";
import roundTrips from "../../../fixtures/messages/round-trips.json" with { type: "json" };
import { chunksOf, readEvents } from "../../../support/chat-streams.ts";
import { recordingsMissing, recordingsOf } from "../../../support/recordings.ts";
import { modelOf } from "../../plugins/anthropic/support.ts";
import { accumulate, planOf, requestOf, translated } from "./support.ts";

const row = modelOf("famC-opus-4-6");
const model = row;

describe("a request to Anthropic by way of chat", () => {
  test.each(roundTrips.map((golden) => [golden.name, golden] as const))("is the same: %s", (_, golden) => {
    const { model: __, ...body } = requestOf(golden.body as unknown as Partial<MessagesRequest>);
    const warnings: string[] = [];
    const { request } = translated({ ...body, model: model.id });
    const sent = toMessagesBody(request, model, (sentence) => warnings.push(sentence)).body;
    const expected = { ...body, model: model.upstreamId };
    expect<unknown>(JSON.parse(JSON.stringify(sent))).toEqual(expected);
    expect(warnings).toEqual([]);
  });
});

/**
 * What a recorded answer is as a message: without the fields that only Anthropic knows, with all figures there, and with
 * its texts as one, which is what a chat answer has.
 */
function promised({ content, stop_reason, usage, ...rest }: MessagesAnswer): unknown {
  const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const figures = Object.entries({ ...cached, ...usage }).filter(([name]) => name.endsWith("_tokens"));
  // Chat does not tell a stop sequence from the end of a turn.
  const stop = (stop_reason as string) === "stop_sequence" ? "end_turn" : stop_reason;
  const others = content.filter(({ type }) => type !== "text").map(({ citations: _, caller: __, ...block }) => block);
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { text, others, stop_reason: stop, usage: Object.fromEntries(figures), role: rest.role };
}

const plan = planOf({ thinking: { type: "adaptive" } });
const answers = recordingsOf("anthropic").filter(({ status, kind }) => status === 200 && kind !== "shape");
if (recordingsMissing !== undefined) console.warn(recordingsMissing);

describe.if(recordingsMissing === undefined)("a recorded answer by way of chat", () => {
  const whole = answers.filter(({ path, capability }) => path.endsWith(".json") && capability !== "count-tokens");
  test.each(whole.map((one) => [one.path, one] as const))("is the same: %s", (_, { body }) => {
    const answer = JSON.parse(new TextDecoder().decode(body)) as MessagesAnswer;
    const completion = fromMessage(structuredClone(answer) as never, {}, 0);
    expect(promised(toMessagesAnswer(completion, plan))).toEqual(promised(answer));
  });

  const streams = answers.filter(({ path }) => path.endsWith(".sse") && !path.includes("overloaded"));
  test.each(streams.map((one) => [one.path, one] as const))("is the same in a stream: %s", async (_, { body }) => {
    const recorded: MessagesEvent[] = [];
    for await (const { data } of eventsOf(body)) recorded.push(JSON.parse(data) as MessagesEvent);
    const { usage } = accumulateRecorded(recorded);
    const normalizer = new StreamNormalizer({ id: "chatcmpl-1", created: 1, model: "m" }, meter(), {
      includeUsage: true,
    });
    const stream = new MessagesStream(plan);
    const events: MessagesEvent[] = [];
    for await (const raw of chunksOf(new MessagesOutboundStream(eventsOf(body), {}))) {
      for (const chunk of normalizer.push(raw)) events.push(...stream.push(chunk));
    }
    if (normalizer.usage !== undefined) events.push(...stream.push(normalizer.usageChunk(normalizer.usage)));
    events.push(...stream.end());
    expect(promised(accumulate(events))).toEqual(promised({ ...accumulateRecorded(recorded), usage }));
  });
});

async function* eventsOf(body: Uint8Array<ArrayBuffer>): AsyncGenerator<ServerEvent> {
  yield* readEvents(
    (async function* () {
      yield body;
    })(),
  );
}

/** Anthropic reports its usage in two events, of which the second does not repeat all of the first. */
function accumulateRecorded(events: readonly MessagesEvent[]): MessagesAnswer {
  let start: object = {};
  const merged = events.map((event) => {
    if (event.type === "message_start") start = event.message.usage;
    return event.type === "message_delta" ? { ...event, usage: { ...start, ...event.usage } } : event;
  });
  return accumulate(merged);
}

function meter(): UsageMeter {
  return new UsageMeter(async () => {
    throw new UpstreamError("bad_response", "The recording reports its usage");
  });
}
