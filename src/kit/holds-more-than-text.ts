import type { ChatRequest } from "../contract/index.ts";

/**
 * Whether a chat request holds what a provider may not take: parts other than text, tools, their results, or an asked
 * format. Only then is it worth a look by the plugin's `checks` before anything is held. The deprecated `functions` are
 * left to the handler, which turns them into tools first.
 */
export function holdsMoreThanText({ messages, tools, response_format: format, functions }: ChatRequest): boolean {
  if (functions || messages.some(({ role, function_call: call }) => role === "function" || call)) return false;
  if (format || (tools && tools.length > 0)) return true;
  return messages.some(({ role, content, tool_calls: calls }) => role === "tool" || calls || Array.isArray(content));
}
