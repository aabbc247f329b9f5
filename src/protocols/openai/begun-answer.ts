import { isRecord } from "../../lib/json.ts";
import { type ChatCompletion, type ChatStream, type ChunkChoice, mapPieces } from "../../provider/index.ts";

/**
 * An answer that the client began itself, without that beginning: some providers repeat it, and clients put both together. An answer
 * that begins otherwise stays as it is.
 *
 * @example
 * const choices = [{ index: 0, message: { role: "assistant", content: "{\"a\":1}" }, finish_reason: "stop" }];
 * withoutBeginning({ choices }, "{").choices[0].message.content; // => "\"a\":1}"
 */
export function withoutBeginning<Answer extends ChatCompletion | ChatStream<Event>, Event>(
  answer: Answer,
  beginning: string,
): Answer | ChatStream<Event> {
  if ("push" in answer) return continueStream(answer as ChatStream<Event>, beginning);
  for (const { message } of answer.choices) {
    const { content } = message;
    if (typeof content === "string" && content.startsWith(beginning)) message.content = content.slice(beginning.length);
  }
  return answer;
}

/** The text of a choice is held back for as long as it is the beginning, or a part of it. */
function continueStream<Event>(stream: ChatStream<Event>, beginning: string): ChatStream<Event> {
  /** The text that is held back, by choice; `undefined` once what follows is the model's. */
  const heldOf = new Map<number, string | undefined>();
  return mapPieces(stream, (chunk) => {
    for (const choice of chunk.choices) {
      if (!isRecord(choice) || (heldOf.has(choice.index) && heldOf.get(choice.index) === undefined)) continue;
      heldOf.set(choice.index, continueChoice(choice, heldOf.get(choice.index) ?? "", beginning));
    }
    return chunk;
  });
}

/** Returns the text that is held back, or `undefined` where the rest is given out as it comes. */
function continueChoice(choice: ChunkChoice, held: string, beginning: string): string | undefined {
  const delta = choice.delta ?? {};
  const text = held + (typeof delta.content === "string" ? delta.content : "");
  const isLast = Boolean(choice.finish_reason || delta.tool_calls);
  const isBeginning = text.startsWith(beginning);
  const isHeld = !isBeginning && !isLast && beginning.startsWith(text);
  const shown = isHeld ? "" : isBeginning ? text.slice(beginning.length) : text;
  if (text !== "") choice.delta = { ...delta, content: shown };
  return isHeld ? text : undefined;
}
