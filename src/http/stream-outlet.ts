import { clearImmediate, setImmediate } from "node:timers";
import type { Outlet, Progress } from "../kernel/index.ts";

const bufferedBytesMax = 64 * 1024;
/** Text that is not sent yet does not grow beyond this, in characters. */
const gatheredMax = 16 * 1024;
/** What every reader of server-sent events ignores. */
const comment = ": keep-alive\n\n";
const encoder = new TextEncoder();

/**
 * An outlet whose pieces become the bytes of a response body. When the client reads slower than the provider sends,
 * `write` waits, and so does the provider; when the client leaves, the call is cut and settles. Text that comes in one
 * turn of the event loop leaves together at its end, as most of what a piece costs does not grow with its length; the
 * first leaves at once.
 */
export class StreamOutlet<Piece> implements Outlet<Piece> {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves when the head may be sent. */
  readonly opened: Promise<void>;
  readonly #encode: (piece: Piece) => string | Uint8Array;
  /** Ticks of the {@link KeepAlive} since something was sent. */
  silentTicks = 0;
  isOpen = false;
  #open: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasSent = false;
  #gathered = "";
  #flushSoon: NodeJS.Immediate | undefined;
  /** What everyone waits for whose pieces the reader has not taken yet. */
  #behind: { resumed: Promise<void>; resume: () => void } | undefined;

  constructor(progress: Progress, encode: (piece: Piece) => string | Uint8Array) {
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
          this.#close();
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

  /** Sends text or bytes as they are. */
  send(data: string | Uint8Array): Promise<void> | undefined {
    if (this.#controller === undefined) return undefined;
    this.silentTicks = 0;
    if (typeof data !== "string") {
      this.#flush();
      this.#enqueue(data);
    } else {
      this.#gathered += data;
      if (!this.#hasSent || this.#gathered.length >= gatheredMax) this.#flush();
      else this.#flushSoon ??= setImmediate(() => this.#flush());
    }
    return this.#behind?.resumed;
  }

  /** Says nothing, aloud: for readers of server-sent events, and not to one who is behind anyway. */
  comment(): void {
    this.open();
    if (this.#behind === undefined) void this.send(comment);
  }

  end(): void {
    this.#flush();
    this.#controller?.close();
    this.#close();
    this.#wake();
  }

  /** Breaks the body off, for answers that cannot carry an error inside. */
  abort(error: unknown): void {
    this.#controller?.error(error);
    this.#close();
    this.#wake();
  }

  #flush(): void {
    const text = this.#gathered;
    clearImmediate(this.#flushSoon);
    this.#flushSoon = undefined;
    if (text === "") return;
    this.#gathered = "";
    this.#enqueue(encoder.encode(text));
  }

  #enqueue(bytes: Uint8Array): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    this.#hasSent = true;
    controller.enqueue(bytes);
    if ((controller.desiredSize as number) > 0 || this.#behind !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#behind = { resumed: promise, resume: resolve };
  }

  #close(): void {
    clearImmediate(this.#flushSoon);
    this.#flushSoon = undefined;
    this.#gathered = "";
    this.#controller = undefined;
  }

  #wake(): void {
    const behind = this.#behind;
    this.#behind = undefined;
    behind?.resume();
  }
}
