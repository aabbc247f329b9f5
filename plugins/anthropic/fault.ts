import { classifyFault, type RefusedAnswer, UpstreamFault } from "modelgate/plugin";

const sameParams = ["max_tokens", "messages", "model", "temperature", "tool_choice", "tools", "top_p"];
const otherParams: Record<string, string> = {
  metadata: "user",
  output_config: "response_format",
  stop_sequences: "stop",
  system: "messages",
  thinking: "reasoning_effort",
};

/** Reads a refusal. For a bad request the sentence has to tell what is wrong, `tools.0.name: …`. */
export function readFault(answer: RefusedAnswer): UpstreamFault {
  const fault = classifyFault(answer);
  if (fault.kind !== "bad_request") return fault;
  const { message, status } = fault;
  const field = /^([a-z_]+)[.:]/.exec(message)?.[1] ?? "";
  const named = sameParams.includes(field) ? field : otherParams[field];
  const param = message.includes("effort level") ? "reasoning_effort" : named;
  // "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"
  return new UpstreamFault(message.includes("exceed context limit") ? "too_long" : "bad_request", message, {
    status,
    param,
  });
}
