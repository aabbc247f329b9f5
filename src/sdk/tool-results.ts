import type { GatewayError, Message, ToolCall } from "../contract/index.ts";
import { parseJson } from "./parse-json.ts";
import { isRecord } from "./record.ts";
import { badRequest } from "./refuse.ts";

/** A tool message, the call it answers, and where it stands in the conversation. */
export interface ToolResult {
  call: ToolCall;
  message: Message;
  index: number;
}

/**
 * The results of an assistant message's tool calls, one for each call and in the order of the calls, for providers that
 * pair them by their place.
 *
 * @param index Where the assistant message stands. Its results are the tool messages right after it.
 * @throws {GatewayError} `invalid_request` when a call has no result or two, or a result has no call.
 *
 * @example
 * const call = { id: "1", type: "function", function: { name: "weather", arguments: "{}" } };
 * const messages = [{ role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "1", content: "mild" }];
 * toolResultsOf(messages, 0)[0].message.content; // => "mild"
 */
export function toolResultsOf(messages: readonly Message[], index: number): ToolResult[] {
  const calls = messages[index]?.tool_calls ?? [];
  const results = new Map<string, ToolResult>();
  for (let next = index + 1; messages[next]?.role === "tool"; next++) {
    const message = messages[next] as Message;
    const id = message.tool_call_id ?? "";
    const param = `messages[${next}].tool_call_id`;
    const call = calls.find((known) => known.id === id);
    if (call === undefined) throw resultWithoutCall(param);
    if (results.has(id)) throw badRequest(`The tool call ${id} has two results, expected one`, param);
    results.set(id, { call, message, index: next });
  }
  return calls.map(({ id }, position) => {
    const result = results.get(id);
    if (result !== undefined) return result;
    const param = `messages[${index}].tool_calls[${position}]`;
    throw badRequest(`The tool call ${id} has no result, expected a tool message with its id right after it`, param);
  });
}

/**
 * The refusal of a tool message that follows no assistant message with its call.
 *
 * @example
 * resultWithoutCall("messages[3].tool_call_id").param; // => "messages[3].tool_call_id"
 */
export function resultWithoutCall(param: string): GatewayError {
  return badRequest(
    "This result answers no tool call of the assistant message before it, expected the id of one",
    param,
  );
}

/**
 * The arguments of a tool call as an object, for providers that take no text. No text at all is no arguments.
 *
 * @param param The call's place in the request, for the error.
 * @throws {GatewayError} `invalid_request` when they are no JSON object.
 *
 * @example
 * const call = { id: "1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
 * readArguments(call, "messages[1].tool_calls[0]"); // => { city: "Paris" }
 */
export function readArguments(call: ToolCall, param: string): Record<string, unknown> {
  const { name, arguments: text } = call.function;
  if (text.trim() === "") return {};
  const value = parseJson(text);
  if (isRecord(value)) return value;
  throw badRequest(`The arguments of ${name} are no JSON object`, `${param}.function.arguments`);
}
