import { type ChatCompletion, type ToolCall, UpstreamFault } from "modelgate/plugin";
import { candidatesOf, type Given, toDeltas, toFinish, toLogprobs, toUsage } from "./answer.ts";
import type { CallReading } from "./tool-calls.ts";
import type { Candidate, GenerateAnswer } from "./wire.ts";

/** A whole answer. Id, time and model name are the kernel's. */
export function fromCandidates(answer: GenerateAnswer, reading: CallReading): ChatCompletion {
  const candidates = candidatesOf(answer);
  if (candidates.length === 0) throw new UpstreamFault("bad_response", "The provider's answer has no candidates");
  const choices = candidates.map((candidate, position) => toChoice(candidate, position, reading));
  const hasOutput = choices.some(({ message }) => message.content || message.tool_calls);
  const usage = toUsage(answer.usageMetadata, hasOutput);
  return { id: "", object: "chat.completion", created: 0, model: "", choices, ...(usage && { usage }) };
}

function toChoice(candidate: Candidate, position: number, reading: CallReading): ChatCompletion["choices"][number] {
  const given: Given = { text: false, calls: 0 };
  const deltas = toDeltas(candidate, given, reading);
  const finish = toFinish(given);
  const content = deltas.map((delta) => delta.content ?? "").join("");
  const reasoning = deltas.map((delta) => delta.reasoning_content ?? "").join("");
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? []).map(({ index: _, ...call }) => call as ToolCall);
  const isSilent = !given.text && (calls.length > 0 || finish === "content_filter");
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: isSilent ? null : content,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choice = { index: candidate.index ?? position, message, finish_reason: finish };
  return Object.assign(choice, { logprobs: toLogprobs(candidate) ?? null });
}
