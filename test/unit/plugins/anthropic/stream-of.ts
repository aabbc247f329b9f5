import type { AnswerBlock, MessageAnswer } from "../../../../src/protocols/messages/schema.ts";
import { randomBelow } from "../../../support/random.ts";

type Payload = { type: string; [field: string]: unknown };

/** A whole answer as the provider would have streamed it, its texts cut into pieces by the seed. */
export function streamOf(answer: MessageAnswer, seed: number): Payload[] {
  const below = randomBelow(seed);
  const { content = [], usage, stop_reason, stop_sequence, stop_details } = answer;
  return [
    {
      type: "message_start",
      message: { ...answer, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: "ping" },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: emptied(block) },
      ...deltasOf(block, below).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
      { type: "some_later_event", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence, stop_details },
      usage: { output_tokens: usage?.output_tokens },
    },
    { type: "message_stop" },
  ];
}

function emptied(block: AnswerBlock): AnswerBlock {
  if (block.type === "text") return { ...block, text: "" };
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  return block.type === "tool_use" ? { ...block, input: {} } : block;
}

function deltasOf(block: AnswerBlock, below: (bound: number) => number): Payload[] {
  const pieces = (text: string) => cut(text, below);
  if (block.type === "text") return pieces(block.text ?? "").map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use") {
    const json = JSON.stringify(block.input);
    return ["", ...(json === "{}" ? [] : pieces(json))].map((piece) => ({
      type: "input_json_delta",
      partial_json: piece,
    }));
  }
  if (block.type !== "thinking") return [];
  return [
    ...pieces(block.thinking ?? "").map((thinking) => ({ type: "thinking_delta", thinking })),
    ...pieces(block.signature ?? "").map((signature) => ({ type: "signature_delta", signature })),
  ];
}

function cut(text: string, below: (bound: number) => number): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const length = 1 + below(Math.min(rest.length, 6));
    pieces.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return pieces;
}
