import { describe, expect, test } from "bun:test";
import type { ChatRequest, Model } from "../../src/provider/index.ts";
import { type RecordedRequest, recordingsMissing } from "../support/recordings.ts";
import { replyOf } from "../support/reply.ts";
import {
  toChatRequest as fromMessages,
  normalised as normalisedMessages,
  whyOther as whyOtherMessages,
} from "../unit/plugins/anthropic/recorded-request.ts";
import { modelOf } from "../unit/plugins/anthropic/support.ts";
import {
  toChatRequest as fromContents,
  normalised as normalisedContents,
  whyOther as whyOtherContents,
} from "../unit/plugins/gemini/recorded-request.ts";
import { modelAt } from "../unit/plugins/gemini/support.ts";
import { chatBy } from "./fixture.ts";
import { type Case, chats, named } from "./recorded.ts";

type Json = Record<string, unknown>;

/** How a provider's recorded request is read back into the one a client would have sent, to be built again from that. */
interface Reader {
  whyOther(one: Case): string | undefined;
  toChatRequest(body: Json): Partial<ChatRequest>;
  normalised(body: Json): Json;
  modelOf(upstreamId: string): Model;
}

const readers: Record<string, Reader> = {
  anthropic: {
    toChatRequest: fromMessages,
    normalised: normalisedMessages,
    modelOf,
    whyOther: ({ recording }) => whyOtherMessages(recording.path),
  },
  gemini: {
    toChatRequest: fromContents,
    normalised: normalisedContents,
    modelOf: modelAt,
    whyOther: ({ recording }) => whyOtherContents(recording.request as RecordedRequest),
  },
};

const asked = chats.filter(({ recording: { request, path } }) => request?.body && !path.includes("/errors/"));
const translated = asked.filter((one) => readers[one.provider]?.whyOther(one) === undefined && readers[one.provider]);
const passedOn = asked.filter((one) => one.faithful);

describe.skipIf(recordingsMissing !== undefined)("the recorded request", () => {
  test.each(named(translated))("of %s is built again from what a client would have sent", async (_, one) => {
    const { toChatRequest, normalised, modelOf: rowOf } = readers[one.provider] as Reader;
    const recorded = one.recording.request?.body as Json;
    const upstreamId = String(recorded.model ?? /models\/([^:]+):/.exec(one.recording.request?.url ?? "")?.[1]);
    const model = { ...rowOf(upstreamId), upstreamId };
    const request = { ...toChatRequest(recorded), model: model.id } as ChatRequest;
    // Left out, it would be sent as the specification's default.
    const omit = [...(model.omit ?? []), ...(request.temperature === undefined ? ["temperature"] : [])];
    const plugin = { ...one.plugin, models: [{ ...model, omit }] };
    const { sent } = await chatBy(plugin, request, replyOf(one.recording));
    expect(normalised(sent[0]?.json as Json)).toEqual(normalised(recorded));
  });

  test.each(named(passedOn))("of %s passes on, but for what its model rejects", async (_, one) => {
    const { sent, notes } = await chatBy(one.plugin, one.body as unknown as ChatRequest, replyOf(one.recording));
    const [body, recorded] = [sent[0]?.json as Json, one.recording.request?.body as Json];
    expect(body.model).toBe(one.row.upstreamId);
    for (const [field, value] of Object.entries(recorded)) {
      if (value === null || field === "model" || field === "stream" || field === "stream_options") continue;
      const name = body[field] === undefined ? (renamed[field] ?? field) : field;
      // The gateway itself ends the answer.
      if (field === "stop" && one.row.omit?.includes(field)) continue;
      const isLeftOut = body[name] === undefined && notes.some((note) => note.includes(`Left out ${field}`));
      if (!isLeftOut) expect({ [name]: comparable(name, body[name]) }).toEqual({ [name]: comparable(name, value) });
    }
    const added = Object.keys(body).filter((field) => !(field in recorded) && !(field in ours));
    expect(added.filter((field) => !Object.values(renamed).includes(field))).toEqual([]);
    expect(body).toMatchObject(body.stream === true ? { stream_options: { include_usage: true } } : {});
  });
});

/** The newer name of a limit, and what the gateway says where a client says nothing. */
const renamed: Record<string, string> = { max_tokens: "max_completion_tokens", functions: "tools" };
const ours = { temperature: 0.7, stream_options: {}, stream: true };

/** Messages by what they say: the role's name and fields that a provider rejects may differ. */
function comparable(field: string, value: unknown): unknown {
  if (field !== "messages") return value;
  return (value as Json[]).map(({ role, content, tool_calls: calls, tool_call_id: id }) => ({
    role: role === "developer" ? "system" : role,
    content: content ?? null,
    calls: calls ?? null,
    id,
  }));
}
