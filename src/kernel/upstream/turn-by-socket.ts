import { UpstreamError } from "../../contract/index.ts";
import type { ServerEvent, SocketMessage, SocketTurn } from "../../provider/index.ts";
import { type BodyLimits, type Bytes, ConnectionError, responseTooLongError, type Timeout } from "./http-client.ts";
import type { KeptSocket } from "./provider-lanes.ts";

interface TurnBySocketOptions extends Omit<BodyLimits, "reserve"> {
  /** The longest wait for the first event. */
  readonly firstMsMax: number;
  readonly signal: AbortSignal;
  reserve(bytes: number): void;
  read(message: string): SocketMessage;
  toTurn(
    last: Record<string, unknown>,
    itemCount: number,
  ): {
    turn: SocketTurn | undefined;
    continues: boolean;
    frameLength: number;
  };
}

/**
 * The answer to a turn, as bytes and as the events in them. Once its last event came the socket rests until the next turn; where the answer
 * is left before, the socket is closed.
 */
export class TurnBySocket {
  readonly #socket: KeptSocket;
  readonly #options: TurnBySocketOptions;
  readonly #timeout: Timeout;
  readonly #abort: () => void;
  #waitMs: number;
  #hasEnded = false;
  /** Bytes that came, and how many were read. */
  #bytes = 0;
  #bytesRead = 0;
  #itemCount = 0;
  #last: Record<string, unknown> | undefined;
  /** In place of an answer. */
  refusal: Extract<SocketMessage, { kind: "refusal" }> | undefined;
  refusalText = "";

  constructor(socket: KeptSocket, options: TurnBySocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#waitMs = options.firstMsMax;
    this.#timeout = options.timeouts.schedule(Number.POSITIVE_INFINITY, options.onIdle);
    this.#abort = () => this.#end(false);
    options.signal.addEventListener("abort", this.#abort);
    socket.begin((bytes) => options.reserve(bytes));
  }

  async send(text: string): Promise<void> {
    const { now, toUpstreamError } = this.#options;
    this.#timeout.atMs = now() + this.#waitMs;
    await this.#socket.send(text);
    if (this.#options.signal.aborted) throw toUpstreamError(this.#options.signal.reason);
  }

  async read(): Promise<Bytes | undefined> {
    const { now, bytesMax, idleMsMax, toUpstreamError, signal } = this.#options;
    try {
      this.#timeout.atMs = now() + this.#waitMs;
      const piece = await this.#socket.read();
      this.#timeout.atMs = Number.POSITIVE_INFINITY;
      this.#waitMs = idleMsMax;
      if (signal.aborted) throw signal.reason;
      this.#bytes += piece?.byteLength ?? 0;
      if (this.#bytes > bytesMax) throw responseTooLongError(bytesMax);
      return piece;
    } catch (error) {
      throw toUpstreamError(error);
    }
  }

  push(bytes: Bytes): ServerEvent[] {
    this.#bytesRead += bytes.byteLength;
    const events: ServerEvent[] = [];
    for (const message of this.#socket.parse(bytes)) {
      if (typeof message !== "string") {
        throw new UpstreamError("bad_response", "The provider's WebSocket has a message in bytes, expected an event");
      }
      if (this.#last !== undefined || this.refusal !== undefined) continue;
      const read = this.#options.read(message);
      if (read.kind === "item") this.#itemCount++;
      else if (read.kind === "last") this.#last = read.event;
      else if (read.kind === "refusal") {
        this.refusal = read;
        this.refusalText = message;
      }
      events.push({ event: "message", data: message });
    }
    return events;
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
    const { timeouts, signal, toTurn } = this.#options;
    timeouts.cancel(this.#timeout);
    signal.removeEventListener("abort", this.#abort);
    const isOver = this.#last !== undefined || this.refusal !== undefined;
    // Bytes that nobody read would be missing in front of the next answer.
    if (!mayRest || !isOver || this.#bytes !== this.#bytesRead) {
      this.#socket.close();
      return;
    }
    const { turn, continues, frameLength } = toTurn(this.#last ?? {}, this.#itemCount);
    this.#socket.rest(turn, { bytes: frameLength + this.#bytesRead, continues });
  }
}
