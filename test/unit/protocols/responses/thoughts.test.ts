import { expect, test } from "bun:test";
import { MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { AnswerBlock, Turn } from "../../../../src/protocols/messages/schema.ts";
import { createReasoningEnvelope } from "../../../../src/protocols/reasoning.ts";
import type { ResponseEvent } from "../../../../src/protocols/responses/client-stream.ts";
import type { ResponseItem, ResponseObject } from "../../../../src/protocols/responses/schema.ts";
import { streamOf } from "../../plugins/anthropic/stream-of.ts";
import { drain, eventsFrom, modelOf, plain, translated } from "../../plugins/anthropic/support.ts";
import { eventsOf, translate } from "./support.ts";

const model = "famC-sonnet-4";
const envelope = createReasoningEnvelope(new Uint8Array(32), "acc_1");
const content: AnswerBlock[] = [
  { type: "thinking", thinking: "I should look.", signature: "EqQB/+==" },
  { type: "redacted_thinking", data: "Em=" },
  { type: "text", text: "Let me look." },
  { type: "thinking", thinking: "Where?", signature: "EqRC" },
  { type: "tool_use", id: "toolu_1", name: "look", input: { at: 1 } },
];
const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
const question = { role: "user", content: "Hi" };

test("thoughts come back to their provider with their signatures, through a client that keeps nothing else", async () => {
  const answer = { content, stop_reason: "tool_use", usage: { input_tokens: 1, output_tokens: 2 } };
  const include = ["reasoning.encrypted_content"];
  const { plan } = translate({ model, tools, include, input: [question] }, { envelope });
  const { chunks } = await drain(new MessagesOutboundStream(eventsFrom(streamOf(answer as never, 3)), plain));
  const last = eventsOf(plan, chunks).at(-1) as ResponseEvent;
  const { output } = last.response as ResponseObject;
  expect(output.map(({ type }) => type)).toEqual(["reasoning", "message", "reasoning", "function_call"]);
  const result = { type: "function_call_output", call_id: "toolu_1", output: "here" };
  const input = [question, ...(output as ResponseItem[]), result];
  const { chat } = translate({ model, tools, input, reasoning: { effort: "low" } }, { envelope });
  const turns = translated(chat, modelOf(model)).body.messages as Turn[];
  const [first, second, text, third, call] = content as [
    AnswerBlock,
    AnswerBlock,
    AnswerBlock,
    AnswerBlock,
    AnswerBlock,
  ];
  expect(turns[1]?.content).toEqual([first, second, third, text, call] as never);
});
