import { isRecord } from "../lib/json.ts";
import {
  type Call,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type ChunkChoice,
  mapPieces,
} from "../provider/index.ts";

/** Longer sequences would be searched for again and again. */
const stopCharactersMax = 1000;

/** Limits of the stop sequences that a target takes. The others are applied here. */
export interface StopLimits {
  /** How many it takes. Default: any number. */
  readonly max?: number | undefined;
  /** Whether it takes those of white space alone. Default true. */
  readonly blank?: boolean;
}

/** The stop sequences of a request by where they are applied. */
interface StopPlan {
  /** At the target. */
  there: string[];
  /** To its answer. */
  here: string[];
  /** Nowhere. */
  lost: string[];
}

function planStops({ stop }: ChatRequest, { max = Number.POSITIVE_INFINITY, blank = true }: StopLimits): StopPlan {
  const stops = [...new Set([stop ?? []].flat())].filter((text) => text !== "");
  const isShort = (text: string) => text.length <= stopCharactersMax;
  const sendable = stops.filter((text) => blank || text.trim() !== "");
  // Long ones go first, because they cannot be applied here.
  const there = [...sendable.filter((text) => !isShort(text)), ...sendable.filter(isShort)].slice(0, max);
  const rest = stops.filter((text) => !there.includes(text));
  return { there, here: rest.filter(isShort), lost: rest.filter((text) => !isShort(text)) };
}

/**
 * Sends a request with the stop sequences that the target takes, and ends its answer before the first of the others. A choice that is
 * ended here says by which one.
 *
 * @param send Sends the request. A request whose stop sequences are all taken reaches it as it is.
 *
 * @example
 * const request = { model: "m", messages: [], stop: ["a", "b"] };
 * await withStops({ request }, { max: 1 }, async ({ request: { stop } }) => ({ choices: [], stop })); // => { choices: [], stop: ["a"] }
 */
export function withStops<Event>(
  call: Call<ChatRequest>,
  limits: StopLimits,
  send: (call: Call<ChatRequest>) => Promise<ChatCompletion | ChatStream<Event>>,
): Promise<ChatCompletion | ChatStream<Event>> {
  const { stop } = call.request;
  if (stop === undefined || stop === null) return send(call);
  const plan = planStops(call.request, limits);
  const isTaken = [stop].flat().length <= (limits.max ?? Number.POSITIVE_INFINITY);
  if (isTaken && plan.here.length === 0 && plan.lost.length === 0) return send(call);
  return applyStops(call, plan, send);
}

async function applyStops<Event>(
  call: Call<ChatRequest>,
  { there, here, lost }: StopPlan,
  send: (call: Call<ChatRequest>) => Promise<ChatCompletion | ChatStream<Event>>,
): Promise<ChatCompletion | ChatStream<Event>> {
  if (lost.length > 0) {
    call.warn(
      `Left out of stop what has more than ${stopCharactersMax} characters: the provider does not take it`,
      "stop",
    );
  }
  const answer = await send({ ...call, request: { ...call.request, stop: there.length > 0 ? there : null } });
  if (here.length === 0) return answer;
  return "push" in answer ? stopStream(answer, here) : stopCompletion(answer, here);
}

/** The stop sequence that is complete first, as a model meets them, and where it begins. */
function findStop(text: string, stops: readonly string[]): { stop: string; start: number } | undefined {
  let match: { stop: string; start: number } | undefined;
  let foundEnd = Number.POSITIVE_INFINITY;
  for (const stop of stops) {
    const place = text.indexOf(stop);
    const end = place + stop.length;
    if (place < 0 || end > foundEnd || (end === foundEnd && match !== undefined && place > match.start)) continue;
    match = { stop, start: place };
    foundEnd = end;
  }
  return match;
}

/** Where a stop sequence may have begun that the text does not hold in full yet; its length if nowhere. */
function findBeginning(text: string, stop: string): number {
  const first = stop.charAt(0);
  let place = text.indexOf(first, Math.max(0, text.length - stop.length + 1));
  while (place >= 0 && !stop.startsWith(text.slice(place))) place = text.indexOf(first, place + 1);
  return place < 0 ? text.length : place;
}

/** Ends each choice of an answer before its first stop sequence. */
function stopCompletion(completion: ChatCompletion, stops: readonly string[]): ChatCompletion {
  for (const choice of completion.choices) {
    const { content } = choice.message;
    const match = typeof content === "string" ? findStop(content, stops) : undefined;
    if (match === undefined) continue;
    choice.message.content = (content as string).slice(0, match.start);
    Object.assign(choice, { finish_reason: "stop", stop_sequence: match.stop });
    delete choice.message.tool_calls;
  }
  return completion;
}

/**
 * Ends each choice of a stream before its first stop sequence. The end of the text is held back while a stop sequence
 * can begin in it; usage still comes.
 */
function stopStream<Event>(stream: ChatStream<Event>, stops: readonly string[]): ChatStream<Event> {
  /** The text that is held back, by choice; `undefined` once the choice has stopped. */
  const textOf = new Map<number, string | undefined>();
  return mapPieces(stream, (chunk) => {
    chunk.choices = chunk.choices.filter(
      (choice) => !textOf.has(choice?.index) || textOf.get(choice.index) !== undefined,
    );
    for (const choice of chunk.choices) {
      if (isRecord(choice)) textOf.set(choice.index, stopChoice(choice, textOf.get(choice.index) ?? "", stops));
    }
    return chunk.choices.length > 0 || chunk.usage ? chunk : undefined;
  });
}

/** Returns the text that is held back, or `undefined` when the choice has stopped. */
function stopChoice(choice: ChunkChoice, before: string, stops: readonly string[]): string | undefined {
  const delta = choice.delta ?? {};
  const content = typeof delta.content === "string" ? delta.content : "";
  const text = before + content;
  const match = findStop(text, stops);
  if (match !== undefined) {
    choice.delta = { content: text.slice(0, match.start) };
    choice.finish_reason = "stop";
    choice.stop_sequence = match.stop;
    return undefined;
  }
  const isLast = Boolean(choice.finish_reason || delta.tool_calls);
  const shown = isLast ? text.length : Math.min(...stops.map((stop) => findBeginning(text, stop)));
  if (text !== "") choice.delta = { ...delta, content: text.slice(0, shown) };
  return text.slice(shown);
}
