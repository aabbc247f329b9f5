import { describe, expect, test } from "bun:test";
import { MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { drain, eventsOf, plain } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);

describe.if(recordingsMissing === undefined)("a stream that is cut", () => {
  test("keeps the kind of an error that came in the stream, and what the prompt has cost", async () => {
    const { body } = recordingAt("anthropic/errors/200-stream-overloaded-mid-stream.sse");
    const { chunks, error } = await drain(new MessagesOutboundStream(eventsOf(body), plain));
    expect(error).toMatchObject({ kind: "overloaded", message: "Overloaded" });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 15 } });
  });
});
