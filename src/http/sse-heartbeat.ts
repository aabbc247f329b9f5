/** A stream that may fall silent. */
interface Stream {
  /** Ticks since something was sent; whoever sends sets it to 0. */
  silentTicks: number;
  readonly isOpen: boolean;
  /** Sends what a reader ignores, and opens the stream if it is not yet. */
  comment(): void;
}

/** Before its first piece a stream stays closed for a tick more: what a provider refuses, it refuses at once. */
const [ticksOpen, ticksClosed] = [2, 3];

/**
 * Sends comments on streams that are silent because the provider thinks, so that no proxy and no client takes them for
 * dead. One timer for all: a stream pays a number written for each piece.
 */
export class SseHeartbeat {
  readonly #streams = new Set<Stream>();
  readonly #tickMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** A comment goes out every `everyMs` of silence, the first after half of that at the earliest; 0: none does. */
  constructor(everyMs: number) {
    this.#tickMs = everyMs / ticksOpen;
  }

  add(stream: Stream): void {
    if (this.#tickMs === 0) return;
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.tick(), this.#tickMs);
  }

  delete(stream: Stream): void {
    this.#streams.delete(stream);
  }

  /** Called by the timer. */
  tick(): void {
    for (const stream of this.#streams) {
      const most = stream.isOpen ? ticksOpen : ticksClosed;
      if (++stream.silentTicks >= most) stream.comment();
    }
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
