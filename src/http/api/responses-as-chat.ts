import type { ChatRequest } from "../../contract/index.ts";
import { fromOtherHabits } from "../../protocols/chat/inbound.ts";
import { createReasoningEnvelope } from "../../protocols/reasoning-envelope.ts";
import { checkResponsesRequest, isResponsesBody, toChatRequest } from "../../protocols/responses/inbound.ts";
import { ResponsesRequest } from "../../protocols/responses/schema.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { checkBody } from "../lifecycle/validate.ts";

/**
 * Cursor sends bodies of the Responses protocol here, and reads answers of chat. Free-form tools become functions with the
 * one argument `input`.
 *
 * @returns `undefined` for a body of chat in OpenAI's words.
 * @throws {GatewayError} `invalid_request`
 */
export async function toChatBody(deps: HttpDeps, body: unknown, call: HttpCall): Promise<ChatRequest | undefined> {
  if (!isResponsesBody(body)) return fromOtherHabits(body, (field) => call.leaveOut(field)) as ChatRequest | undefined;
  checkResponsesRequest(body);
  const request = checkBody(ResponsesRequest, body);
  const envelope = createReasoningEnvelope(deps.sealKey, call.caller.accountId);
  const { chat, plan } = toChatRequest(request, { envelope, stored: false });
  for (const sentence of plan.warnings) call.warn(sentence);
  return { ...chat, ...(request.store === false && { store: false }) };
}
