import type { Outlet, Progress } from "../kernel/index.ts";

const bufferedBytesMax = 64 * 1024;

/**
 * An outlet whose pieces are the bytes of a response body. When the client reads slower than the provider sends, `write`
 * waits, and so does the provider; when the client leaves, the call is cut and settles. It can be broken off, which a
 * body of events ({@link SseStream}) need not be: those say what went wrong.
 */
export class ByteStream implements Outlet<Uint8Array> {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the head may be sent. */
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** What everyone waits for whose pieces the reader has not taken yet. */
  #behind: { resumed: Promise<void>; resume: () => void } | undefined;

  constructor(progress: Progress) {
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
    this.#open();
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    const controller = this.#controller;
    if (controller === undefined) return undefined;
    controller.enqueue(bytes);
    if ((controller.desiredSize as number) <= 0 && this.#behind === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#behind = { resumed: promise, resume: resolve };
    }
    return this.#behind?.resumed;
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
