import type { Message } from "../../../contract/index.ts";
import type { ChatOptions } from "./options.ts";
import { withPricedMarks } from "./priced-fields.ts";

const reasoningFields = ["reasoning_content", "reasoning", "reasoning_details"];

/** The messages as the provider takes them. A message that needs no change is passed on as it is, not copied. */
export function toMessages(messages: readonly Message[], options: ChatOptions): Message[] {
  const { messageOmit = reasoningFields, systemRole, pass } = options;
  const toPriced = pass?.includes("cache_control") ? (message: Message) => message : withPricedMarks;
  return messages.map((message) => toPriced(toMessage(message, messageOmit, systemRole)));
}

function toMessage(message: Message, omit: readonly string[], systemRole: ChatOptions["systemRole"]): Message {
  const role = toRole(message.role, systemRole);
  const keys = Object.keys(message);
  const kept = keys.filter(
    (key) => !omit.includes(key) && (message[key as keyof Message] !== null || key === "content"),
  );
  if (role === message.role && kept.length === keys.length) return message;
  const copy: Record<string, unknown> = {};
  for (const key of kept) copy[key] = message[key as keyof Message];
  copy.role = role;
  return copy as Message;
}

function toRole(role: Message["role"], systemRole: ChatOptions["systemRole"]): Message["role"] {
  return systemRole !== undefined && (role === "system" || role === "developer") ? systemRole : role;
}
