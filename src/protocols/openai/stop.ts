import type { ChatChunk, ChatCompletion, ChatRequest, ChunkChoice } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { ChatOptions } from "./options.ts";

/** Longer sequences would be searched for again and again. */
const stopCharactersMax = 1000;

/** The stop sequences that are applied here, because the model does not take `stop`. */
export function getStops({ stop }: ChatRequest, { omit }: ChatOptions): string[] {
  const stops = [stop ?? []].flat().filter((text) => text !== "");
  return omit?.includes("stop") && stops.every((text) => text.length <= stopCharactersMax) ? stops : [];
}

/** Where the stop sequence begins that is complete first, as a model meets them; -1 without one. */
function findStop(text: string, stops: readonly string[]): number {
  let [found, foundEnd] = [-1, Number.POSITIVE_INFINITY];
  for (const stop of stops) {
    const place = text.indexOf(stop);
    const end = place + stop.length;
    if (place < 0 || end > foundEnd || (end === foundEnd && place > found)) continue;
    [found, foundEnd] = [place, end];
  }
  return found;
}

/** Where a stop sequence may have begun that the text does not hold in full yet; its length if nowhere. */
function findBeginning(text: string, stop: string): number {
  const first = stop.charAt(0);
  let place = text.indexOf(first, Math.max(0, text.length - stop.length + 1));
  while (place >= 0 && !stop.startsWith(text.slice(place))) place = text.indexOf(first, place + 1);
  return place < 0 ? text.length : place;
}

/** Ends each choice of an answer before its first stop sequence. */
export function stopCompletion(completion: ChatCompletion, stops: readonly string[]): ChatCompletion {
  for (const choice of completion.choices) {
    const { content } = choice.message;
    const place = typeof content === "string" ? findStop(content, stops) : -1;
    if (place < 0) continue;
    choice.message.content = (content as string).slice(0, place);
    choice.finish_reason = "stop";
    delete choice.message.tool_calls;
  }
  return completion;
}

/** The same in a stream. The end of the text is held back while a stop sequence can begin in it; usage still comes. */
export async function* stopChunks(
  chunks: AsyncIterable<ChatChunk>,
  stops: readonly string[],
): AsyncGenerator<ChatChunk> {
  /** The text that is held back, by choice; `undefined` once the choice has stopped. */
  const held = new Map<number, string | undefined>();
  for await (const chunk of chunks) {
    chunk.choices = chunk.choices.filter((choice) => !held.has(choice?.index) || held.get(choice.index) !== undefined);
    for (const choice of chunk.choices) {
      if (isRecord(choice)) held.set(choice.index, stopChoice(choice, held.get(choice.index) ?? "", stops));
    }
    if (chunk.choices.length > 0 || chunk.usage) yield chunk;
  }
}

/** Returns the text that is held back, or `undefined` when the choice has stopped. */
function stopChoice(choice: ChunkChoice, before: string, stops: readonly string[]): string | undefined {
  const delta = choice.delta ?? {};
  const content = typeof delta.content === "string" ? delta.content : "";
  const text = before + content;
  const place = findStop(text, stops);
  if (place >= 0) {
    choice.delta = { content: text.slice(0, place) };
    choice.finish_reason = "stop";
    return undefined;
  }
  const isLast = Boolean(choice.finish_reason || delta.tool_calls);
  const shown = isLast ? text.length : Math.min(...stops.map((stop) => findBeginning(text, stop)));
  if (text !== "") choice.delta = { ...delta, content: text.slice(0, shown) };
  return text.slice(shown);
}
