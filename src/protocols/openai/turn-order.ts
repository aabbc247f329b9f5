import type { ContentPart, Message, Model } from "../../provider/index.ts";
import type { ChatOptions } from "./request.ts";

/**
 * The conversations that a model takes. `any`: each. `oneSystem`: a single system message, which is the first. `strict`: that, and
 * turns of the user and the model that alternate.
 */
export type TurnOrder = "any" | "oneSystem" | "strict";

/** The user's turn before a conversation that begins with an answer. */
export const openingText = "Begin.";
/** The answer between the results of tools and the user's next words. */
const answerText = "Understood.";

/** Models whose templates refuse other conversations, whoever serves them. Mistral's own API refuses them, too. */
const strictModels = /(?:mi|mini|magi|code|dev)stral|pixtral|voxtral|mixtral|gemma/i;
const oneSystemModels = /qwen/i;

/** The conversations that a model takes at a provider. One that does not know the role `developer` serves models by their templates. */
export function turnOrderOf({ upstreamId }: Pick<Model, "upstreamId">, { systemRole }: ChatOptions): TurnOrder {
  if (strictModels.test(upstreamId)) return "strict";
  return systemRole === "system" || oneSystemModels.test(upstreamId) ? "oneSystem" : "any";
}

/**
 * Puts a conversation in the order that a model takes. Agents write other orders: instructions and reminders between turns, images
 * behind the results of tools, answers that were cut off.
 *
 * - System messages at the beginning become one. A later one becomes the user's words, in its place.
 * - `strict`: the user is the first, and the user and the model speak in one message at a time; an answer is put between results
 *   of tools and the user's next words; no answer is empty. Messages that are added are one word long.
 *
 * @param takesPrefix Whether the provider takes the mark of a last answer that the model is to go on with.
 * @returns The list itself where nothing changes.
 *
 * @see https://github.com/mistralai/mistral-common (the validator of requests)
 *
 * @example
 * toTurnOrder([{ role: "user", content: "a" }, { role: "system", content: "b" }], "oneSystem")[1].role; // => "user"
 */
export function toTurnOrder(messages: readonly Message[], order: TurnOrder, takesPrefix = false): readonly Message[] {
  if (order === "any") return messages;
  const isStrict = order === "strict";
  const turns: Message[] = [];
  const joint = new Set<Message>();
  for (const message of messages) {
    if (isStrict && isEmptyAnswer(message)) continue;
    const last = turns.at(-1);
    const isFirst = last === undefined || isSystem(last);
    const turn: Message = isSystem(message) && !isFirst ? { ...message, role: "user" } : message;
    if (isStrict && turn.role === "user" && last?.role === "tool")
      turns.push({ role: "assistant", content: answerText });
    if (isStrict && turn.role === "assistant" && isFirst) turns.push({ role: "user", content: openingText });
    const isSame = last !== undefined && (last.role === turn.role || (isSystem(last) && isSystem(turn)));
    const isJoined = isSystem(turn) || (isStrict && (turn.role === "user" || !last?.tool_calls?.length));
    if (isSame && isJoined) turns[turns.length - 1] = join(last, turn, joint);
    else turns.push(turn);
  }
  const last = turns.at(-1);
  const goesOn = isStrict && takesPrefix && last?.role === "assistant" && !last.tool_calls?.length;
  if (goesOn && !("prefix" in last)) turns[turns.length - 1] = Object.assign({ ...last }, { prefix: true });
  return turns.length === messages.length && turns.every((turn, index) => turn === messages[index]) ? messages : turns;
}

function isSystem({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

function isEmptyAnswer({ role, content, tool_calls: calls }: Message): boolean {
  return role === "assistant" && !content?.length && !calls?.length;
}

/**
 * Two messages in one. Of two answers the first has no calls.
 *
 * @param joint Those that were made here of others. They are added to, not copied: a request may have thousands of messages.
 */
function join(first: ReasonedMessage, second: ReasonedMessage, joint: Set<Message>): Message {
  const isOwn = joint.has(first);
  const made = isOwn ? first : { ...first };
  joint.add(made);
  const { content, reasoning_details: details } = first;
  if (isText(content) && isText(second.content)) made.content = joinTexts(content, second.content);
  else made.content = append(partsOf(first), partsOf(second), isOwn);
  for (const field of ["reasoning_content", "reasoning"] as const)
    if (second[field]) made[field] = joinTexts(first[field], second[field]);
  if (Array.isArray(details) || Array.isArray(second.reasoning_details))
    made.reasoning_details = append(listOf(details), listOf(second.reasoning_details), isOwn);
  if (second.tool_calls !== undefined) made.tool_calls = second.tool_calls;
  return made;
}

/** Appends to the first list, or to a copy of it if others have it too. */
function append<Item>(first: Item[], second: readonly Item[], isOwn: boolean): Item[] {
  const list = isOwn ? first : [...first];
  for (const item of second) list.push(item);
  return list;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

type Text = string | null | undefined;
/** A message with the reasoning fields of all providers. */
type ReasonedMessage = Message & { reasoning?: Text; reasoning_details?: unknown };

function isText(content: Message["content"]): content is Text {
  return !Array.isArray(content);
}

/** Concatenates without copying, so that thousands of messages take linear time. */
function joinTexts(first: Text, second: Text): string {
  return first && second ? `${first}\n\n${second}` : first || second || "";
}

function partsOf({ content }: Message): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content ?? [];
}
