import { GatewayError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/** The field of a conversation that Anthropic keeps, and is told only what is new of. */
export const threadField = "thread";

/**
 * The body without the field by which Anthropic would keep the conversation: it would be kept under the operator's account,
 * another key or model could not go on with it, and nobody here could say what the prompt costs.
 *
 * @throws {GatewayError} `not_found` for the continuation of a thread, by which clients send the whole conversation again.
 */
export function withoutThread<Body extends object>(body: Body): Body {
  if (!(threadField in body)) return body;
  const { [threadField]: thread, ...rest } = body;
  if (isRecord(thread) && thread.type !== "create") {
    const sentence = "This gateway keeps no threads of messages; send the whole conversation";
    throw new GatewayError("not_found", sentence, { param: threadField, publicCode: "thread_not_found" });
  }
  return rest as Body;
}
