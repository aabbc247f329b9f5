import { type RefusedResponse, UpstreamFault } from "../../../contract/index.ts";
import { classifyFault } from "../../fault.ts";

/** The fields that a sentence of the provider can begin with (`tools.0.name: …`), by the names callers know them by. */
const sameParams = ["max_tokens", "messages", "model", "temperature", "tool_choice", "tools", "top_p"];
const otherParams = { metadata: "user", stop_sequences: "stop", system: "messages", thinking: "reasoning_effort" };
const params = new Map([...sameParams.map((name): [string, string] => [name, name]), ...Object.entries(otherParams)]);

/** Reads a refusal. The provider has no codes for what is wrong with a request, so that its sentence has to tell. */
export function readFault(answer: RefusedResponse): UpstreamFault {
  const fault = classifyFault(answer);
  if (fault.kind !== "bad_request") return fault;
  const { message, status } = fault;
  const field = message.includes("effort level") ? "thinking" : /^[a-z_]+(?=[.:])/.exec(message)?.[0];
  // "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"
  const kind = message.includes("exceed context limit") ? "context_length" : "bad_request";
  return new UpstreamFault(kind, message, { status, param: params.get(field ?? "") });
}
