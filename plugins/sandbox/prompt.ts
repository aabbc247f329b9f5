import type { ChatRequest, Message } from "modelgate/plugin";

/** The text of a message; parts that are no text are left out. */
export function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The text of the last message of the user. */
export function promptOf({ messages }: ChatRequest): string {
  const message = messages.findLast(({ role }) => role === "user");
  return message === undefined ? "" : textOf(message);
}

/** How many parts of the last user message are no text. */
export function attachmentsOf({ messages }: ChatRequest): number {
  const content = messages.findLast(({ role }) => role === "user")?.content;
  return Array.isArray(content) ? content.filter(({ type }) => type !== "text").length : 0;
}
