import { isRecord } from "../../lib/json.ts";
import { type ChatCompletion, type ChatStream, type ChunkChoice, mapPieces } from "../../provider/index.ts";

/**
 * Removes the beginning that the client wrote from an answer. Some providers repeat it, but clients append the answer to it. An
 * answer that begins differently is unchanged.
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

/** Holds the text of a choice back while it repeats the beginning. */
function continueStream<Event>(stream: ChatStream<Event>, beginning: string): ChatStream<Event> {
  /** The number of characters that each choice has repeated; `undefined` once the model goes on. */
  const repeatedOf = new Map<number, number | undefined>();
  return mapPieces(stream, (chunk) => {
    for (const choice of chunk.choices) {
      if (!isRecord(choice)) continue;
      const repeated = repeatedOf.has(choice.index) ? repeatedOf.get(choice.index) : 0;
      if (repeated !== undefined) repeatedOf.set(choice.index, continueChoice(choice, repeated, beginning));
    }
    return chunk;
  });
}

/** Returns the number of characters repeated so far, or `undefined` if the following pieces pass unchanged. */
function continueChoice(choice: ChunkChoice, repeated: number, beginning: string): number | undefined {
  const delta = choice.delta ?? {};
  const piece = typeof delta.content === "string" ? delta.content : "";
  const left = beginning.length - repeated;
  const isRepeated =
    piece.length < left ? beginning.startsWith(piece, repeated) : beginning.endsWith(piece.slice(0, left));
  const isHeld = isRepeated && piece.length < left && !choice.finish_reason && !delta.tool_calls;
  const isWhole = isRepeated && piece.length >= left;
  const shown = isHeld ? "" : isWhole ? piece.slice(left) : beginning.slice(0, repeated) + piece;
  if (shown !== piece) choice.delta = { ...delta, content: shown };
  return isHeld ? repeated + piece.length : undefined;
}
