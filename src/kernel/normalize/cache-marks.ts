import type { ChatRequest } from "../../contract/index.ts";
import { isRecord } from "../../sdk/json.ts";

/** Whether one of a request's cache marks asks for an hour, Anthropic's `cache_control: {"ttl": "1h"}`. */
export function asksForHour(request: object): boolean {
  const { messages, tools } = request as Partial<ChatRequest>;
  if (isHour(request) || hasHour(tools)) return true;
  return (
    messages?.some((message) => isHour(message) || hasHour(message.content) || hasHour(message.tool_calls)) === true
  );
}

function hasHour(holders: unknown): boolean {
  return Array.isArray(holders) && holders.some(isHour);
}

function isHour(holder: object): boolean {
  const mark = (holder as { cache_control?: unknown }).cache_control;
  return isRecord(mark) && mark.ttl === "1h";
}
