/**
 * Streams are read and written by one loop, `pump`. It waits for two things: the next piece of the provider, and a client that
 * is behind. Everything between is translated without waiting, by machines with `push` and `end`: the parser of events, the
 * stream of a handler, the normalizer and the encoder of the client's format.
 */

import { UpstreamError } from "../contract/index.ts";
import { nextTurn } from "../lib/next-turn.ts";
import type { AnswerStream } from "../provider/index.ts";

/** Marks the kernel's own iterables. Foreign iterables may have a `read` member too, such as streams of Node. */
export const readsBatches: unique symbol = Symbol("reads batches");

/** Items that arrive in batches: what one piece of a body comes to. */
export interface BatchReader<Item> {
  /** The next items, sometimes none; `undefined` at the end. */
  read(): Promise<readonly Item[] | undefined>;
  /** The next items that have already arrived, without waiting; `undefined` if {@link read} must be called. */
  readNow?(): readonly Item[] | undefined;
  /**
   * Hears of each item as it is used. A batch has whatever arrived in one piece, and what is owed for a stream that breaks off
   * must not depend on how its bytes were cut.
   */
  onTake?(item: Item): void;
  /**
   * Waits for the next turn of its account, as a stream with many items does now and then. Absent: a plain turn of the
   * event loop.
   */
  takeTurn?(): Promise<void>;
  /** Reads no more. Repeating it does nothing. */
  cancel(): void;
  /**
   * Reads no more, because all that is needed has been read. The rest is dropped, so the connection can be used again.
   */
  drain?(): void;
  /**
   * All that is needed has been read, except what may follow at once. What does not arrive within a moment, or within
   * `ms`, is not waited for.
   */
  linger?(ms?: number): void;
}

/** Items that are taken before other calls get a turn. */
const itemsPerTurn = 256;
/** A stream has begun after this many items, even if they have no content. */
const firstItemsMax = 64;

export function toReader<Item>(items: AsyncIterable<Item> | Iterable<Item>): BatchReader<Item> {
  return readsBatches in items ? (items as unknown as BatchReader<Item>) : new IteratorReader(items);
}

/** An iterable of a plugin's own, one item at a time. */
class IteratorReader<Item> implements BatchReader<Item> {
  readonly #iterator: AsyncIterator<Item>;

  constructor(items: AsyncIterable<Item> | Iterable<Item>) {
    this.#iterator = withYielding(
      Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : toAsync(items[Symbol.iterator]()),
    );
  }

  async read(): Promise<readonly Item[] | undefined> {
    const { done, value } = await this.#iterator.next();
    return done ? undefined : [value];
  }

  cancel(): void {
    closeIterator(this.#iterator);
  }
}

function toAsync<Item>(iterator: Iterator<Item>): AsyncIterator<Item> {
  return {
    next: async () => iterator.next(),
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
  };
}

/**
 * The pieces of a handler's stream: its translated events. An event is translated once the pieces before it have been
 * used, so what is owed for a stream that breaks off does not depend on how its bytes were cut.
 */
export class StreamReader<Piece> implements BatchReader<Piece> {
  readonly #stream: AnswerStream<Piece>;
  readonly #events: BatchReader<unknown>;
  /** The events that arrived in one piece, and how many of them were translated. */
  #batch: readonly unknown[] = [];
  #translated = 0;
  #hasEnded = false;
  /** The answer is complete, and its report is waited for. */
  #isLingering = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(stream: AnswerStream<Piece>) {
    this.#stream = stream;
    this.#events = toReader(stream.events);
  }

  /** The pieces of one event. */
  async read(): Promise<readonly Piece[] | undefined> {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#hasEnded) return undefined;
    if (this.#translated < this.#batch.length) return this.#translate();
    try {
      const batch = await this.#events.read();
      if (batch === undefined) return this.#end([]);
      this.#batch = batch;
      this.#translated = 0;
    } catch (error) {
      return this.#fail(error);
    }
    return this.#batch.length === 0 ? [] : this.#translate();
  }

  readNow(): readonly Piece[] | undefined {
    const hasMore = this.#translated < this.#batch.length && !this.#hasEnded && this.#failure === undefined;
    return hasMore ? this.#translate() : undefined;
  }

  takeTurn(): Promise<void> {
    return this.#events.takeTurn?.() ?? nextTurn();
  }

  #translate(): readonly Piece[] {
    try {
      const event = this.#batch[this.#translated++];
      this.#events.onTake?.(event);
      const pieces = this.#stream.push(event);
      if (!this.#stream.isComplete || this.#lingers()) return pieces;
      endEarly(this.#events);
      return this.#end(pieces);
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Whether more events are read of an answer that is complete. */
  #lingers(): boolean {
    if (this.#stream.awaitsReport !== true || this.#events.linger === undefined) return false;
    if (!this.#isLingering) this.#events.linger();
    this.#isLingering = true;
    return true;
  }

  #fail(error: unknown): readonly Piece[] {
    // The answer is whole, whatever becomes of its report.
    if (this.#isLingering) {
      this.#events.cancel();
      return this.#end([]);
    }
    this.#failure = { error };
    this.#events.cancel();
    return this.#stream.breakOff?.() ?? [];
  }

  #end(pieces: readonly Piece[]): readonly Piece[] {
    this.#hasEnded = true;
    return [...pieces, ...this.#stream.end()];
  }

  cancel(): void {
    this.#hasEnded = true;
    this.#events.cancel();
  }

  linger(ms?: number): void {
    this.#events.linger?.(ms);
  }
}

/** Time for what follows the reason to finish, such as the report of usage: some servers then never end their stream. */
const finishedMsMax = 10_000;

function endEarly(reader: BatchReader<unknown>): void {
  if (reader.drain === undefined) reader.cancel();
  else reader.drain();
}

/**
 * Reads the beginning of a stream, until another route could no longer serve the call.
 *
 * @param hasBegun Whether an item says something. What it throws is the failure of the stream.
 */
export async function begin<Item>(
  reader: BatchReader<Item>,
  hasBegun: (item: Item) => boolean,
): Promise<BegunStream<Item>> {
  const first: Item[] = [];
  let seen = 0;
  try {
    for (let batch = await reader.read(); batch !== undefined; batch = reader.readNow?.() ?? (await reader.read())) {
      first.push(...batch);
      for (; seen < first.length; seen++) {
        const item = first[seen] as Item;
        reader.onTake?.(item);
        if (hasBegun(item) || seen + 1 >= firstItemsMax) return { first, taken: seen + 1, reader };
      }
    }
    throw new UpstreamError("bad_response", "The provider's stream ended before it began");
  } catch (error) {
    reader.cancel();
    throw error;
  }
}

/** A stream that has begun. */
export interface BegunStream<Item> {
  readonly first: readonly Item[];
  /** How many of the first were looked at already; absent: none. */
  readonly taken?: number;
  readonly reader: BatchReader<Item>;
}

/** How far an answer has come with the items that were taken. */
export interface StreamProgress {
  /** It has said why it ends: what follows is waited for a while. */
  isFinished?(): boolean;
  /** No more items are needed. */
  isComplete?(): boolean;
}

/**
 * Takes all items of a stream, one after the other.
 *
 * @param take Returns a promise where it has to be waited for before the next item.
 */
export async function pump<Item>(
  { first, taken: begun = 0, reader }: BegunStream<Item>,
  take: (item: Item) => Promise<void> | undefined,
  { isFinished, isComplete }: StreamProgress = {},
): Promise<void> {
  let count = 0;
  let isLast = false;
  try {
    for (
      let batch: readonly Item[] | undefined = first;
      batch !== undefined;
      batch = reader.readNow?.() ?? (await reader.read())
    ) {
      for (const item of batch) {
        if (count >= begun) reader.onTake?.(item);
        const drained = take(item);
        if (drained !== undefined) await drained;
        if (isComplete?.()) {
          endEarly(reader);
          return;
        }
        if (!isLast && isFinished?.()) {
          isLast = true;
          reader.linger?.(finishedMsMax);
        }
        if (++count % itemsPerTurn === 0) await (reader.takeTurn?.() ?? nextTurn());
      }
    }
  } catch (error) {
    reader.cancel();
    throw error;
  }
}

/** More chunks than any answer has. */
const chunksMaxDefault = 8_000_000;

/**
 * The chunks of a handler, with a pause now and then: a handler that yields without end and never waits would block the
 * event loop, and so its own deadline.
 */
export function withYielding<Chunk>(
  chunks: AsyncIterator<Chunk>,
  chunksMax: number = chunksMaxDefault,
): AsyncIterator<Chunk> {
  let count = 0;
  const paused: AsyncIterator<Chunk> = {
    next() {
      if (++count % itemsPerTurn !== 0) return chunks.next();
      if (count >= chunksMax) {
        throw new UpstreamError("bad_response", `The plugin's answer has more than ${chunksMax} chunks`);
      }
      return nextTurn().then(() => chunks.next());
    },
  };
  const close = chunks.return?.bind(chunks);
  if (close !== undefined) paused.return = close;
  return paused;
}

/** Closes an iterator early. Errors are ignored. */
function closeIterator(iterator: AsyncIterator<unknown> | undefined): void {
  const close = async () => {
    await iterator?.return?.();
  };
  close().catch(() => undefined);
}
