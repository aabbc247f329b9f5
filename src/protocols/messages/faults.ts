import { GatewayError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/** The error for a field of a Messages request. Its path is written as Anthropic writes it: `messages.0.content.1`. */
export function invalid(path: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `${path}: ${message}`, { param: path });
}

/** A field that has to be a text. */
export function getText(holder: Record<string, unknown>, field: string, path: string): string {
  const text = holder[field];
  if (typeof text === "string") return text;
  throw invalid(`${path}.${field}`, "expected a string");
}

const chatRoles = ["tool", "developer", "function"];

/**
 * Refuses a body of the chat or the Responses protocol with a sentence that names its path. To be called before the body
 * is held against the schema, whose complaint would be about a missing field.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function refuseOtherProtocols(body: unknown): void {
  if (!isRecord(body)) return;
  const { messages, input, tools, max_tokens: maxTokens } = body;
  if (messages === undefined && input !== undefined) {
    throw invalid("input", "This is a body of the Responses protocol; send it to /responses, or send `messages`");
  }
  const chatField = ["max_completion_tokens", "response_format", "reasoning_effort"].find((field) => body[field]);
  const path =
    (Array.isArray(messages) ? findChatMessage(messages) : undefined) ??
    (Array.isArray(tools) && tools.some((tool) => isRecord(tool) && isRecord(tool.function)) ? "tools" : undefined) ??
    (maxTokens === undefined ? chatField : undefined);
  if (path === undefined) return;
  throw invalid(path, "This is a body of the chat protocol; send it to /chat/completions, or send a Messages body");
}

function findChatMessage(messages: unknown[]): string | undefined {
  const index = messages.findIndex((message) => {
    if (!isRecord(message)) return false;
    const { role, tool_calls: calls, content } = message;
    if (chatRoles.includes(role as string) || Array.isArray(calls)) return true;
    return Array.isArray(content) && content.some((part) => isRecord(part) && part.type === "image_url");
  });
  return index === -1 ? undefined : `messages.${index}`;
}
