import type { StreamSink } from "../../kernel/index.ts";
import type { ServerEvent } from "../../provider/index.ts";

/** Text that is buffered until Bun pulls the body, in characters. */
const bufferedCharactersMax = 64 * 1024;
/** A comment, which readers of server-sent events ignore. */
const comment = ": keep-alive\n\n";

/** The controller of Bun's streams of type `direct`. What is written in one turn of the event loop is sent together. */
interface DirectController {
  /** Returns a promise when the socket is full. */
  write(text: string): number | Promise<number>;
  end(): void;
}

/** How a format writes what is no chunk of an answer. */
interface SseFormat {
  /** A provider's own event as it is passed through; `undefined`: it is not sent. Absent: each is sent as it came. */
  pass?(event: ServerEvent): ServerEvent | undefined;
  /** The text that keeps a silent stream alive; `undefined`: a comment. */
  heartbeat?(): string | undefined;
  /** Nothing is sent before the answer has begun, however long that takes. */
  readonly isHeld?: boolean;
}

/** An event as it goes over the wire. */
export function formatEvent({ event, data }: ServerEvent): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/**
 * A response body of server-sent events. It is a Bun "direct" stream, which takes text and costs half of a standard
 * stream per chunk. When the client reads slower than the provider sends, `write` applies backpressure; when the client
 * disconnects, the call is cancelled and settled.
 */
export class SseStream<Chunk> implements StreamSink<Chunk> {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encode: (chunk: Chunk) => string;
  readonly #format: SseFormat;
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  /** Ticks of the {@link SseHeartbeat} since something was sent. */
  silentTicks = 0;
  isOpen = false;
  #controller: DirectController | undefined;
  #buffered = "";
  #isClosed = false;
  /** Backpressure: resolves when the client has read what was written. */
  #backpressure: Promise<void> | undefined;
  #onPull: (() => void) | undefined;

  constructor(call: { cancel(): void }, encode: (chunk: Chunk) => string, format: SseFormat = {}) {
    this.#encode = encode;
    this.#format = format;
    this.body = new ReadableStream({
      type: "direct",
      pull: (controller: DirectController) => this.#start(controller),
      cancel: () => {
        this.#close();
        call.cancel();
      },
    } as unknown as UnderlyingDefaultSource<Uint8Array>);
  }

  /** Resolves when the response head may be sent. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  open(): void {
    this.isOpen = true;
    this.#opened.resolve();
  }

  write(chunk: Chunk): Promise<void> | undefined {
    return this.send(this.#encode(chunk));
  }

  /** Sends an event that is in the client's own wire format. */
  pass(event: ServerEvent): Promise<void> | undefined {
    const passedEvent = this.#format.pass === undefined ? event : this.#format.pass(event);
    return passedEvent === undefined ? this.#backpressure : this.send(formatEvent(passedEvent));
  }

  /** Sends text without encoding it. */
  send(text: string): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    if (text === "") return this.#backpressure;
    this.silentTicks = 0;
    const controller = this.#controller;
    if (controller === undefined) return this.#buffer(text);
    const written = controller.write(text);
    if (written instanceof Promise) this.#wait(written);
    return this.#backpressure;
  }

  /** Writes a heartbeat, unless the client is already behind. */
  beat(): void {
    if (this.#format.isHeld === true && !this.isOpen) return;
    this.open();
    if (this.#backpressure === undefined) void this.send(this.#format.heartbeat?.() ?? comment);
  }

  end(): void {
    this.#controller?.end();
    this.#close();
  }

  #start(controller: DirectController): Promise<void> | undefined {
    const buffered = this.#buffered;
    this.#buffered = "";
    if (buffered !== "") controller.write(buffered);
    this.#onPull?.();
    if (this.#isClosed) {
      controller.end();
      return undefined;
    }
    this.#controller = controller;
    return this.#closed.promise;
  }

  /** Buffers text until the body is pulled. */
  #buffer(text: string): Promise<void> | undefined {
    this.#buffered += text;
    if (this.#buffered.length < bufferedCharactersMax || this.#backpressure !== undefined) return this.#backpressure;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPull = resolve;
    this.#wait(promise);
    return this.#backpressure;
  }

  #wait(written: Promise<unknown>): void {
    const drained = () => {
      if (this.#backpressure === backpressure) this.#backpressure = undefined;
    };
    // A disconnected client is not an error of the writer.
    const backpressure: Promise<void> = written.then(drained, drained);
    this.#backpressure = backpressure;
  }

  #close(): void {
    this.#isClosed = true;
    this.#controller = undefined;
    this.#onPull?.();
    this.#closed.resolve();
  }
}

/** A stream that may be silent for a while. */
interface SilentStream {
  /** Ticks since something was sent; reset to 0 by the sender. */
  silentTicks: number;
  readonly isOpen: boolean;
  /** Sends a heartbeat, and opens the stream if it is not open yet. */
  beat(): void;
}

/** Before its first chunk a stream stays closed for one more tick: most errors of a provider come quickly. */
const [ticksOpen, ticksClosed] = [2, 3];

/**
 * Keeps streams alive that are silent while the provider works: no proxy or client times out. One timer serves
 * all streams: the cost per chunk is one number written.
 */
export class SseHeartbeat {
  readonly #streams = new Set<SilentStream>();
  readonly #tickMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param everyMs Silence between heartbeats; the first comes after half of it or later. 0 turns them off. */
  constructor(everyMs: number) {
    this.#tickMs = everyMs / ticksOpen;
  }

  add(stream: SilentStream): void {
    if (this.#tickMs === 0) return;
    this.#streams.add(stream);
    // It does not keep a process alive that has shut down.
    this.#timer ??= setInterval(() => this.tick(), this.#tickMs).unref();
  }

  delete(stream: SilentStream): void {
    this.#streams.delete(stream);
  }

  /** Called by the timer. */
  tick(): void {
    for (const stream of this.#streams) {
      const most = stream.isOpen ? ticksOpen : ticksClosed;
      if (++stream.silentTicks >= most) stream.beat();
    }
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
