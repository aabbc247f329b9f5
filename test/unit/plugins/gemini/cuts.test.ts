import { describe, expect, test } from "bun:test";
import { UpstreamError } from "modelgate/plugin";
import { GenerateContentStream } from "../../../../src/protocols/generate-content/answers.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { drain, eventsOf } from "../../sdk/fake-call.ts";
import { assemble, counting } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);

describe.if(recordingsMissing === undefined)("a stream that is cut", () => {
  test("says what was used until then", async () => {
    const { body } = recordingAt("gemini/thinking/3-flash-stream-thoughts.sse");
    const { items, error } = await drain(
      new GenerateContentStream(eventsOf(body.subarray(0, Math.floor(body.length / 2))), counting()),
    );
    expect(error).toBeInstanceOf(UpstreamError);
    expect(assemble(items).usage).toMatchObject({
      prompt_tokens: 44,
      completion_tokens_details: { reasoning_tokens: 902 },
    });
  });
});
