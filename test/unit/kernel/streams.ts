import type { ChatUsage } from "../../../src/contract/index.ts";
import type { StreamSink } from "../../../src/kernel/index.ts";
import type { AnswerStream, ChatChunk, ChatCompletion, ServerEvent } from "../../../src/provider/index.ts";

export const usage: ChatUsage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

/** A completion as a provider sends it, with the given usage; `undefined` leaves it out. */
export function completionOf(content: string | null, ...given: [unknown?]): ChatCompletion {
  const reported = given.length === 0 ? usage : given[0];
  const message = { role: "assistant" as const, content };
  const choices = [{ index: 0, message, finish_reason: "stop" as const }];
  const head = { id: "theirs", object: "chat.completion" as const, created: 1_780_000_000, model: "theirs" };
  return { ...head, choices, ...(reported === undefined ? {} : { usage: reported as ChatUsage }) };
}

export const textChunk = (content: string, index = 0): ChatChunk => ({ choices: [{ index, delta: { content } }] });
export const finishChunk = (index = 0): ChatChunk => ({ choices: [{ index, delta: {}, finish_reason: "stop" }] });
export const usageChunk = (reported: unknown = usage): ChatChunk => ({ choices: [], usage: reported as ChatUsage });

/** An outlet that keeps what it is given. `reader` may hold the writer back. */
export class Sink<Piece> implements StreamSink<Piece> {
  readonly pieces: Piece[] = [];
  opened = 0;
  reader: (piece: Piece) => Promise<void> | undefined = () => undefined;

  open(): void {
    this.opened++;
  }

  write(piece: Piece): Promise<void> | undefined {
    if (this.opened !== 1) throw new Error(`Written to after ${this.opened} openings`);
    this.pieces.push(piece);
    return this.reader(piece);
  }

  pass(event: ServerEvent): Promise<void> | undefined {
    throw new Error(`Passed an event through to a sink of chunks: ${event.event}`);
  }
}

/** The text that chunks carry, of one choice. */
export const textOf = (chunks: ChatChunk[], index = 0): string =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? "")
    .join("");

/** A stream that yields what it is told, one by one, and says how it was left. */
export class FakeStream<Item = ChatChunk> implements AsyncIterable<Item>, AnswerStream<Item, Item> {
  readonly events = this;
  asked = 0;
  returned = 0;
  readonly #steps: (Item | Error | "hang")[];

  /** An `Error` is thrown, `"hang"` never resolves. */
  constructor(...steps: (Item | Error | "hang")[]) {
    this.#steps = steps;
  }

  push(item: Item): Item[] {
    return [item];
  }

  end(): Item[] {
    return [];
  }

  [Symbol.asyncIterator](): AsyncIterator<Item> {
    let at = 0;
    return {
      next: async () => {
        this.asked++;
        const step = this.#steps[at++];
        if (step === "hang") return new Promise<never>(() => undefined);
        if (step instanceof Error) throw step;
        return step === undefined ? { done: true, value: undefined } : { done: false, value: step as Item };
      },
      return: async () => {
        this.returned++;
        return { done: true, value: undefined };
      },
    };
  }
}
