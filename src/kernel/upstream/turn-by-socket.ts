import { UpstreamError } from "../../contract/index.ts";
import type { ServerEvent, SocketMessage, SocketTurn, SteeringMessage } from "../../provider/index.ts";
import { type BodyLimits, type Bytes, ConnectionError, responseTooLongError, type Timeout } from "./http-client.ts";
import type { KeptSocket, WaitingTurn } from "./provider-lanes.ts";
import type { Steering } from "./steering.ts";

export interface TurnBySocketOptions extends Omit<BodyLimits, "reserve"> {
  /** The longest wait for the first event. */
  readonly firstMsMax: number;
  readonly signal: AbortSignal;
  /** Present for a turn that follows a running one, once its provider takes the input. */
  readonly steering?: Steering | undefined;
  reserve(bytes: number): void;
  read(message: string): SocketMessage;
  /** @param refusal Why no answer followed the input that steers the turn before. */
  toTurn(
    last: Record<string, unknown>,
    itemCount: number,
    refusal: SteeringMessage["kind"] | undefined,
  ): {
    turn: SocketTurn | undefined;
    continues: boolean;
    frameLength: number;
  };
  /** It has ended before an answer began. */
  readonly onUnbegun?: (() => void) | undefined;
}

const noBytes = new Uint8Array();

/**
 * The answer to a turn, as bytes and as the events in them. Once its last event came the socket rests until the next turn; where the answer
 * is left before, the socket is closed. A turn that steers waits for the end of the running one, and has the socket then.
 */
export class TurnBySocket implements WaitingTurn {
  readonly #socket: KeptSocket;
  readonly #options: TurnBySocketOptions;
  readonly #timeout: Timeout;
  readonly #abort: () => void;
  #waitMs: number;
  #hasEnded = false;
  /** Bytes that came, and how many were read. */
  #bytes = 0;
  #bytesRead = 0;
  #piece: Bytes = noBytes;
  #itemCount = 0;
  #last: Record<string, unknown> | undefined;
  /** Messages that came with the end of the turn before, and with the end of this one. */
  #ahead: string[] = [];
  readonly #late: string[] = [];
  /** Settled once a turn that steers has the socket, or gets none. */
  readonly #begun: PromiseWithResolvers<void> | undefined;
  #isWaiting = false;
  responseId: string | undefined;
  /** In place of an answer. */
  refusal: Extract<SocketMessage, { kind: "refusal" }> | undefined;
  refusalText = "";
  /** Why no answer follows the input that steers. */
  steeringEnd: SteeringMessage["kind"] | undefined;

  constructor(socket: KeptSocket, options: TurnBySocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#waitMs = options.firstMsMax;
    this.#timeout = options.timeouts.schedule(Number.POSITIVE_INFINITY, options.onIdle);
    this.#abort = () => this.#end(false);
    options.signal.addEventListener("abort", this.#abort);
    if (options.steering === undefined) {
      socket.begin(this, (bytes) => options.reserve(bytes));
      return;
    }
    this.#isWaiting = true;
    this.#begun = Promise.withResolvers();
    this.#begun.promise.catch(() => undefined);
    socket.await(this);
  }

  async send(text: string): Promise<void> {
    const { now, toUpstreamError } = this.#options;
    this.#timeout.atMs = now() + this.#waitMs;
    await this.#socket.send(text);
    if (this.#options.signal.aborted) throw toUpstreamError(this.#options.signal.reason);
    // The running turn may take any time.
    if (this.#isWaiting) this.#timeout.atMs = Number.POSITIVE_INFINITY;
  }

  /** Waits for the end of the running turn. Rejects where the socket is closed before. */
  async whenBegun(): Promise<void> {
    await this.#begun?.promise;
  }

  async read(): Promise<Bytes | undefined> {
    const { now, bytesMax, idleMsMax, toUpstreamError, signal } = this.#options;
    if (this.#ahead.length > 0) return noBytes;
    try {
      this.#timeout.atMs = now() + this.#waitMs;
      const piece = await this.#socket.read();
      this.#timeout.atMs = Number.POSITIVE_INFINITY;
      this.#waitMs = idleMsMax;
      if (signal.aborted) throw signal.reason;
      this.#piece = piece ?? noBytes;
      this.#bytes += this.#piece.byteLength;
      if (this.#bytes > bytesMax) throw responseTooLongError(bytesMax);
      return piece;
    } catch (error) {
      throw toUpstreamError(error);
    }
  }

  push(bytes: Bytes): ServerEvent[] {
    this.#bytesRead += bytes.byteLength;
    const events: ServerEvent[] = [];
    for (const message of [...this.#ahead.splice(0), ...this.#socket.parse(bytes)]) {
      if (typeof message !== "string") {
        throw new UpstreamError("bad_response", "The provider's WebSocket has a message in bytes, expected an event");
      }
      if (this.#isOver) this.#late.push(message);
      else if (this.#take(message)) events.push({ event: "message", data: message });
    }
    // Nobody takes them.
    if (this.#socket.waiting === undefined) this.#late.length = 0;
    return events;
  }

  get #isOver(): boolean {
    return this.#last !== undefined || this.refusal !== undefined || this.steeringEnd !== undefined;
  }

  /** Returns whether a message is part of the answer. */
  #take(message: string): boolean {
    const read = this.#options.read(message);
    if (read.kind === "accepted" || read.kind === "failed" || read.kind === "pending") {
      if (this.#socket.waiting?.hear(read, message) === true) return false;
      if (this.responseId !== undefined || !this.#isOwn(read)) return this.responseId !== undefined;
      this.#options.steering?.onWord(read.kind, message);
      if (read.kind === "accepted") return false;
      this.steeringEnd = read.kind;
      return true;
    }
    if (read.kind === "begun") {
      this.responseId ??= read.id;
      this.#options.steering?.onBegun();
    } else if (read.kind === "item") this.#itemCount++;
    else if (read.kind === "last") this.#last = read.event;
    else if (read.kind === "refusal") {
      this.refusal = read;
      this.refusalText = message;
    } else if (this.#begun !== undefined && this.responseId === undefined) return false;
    return true;
  }

  #isOwn({ responseId }: SteeringMessage): boolean {
    return this.#options.steering?.responseId === responseId;
  }

  // The next four are for a turn that waits.

  reserve(bytes: number): void {
    this.#options.reserve(bytes);
  }

  hear(message: SteeringMessage, text: string): boolean {
    if (!this.#isOwn(message)) return false;
    this.#options.steering?.onWord(message.kind, text);
    if (message.kind === "accepted") return true;
    this.steeringEnd = message.kind;
    this.#socket.leave(this, false);
    this.#begun?.resolve();
    return true;
  }

  begin(ahead: string[]): void {
    this.#isWaiting = false;
    this.#ahead = ahead;
    this.#begun?.resolve();
  }

  lose(): void {
    this.#begun?.reject(new ConnectionError(undefined, true));
  }

  end(): never {
    throw new ConnectionError(undefined, true);
  }

  drain(): void {
    this.#end(true);
  }

  cancel(): void {
    this.#end(true);
  }

  linger(): void {}

  #end(mayRest: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { timeouts, signal, toTurn, onUnbegun } = this.#options;
    timeouts.cancel(this.#timeout);
    signal.removeEventListener("abort", this.#abort);
    if (this.responseId === undefined) onUnbegun?.();
    if (this.#isWaiting) {
      this.#socket.leave(this, this.steeringEnd === undefined);
      this.#begun?.reject(new ConnectionError(undefined, true));
      return;
    }
    const { waiting } = this.#socket;
    // Bytes that nobody read would be missing in front of the next answer.
    if (!mayRest || !this.#isOver || (this.#bytes !== this.#bytesRead && waiting === undefined)) {
      this.#socket.close();
      return;
    }
    const { turn, continues, frameLength } = toTurn(this.#last ?? {}, this.#itemCount, this.steeringEnd);
    const bytes = frameLength + this.#bytesRead;
    if (waiting === undefined) this.#socket.rest(turn, { bytes, continues });
    else this.#handOver(turn, bytes + (continues ? this.#socket.beforeBytes : 0));
  }

  /** The turn that waits gets what came and was not read. */
  #handOver(turn: SocketTurn | undefined, bytes: number): void {
    const ahead = [...this.#late];
    try {
      const unread = this.#piece.subarray(this.#piece.byteLength - (this.#bytes - this.#bytesRead));
      for (const message of this.#socket.parse(unread)) {
        if (typeof message !== "string") throw new TypeError("The provider's WebSocket has a message in bytes");
        ahead.push(message);
      }
    } catch {
      this.#socket.close();
      return;
    }
    this.#socket.handOver(turn, bytes, ahead);
  }
}
