import type { ContentPart, Message } from "../../provider/index.ts";
import { answerText, openingText } from "../turn-texts.ts";

/** Mistral's models, whoever serves them: its own API and the templates of the models refuse the same conversations. */
const strictModels = /(?:mi|mini|magi|code|dev)stral|pixtral|voxtral|mixtral/i;

/** Whether a model, by its name at the provider, takes the turns of a conversation in one order only. */
export function takesStrictTurns(upstreamId: string): boolean {
  return strictModels.test(upstreamId);
}

/**
 * A conversation in the order that Mistral's models take: system messages are the first, the user follows in one message
 * at a time, an answer stands between results of tools and the user's next words, and no answer is empty. Agents write other orders: reminders behind
 * results, pictures of results, answers that were cut off.
 *
 * @param takesPrefix Whether the provider takes the mark of a last answer that the model is to go on with.
 * @returns The list itself where nothing changes.
 *
 * @see https://github.com/mistralai/mistral-common (the validator of requests)
 *
 * @example
 * toStrictTurns([{ role: "assistant", content: "Hello" }, { role: "user", content: "Hi" }], false)[0].role; // => "user"
 */
export function toStrictTurns(messages: readonly Message[], takesPrefix: boolean): readonly Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    if (isEmptyAnswer(message)) continue;
    const last = turns.at(-1);
    const isSystem = isSystemMessage(message);
    const isLate = isSystem && last !== undefined && !isSystemMessage(last);
    const isByUser = message.role === "user" || isLate;
    if (isByUser && last?.role === "tool") turns.push({ role: "assistant", content: answerText });
    if (message.role === "assistant" && (last === undefined || isSystemMessage(last)))
      turns.push({ role: "user", content: openingText });
    if (isByUser && last?.role === "user") turns[turns.length - 1] = joined(last, message);
    else turns.push(isLate ? { ...message, role: "user" } : message);
  }
  const last = turns.at(-1);
  const goesOn = takesPrefix && last?.role === "assistant" && !last.tool_calls?.length && !("prefix" in last);
  if (goesOn) turns[turns.length - 1] = Object.assign({ ...last }, { prefix: true });
  return turns.length === messages.length && turns.every((turn, index) => turn === messages[index]) ? messages : turns;
}

function isSystemMessage({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

function isEmptyAnswer({ role, content, tool_calls: calls }: Message): boolean {
  return role === "assistant" && !content?.length && !calls?.length;
}

/** Two messages of the user in one. */
function joined(first: Message, second: Message): Message {
  const { content } = first;
  const isText = typeof content === "string" && typeof second.content === "string";
  return { ...first, content: isText ? `${content}\n\n${second.content}` : [...partsOf(first), ...partsOf(second)] };
}

function partsOf({ content }: Message): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content ?? [];
}
