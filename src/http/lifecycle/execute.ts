import type { Capability } from "../../contract/index.ts";
import { type AnswerOf, Call, runCall } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { CallRequest, HttpCall } from "./http-call.ts";
import { recordEnd } from "./record.ts";

/**
 * Step 7: runs a call, and tells the log of its end, whatever that is.
 *
 * @throws {GatewayError} The error for the client.
 */
export async function executeCall<C extends Capability>(
  deps: HttpDeps,
  httpCall: HttpCall,
  asked: CallRequest<C>,
): Promise<AnswerOf<C>> {
  const { candidates } = httpCall;
  if (candidates === undefined) throw new TypeError("The model of this request was not resolved");
  const { keeper } = deps.contentLog;
  const request = httpCall.toRequest(asked);
  const copy = keeper?.copy(request);
  const call = new Call(copy?.request ?? request);
  httpCall.execution = call as unknown as Call;
  deps.loadShedder.startCall(httpCall.execution);
  httpCall.disableIdleTimeout();
  let answer: AnswerOf<C> | undefined;
  try {
    answer = await runCall(deps.kernel, call, candidates);
    return answer;
  } finally {
    httpCall.costNanodollars = call.run?.costNanodollars;
    deps.loadShedder.endCall(httpCall.execution);
    httpCall.restoreIdleTimeout();
    if (copy !== undefined) keeper?.keep(call, copy, answer);
    recordEnd(deps, httpCall.execution, httpCall.httpRequest);
  }
}
