import { describe, expect, test } from "bun:test";
import { toResponse } from "../../src/protocols/responses/client-stream.ts";
import type { ResponseObject } from "../../src/protocols/responses/schema.ts";
import type { ChatCompletion } from "../../src/provider/index.ts";
import { faultsOf, schemaMissing } from "../support/openai-schema.ts";
import { recordingsMissing } from "../support/recordings.ts";
import { replyOf } from "../support/reply.ts";
import { eventsOf, head, planFor, sent } from "../unit/protocols/responses/support.ts";
import { chatBy } from "./fixture.ts";
import { type Case, named, requestOf, streamedChats, wholeChats } from "./recorded.ts";
import { streamedForm } from "./streamed-form.ts";

for (const reason of [recordingsMissing, schemaMissing]) if (reason !== undefined) console.log(`Skipped: ${reason}`);

const plan = planFor({ include: ["reasoning.encrypted_content"] });

/** Ids that are made up anew for each answer. */
function hideCallIds(response: ResponseObject): ResponseObject {
  for (const item of response.output) if ("call_id" in item) item.call_id = "call";
  return response;
}

async function streamed(one: Case, reply: Parameters<typeof chatBy>[2]): Promise<ResponseObject> {
  const { chunks, error } = await chatBy(one.plugin, requestOf(one, true), reply);
  expect(error).toBeUndefined();
  const events = sent(eventsOf(plan, chunks));
  for (const event of schemaMissing === undefined ? events : []) {
    expect([event.type, ...faultsOf("ResponseStreamEvent", event)]).toEqual([event.type]);
  }
  return events.at(-1)?.response as ResponseObject;
}

describe.skipIf(recordingsMissing !== undefined)("a response of any provider", () => {
  test.each(named(wholeChats))("%s: the same whole and streamed, as OpenAI describes it", async (_, one) => {
    const { answer } = await chatBy(one.plugin, requestOf(one, false), replyOf(one.recording));
    const whole = sent(toResponse(answer as ChatCompletion, plan, head));
    if (schemaMissing === undefined) expect(faultsOf("Response", whole)).toEqual([]);
    const last = await streamed(one, streamedForm(one.recording));
    // The streamed form of a recording has neither a service tier nor all counts.
    for (const response of [whole, last])
      for (const field of ["service_tier", "usage"]) delete response[field as never];
    expect(hideCallIds(last)).toEqual(hideCallIds(whole));
  });

  test.each(named(streamedChats))("%s: a stream as OpenAI describes it", async (_, one) => {
    expect(["completed", "incomplete"]).toContain((await streamed(one, replyOf(one.recording))).status);
  });
});
