import type { StreamSink } from "../../kernel/index.ts";

const bufferedBytesMax = 64 * 1024;

/**
 * A response body of bytes. When the client reads slower than the provider sends, `write` applies backpressure; when the
 * client disconnects, the call is cancelled and settled. It can be aborted, which an {@link SseStream} need not be: that
 * carries its errors inside.
 */
export class ByteStream implements StreamSink<Uint8Array> {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the response head may be sent. */
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Backpressure: resolves when the client has read what was written. */
  #backpressure: { resumed: Promise<void>; resume: () => void } | undefined;

  constructor(call: { cancel(): void }) {
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
          call.cancel();
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
    if ((controller.desiredSize as number) <= 0 && this.#backpressure === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#backpressure = { resumed: promise, resume: resolve };
    }
    return this.#backpressure?.resumed;
  }

  end(): void {
    this.#controller?.close();
    this.#controller = undefined;
    this.#wake();
  }

  /** Aborts the body, for formats that cannot carry an error inside. */
  abort(error: unknown): void {
    this.#controller?.error(error);
    this.#controller = undefined;
    this.#wake();
  }

  #wake(): void {
    const backpressure = this.#backpressure;
    this.#backpressure = undefined;
    backpressure?.resume();
  }
}
