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
function join(first: Message, second: Message, joint: Set<Message>): Message {
  const made = joint.has(first) ? first : { ...first };
  const { content, reasoning_content: thought } = first;
  if (isText(content) && isText(second.content)) {
    made.content = joinTexts(content, second.content);
  } else {
    const parts = made === first && Array.isArray(content) ? content : [...partsOf(first)];
    for (const part of partsOf(second)) parts.push(part);
    made.content = parts;
  }
  if (second.reasoning_content) made.reasoning_content = joinTexts(thought, second.reasoning_content);
  if (second.tool_calls !== undefined) made.tool_calls = second.tool_calls;
  joint.add(made);
  return made;
}

type Text = string | null | undefined;

function isText(content: Message["content"]): content is Text {
  return !Array.isArray(content);
}

/** Grows a text in a time that its length does not change. */
function joinTexts(first: Text, second: Text): string {
  return first && second ? `${first}\n\n${second}` : first || second || "";
}

function partsOf({ content }: Message): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content ?? [];
}
