/** A stream that may be silent for a while. */
interface Stream {
  /** Ticks since something was sent; reset to 0 by the sender. */
  silentTicks: number;
  readonly isOpen: boolean;
  /** Sends a comment, and opens the stream if it is not open yet. */
  comment(): void;
}

/** Before its first chunk a stream stays closed for one more tick: most errors of a provider come quickly. */
const [ticksOpen, ticksClosed] = [2, 3];

/**
 * Sends comments on streams that are silent while the provider works, so that no proxy or client times out. One timer for
 * all streams: the cost per chunk is one number written.
 */
export class SseHeartbeat {
  readonly #streams = new Set<Stream>();
  readonly #tickMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param everyMs Silence between comments, the first after half of it at the earliest; 0 turns them off. */
  constructor(everyMs: number) {
    this.#tickMs = everyMs / ticksOpen;
  }

  add(stream: Stream): void {
    if (this.#tickMs === 0) return;
    this.#streams.add(stream);
    // It does not keep a process alive that has shut down.
    this.#timer ??= setInterval(() => this.tick(), this.#tickMs).unref();
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
