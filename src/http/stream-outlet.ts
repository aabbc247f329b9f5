import type { Outlet, Progress } from "../kernel/index.ts";

const bufferedBytesMax = 64 * 1024;
/** What every reader of server-sent events ignores. */
const commentBytes = new TextEncoder().encode(": keep-alive\n\n");

/**
 * An outlet whose pieces become the bytes of a response body. When the client reads slower than the provider sends,
 * `write` waits, and so does the provider; when the client leaves, the call is cut and settles.
 */
export class StreamOutlet<Piece> implements Outlet<Piece> {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the head may be sent. */
  readonly opened: Promise<void>;
  readonly #encode: (piece: Piece) => Uint8Array;
  /** Ticks of the {@link KeepAlive} since something was sent. */
  silentTicks = 0;
  isOpen = false;
  #open: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** What everyone waits for whose pieces the reader has not taken yet. */
  #behind: { resumed: Promise<void>; resume: () => void } | undefined;

  constructor(progress: Progress, encode: (piece: Piece) => Uint8Array) {
    this.#encode = encode;
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wake(),
        cancel: () => {
          this.#controller = undefined;
          progress.cut("left");
          this.#wake();
        },
      },
      { highWaterMark: bufferedBytesMax, size: (bytes) => (bytes as Uint8Array).byteLength },
    );
  }

  open(): void {
    this.isOpen = true;
    this.#open();
  }

  write(piece: Piece): Promise<void> | undefined {
    return this.send(this.#encode(piece));
  }

  /** Sends bytes as they are. */
  send(bytes: Uint8Array): Promise<void> | undefined {
    const controller = this.#controller;
    if (controller === undefined) return undefined;
    this.silentTicks = 0;
    controller.enqueue(bytes);
    if ((controller.desiredSize as number) > 0) return undefined;
    if (this.#behind === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#behind = { resumed: promise, resume: resolve };
    }
    return this.#behind.resumed;
  }

  /** Says nothing, aloud: for readers of server-sent events, and not to one who is behind anyway. */
  comment(): void {
    this.open();
    if (this.#behind === undefined) void this.send(commentBytes);
  }

  end(): void {
    this.#controller?.close();
    this.#controller = undefined;
    this.#wake();
  }

  /** Breaks the body off, for answers that cannot carry an error inside. */
  abort(error: unknown): void {
    this.#controller?.error(error);
    this.#controller = undefined;
    this.#wake();
  }

  #wake(): void {
    const behind = this.#behind;
    this.#behind = undefined;
    behind?.resume();
  }
}
