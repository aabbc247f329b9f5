import type { ContentPart, Message } from "../../contract/index.ts";
import { mapChanged } from "../../lib/json.ts";
import type { ChatOptions } from "./options.ts";
import { withPricedMarks } from "./priced-fields.ts";

const reasoningFields = ["reasoning_content", "reasoning", "reasoning_details"];
const mark = "cache_control";

/** The messages as the provider takes them. What needs no change, a message or the whole list, is passed on, not copied. */
export function toMessages(messages: readonly Message[], options: ChatOptions): readonly Message[] {
  const sent: Message[] = [];
  const media: ContentPart[] = [];
  const sendMedia = () => {
    if (media.length > 0) sent.push({ role: "user", content: media.splice(0) });
  };
  for (const message of messages) {
    if (message.role !== "tool") sendMedia();
    sent.push(toMessage(message.role === "tool" ? toToolMessage(message, media) : message, options));
  }
  sendMedia();
  const isPriced = options.cacheControl !== true || options.pass?.includes(mark) === true;
  const priced = isPriced ? sent : mapChanged(sent, withPricedMarks);
  const isSame = priced.length === messages.length && priced.every((message, index) => message === messages[index]);
  return isSame ? messages : priced;
}

/** Takes out Anthropic's cache marks, which other providers refuse. A list without any is returned as it is. */
export function withoutMarks<Member extends object>(list: readonly Member[]): Member[] {
  if (!list.some((member) => mark in member)) return list as Member[];
  return list.map((member) => {
    const { [mark]: _, ...rest }: Member & { cache_control?: unknown } = member;
    return rest as Member;
  });
}

function toMessage(
  message: Message,
  { messageOmit = reasoningFields, systemRole, cacheControl }: ChatOptions,
): Message {
  const role = toRole(message.role, systemRole);
  const omit = cacheControl === true ? messageOmit : [...messageOmit, mark];
  const { content, tool_calls: calls } = message;
  const hasMarks = cacheControl !== true && (hasMark(content) || hasMark(calls));
  const isKept = (key: string) => !omit.includes(key) && (message[key as keyof Message] !== null || key === "content");
  const keys = Object.keys(message);
  if (role === message.role && !hasMarks && keys.every(isKept)) return message;
  const kept = keys.filter(isKept);
  const copy: Record<string, unknown> = {};
  for (const key of kept) {
    const value: unknown = message[key as keyof Message];
    copy[key] = hasMarks && Array.isArray(value) ? withoutMarks(value) : value;
  }
  copy.role = role;
  return copy as Message;
}

const hasMark = (list: unknown) => Array.isArray(list) && list.some((member: object) => mark in member);

/**
 * A result as text, which is all that this dialect takes there: what else it holds goes into a user message after the
 * results, and one that a client of the Messages protocol marked as failed says so.
 */
function toToolMessage(message: Message & { is_error?: unknown }, media: ContentPart[]): Message {
  const { is_error: isError, content, ...rest } = message;
  const others = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
  if (isError === undefined && others.length === 0) return message;
  media.push(...others);
  let texts = Array.isArray(content) ? content.filter(({ type }) => type === "text") : (content ?? "");
  if (Array.isArray(texts) && texts.length === 0) texts = "The result is in the next message.";
  if (isError !== true) return { ...rest, content: texts };
  return { ...rest, content: Array.isArray(texts) ? [{ type: "text", text: "Error:" }, ...texts] : `Error: ${texts}` };
}

function toRole(role: Message["role"], systemRole: ChatOptions["systemRole"]): Message["role"] {
  return systemRole !== undefined && (role === "system" || role === "developer") ? systemRole : role;
}
