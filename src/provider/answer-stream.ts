import type { ChatChunk } from "./chat.ts";

/**
 * A streamed answer of a handler: the provider's events (or bytes), and their translation. The kernel reads the events and writes
 * the pieces; `push` and `end` only translate, and wait for nothing.
 *
 * @example
 * const stream = fromIterable([{ choices: [{ index: 0, delta: { content: "Hi" } }] }]);
 * [...stream.events].flatMap((event) => stream.push(event)).length; // => 1
 */
export interface AnswerStream<Piece, Event = unknown> {
  /** The provider's events in order: from `upstream.events` or `upstream.bytes`, or an iterable of your own. */
  readonly events: AsyncIterable<Event> | Iterable<Event>;
  /**
   * Returns the pieces that an event adds, often one.
   *
   * @throws {UpstreamError} When the event is an error, or cannot be read. Earlier pieces are sent all the same.
   */
  push(event: Event): readonly Piece[];
  /**
   * Returns the remaining pieces. Called once, when the events have ended or the answer is complete.
   *
   * @throws {UpstreamError} `bad_response` when the events ended before the answer did.
   */
  end(): readonly Piece[];
  /** Whether the answer is complete and needs no more events. Absent: it is complete when the events end. */
  readonly isComplete?: boolean;
  /**
   * Whether the complete answer still lacks its usage report: events that come within a moment are still pushed.
   * Absent: nothing of use follows a complete answer.
   */
  readonly awaitsReport?: boolean;
  /** Returns the remaining pieces of an answer that broke off, such as a piece with the usage so far. */
  breakOff?(): readonly Piece[];
}

/** A streamed answer of a chat handler. */
export type ChatStream<Event = unknown> = AnswerStream<ChatChunk, Event>;

/**
 * The stream of a handler that makes its pieces by itself, such as a generator.
 *
 * @example
 * async function* toChunks() {
 *   yield { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] };
 * }
 * Object.keys(fromIterable(toChunks())); // => ["events", "push", "end"]
 */
export function fromIterable<Piece, Pieces extends AsyncIterable<Piece> | Iterable<Piece>>(
  pieces: Pieces & (AsyncIterable<Piece> | Iterable<Piece>),
) {
  return { events: pieces, push: (piece: Piece): Piece[] => [piece], end: (): Piece[] => [] };
}

/** Changes the pieces of a stream. A piece is left out if `change` returns `undefined` for it. */
export function mapPieces<Piece, Event>(
  stream: AnswerStream<Piece, Event>,
  change: (piece: Piece) => Piece | undefined,
): AnswerStream<Piece, Event> {
  const changeAll = (pieces: readonly Piece[]) => pieces.map(change).filter((piece) => piece !== undefined);
  return {
    events: stream.events,
    push: (event) => changeAll(stream.push(event)),
    end: () => changeAll(stream.end()),
    breakOff: () => changeAll(stream.breakOff?.() ?? []),
    get isComplete() {
      return stream.isComplete === true;
    },
    get awaitsReport() {
      return stream.awaitsReport === true;
    },
  };
}
