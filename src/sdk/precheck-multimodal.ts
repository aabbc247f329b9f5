import type { ChatRequest, CheckInput } from "../contract/index.ts";
import type { DataUrl } from "./data-url.ts";

type Translate = (request: ChatRequest, asked: CheckInput<ChatRequest> & { note: () => void }) => unknown;

/**
 * Makes a plugin's pure translation its `checks.chat`. It runs where a request holds what a provider may not take: parts
 * other than text, tools, their results, or an asked format. The deprecated `functions` are left to the handler, which
 * turns them into tools first.
 *
 * @param translate Throws `invalid_request` for what it cannot say; what it returns is dropped, and so are its notes.
 *
 * @example
 * const seen = [];
 * const check = checkBeyondText((request) => seen.push(request.tools.length));
 * check({ request: { messages: [{ role: "user", content: "Hi" }] } });
 * check({ request: { messages: [], tools: [{ type: "function", function: { name: "weather" } }] } });
 * seen; // => [1]
 */
export function precheckMultimodal(translate: Translate): (asked: CheckInput<ChatRequest>) => void {
  return (asked) => {
    if (holdsMoreThanText(asked.request)) translate(asked.request, { ...asked, note: () => undefined });
  };
}

function holdsMoreThanText({ messages, tools, response_format: format, functions }: ChatRequest): boolean {
  if (functions || messages.some(({ role, function_call: call }) => role === "function" || call)) return false;
  if (format || (tools && tools.length > 0)) return true;
  return messages.some(({ role, content, tool_calls: calls }) => role === "tool" || calls || Array.isArray(content));
}

/**
 * Stands for the pictures of a request before they were fetched: every https address is a PNG.
 *
 * @example
 * unfetchedImages.get("https://example.com/a.jpg").mediaType; // => "image/png"
 */
export const findUnfetchedImages: Pick<ReadonlyMap<string, DataUrl>, "get"> = {
  get: (url) => (/^https:/i.test(url) ? { mediaType: "image/png", base64: "AAAA" } : undefined),
};
