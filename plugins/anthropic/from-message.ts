import { type ChatCompletion, parseShape, type ToolCall, UpstreamFault } from "modelgate/plugin";
import { FenceStripper } from "./fences.ts";
import { toFinishReason, toRefusal, toUsage } from "./outcome.ts";
import { toDetail } from "./reasoning.ts";
import { messageShape, type Reading } from "./wire.ts";

/** @throws {UpstreamFault} `bad_response` when the answer is no message. */
export function fromMessage(answer: unknown, reading: Reading, nowMs: number): ChatCompletion {
  if (!parseShape(answer, messageShape) || answer.content === undefined) {
    throw new UpstreamFault("bad_response", "The provider's answer is no message");
  }
  const blocks = answer.content;
  const json = blocks.find(({ name }) => name !== undefined && name === reading.jsonTool);
  const calls = blocks
    .filter((block) => block.type === "tool_use" && block !== json)
    .map(({ id = "", name = "", input }): ToolCall => {
      return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
    });
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const reasoning = thoughts.map(({ thinking = "" }) => thinking).join("");
  const fences = new FenceStripper();
  const text = blocks.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
  const bare = reading.fenced ? fences.push(text) + fences.flush() : text;
  const content = json === undefined ? bare : JSON.stringify(json.input ?? {});
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: toRefusal(answer),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(thoughts.length > 0 && { reasoning_details: thoughts.map(toDetail) }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choices = [{ index: 0, message, finish_reason: toFinishReason(answer, calls.length) }];
  const usage = toUsage(answer.usage);
  const created = Math.floor(nowMs / 1000);
  return { id: "", object: "chat.completion", created, model: "", choices, ...(usage && { usage }) };
}
