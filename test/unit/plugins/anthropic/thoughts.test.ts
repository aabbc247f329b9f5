import { describe, expect, test } from "bun:test";
import type { ChatRequest, Message } from "modelgate/plugin";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { AnswerBlock, MessageAnswer, Turn } from "../../../../src/protocols/messages/schema.ts";

import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { streamOf } from "./stream-of.ts";
import { assemble, drain, eventsFrom, modelOf, plain, translated } from "./support.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);

/** The next turn of a client that gives back what it was given. */
function nextTurn(message: Message): Partial<ChatRequest> {
  const results = (message.tool_calls ?? []).map(
    ({ id }): Message => ({ role: "tool", tool_call_id: id, content: "Mexico" }),
  );
  const tools = [{ type: "function" as const, function: { name: "get_user_country" } }];
  return { reasoning_effort: "low", tools, messages: [{ role: "user", content: "Hi" }, message, ...results] };
}

function broughtBack(message: Message): { blocks: AnswerBlock[] | undefined; thinking: unknown } {
  const { body } = translated(nextTurn(message), modelOf("famC-sonnet-4"));
  return { blocks: (body.messages as Turn[])[1]?.content, thinking: body.thinking };
}

describe.if(recordingsMissing === undefined)("a recorded tool turn with thoughts", () => {
  const read = () => {
    const { body } = recordingAt("anthropic/thinking/sonnet-4-thinking-plus-tool-use.json");
    return JSON.parse(new TextDecoder().decode(body)) as MessageAnswer & { content: AnswerBlock[] };
  };

  test("comes back as it went out", () => {
    const answer = read();
    const message = fromMessage(answer, plain, 0).choices[0]?.message as Message;
    expect(broughtBack(message).blocks).toEqual(answer.content);
    expect(broughtBack(message).thinking).toMatchObject({ type: "enabled" });
  });

  test("comes back as it went out in a stream", async () => {
    const answer = read();
    const { chunks } = await drain(new MessagesOutboundStream(eventsFrom(streamOf(answer, 3)), plain));
    expect(broughtBack(assemble(chunks).message as Message).blocks).toEqual(answer.content);
  });

  test("survives a client that forgets the thoughts", () => {
    const answer = read();
    const told = fromMessage(answer, plain, 0).choices[0]?.message as Message & { reasoning_details?: unknown };
    const { reasoning_details: _, reasoning_content: __, ...message } = told;
    const { blocks, thinking } = broughtBack(message);
    expect(blocks).toEqual(answer.content.slice(1));
    expect(thinking).toBeUndefined();
  });
});
