import type { Buffer } from "node:buffer";
import { connectTimeout } from "./connection-fault.ts";
import type { Dial, Line, LinePlace, LineUser } from "./line.ts";

/** What a connection tells whoever uses it. */
export interface ConnectionUser {
  /** It is open, and verified where it is TLS. */
  onOpen(): void;
  onBytes(bytes: Buffer<ArrayBuffer>): void;
  /** The server has sent all it will. */
  onFinished(): void;
  /** It is gone. The last that is said. */
  onLost(error: unknown): void;
}

/** What connections of one origin have in common. */
export interface ConnectionKeeper extends LinePlace {
  readonly dial: Dial;
  readonly connectMsMax: number;
  /** The TLS session that the next connection may resume. */
  session: Uint8Array | undefined;
  forget(connection: Connection): void;
}

/** One socket to a provider, used by one request at a time. */
export class Connection implements LineUser {
  readonly #keeper: ConnectionKeeper;
  readonly #line: Line;
  readonly #timer: ReturnType<typeof setTimeout>;
  #user: ConnectionUser | undefined;
  #isGone = false;
  #isPaused = false;
  /** Whether a request was answered on it before. */
  isReused = false;
  /** When it became idle, and until when it may be taken; milliseconds since 1970. */
  idleUntil = 0;

  constructor(keeper: ConnectionKeeper, user: ConnectionUser) {
    this.#keeper = keeper;
    this.#user = user;
    this.#line = keeper.dial(keeper, this);
    this.#timer = setTimeout(() => this.#lose(connectTimeout()), keeper.connectMsMax);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Gives an idle connection to its next user. */
  take(user: ConnectionUser): void {
    this.isReused = true;
    this.#user = user;
    this.#line.ref();
  }

  /** Whether all that was written has left, so that another request can follow. */
  get isFlushed(): boolean {
    return this.#line.isFlushed;
  }

  /** Takes it from its user, to be idle. An idle connection keeps no process alive. */
  rest(): void {
    this.#user = undefined;
    this.resume();
    this.#line.unref();
  }

  write(head: string, body: string | Uint8Array, isAscii: boolean): void {
    if (typeof body === "string" && body.length < oneWriteCharactersMax) {
      if (isAscii) this.#line.writeAscii(head + body);
      else this.#line.write(head + body);
    } else {
      this.#line.writeAscii(head);
      this.#line.write(body);
    }
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#line.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#line.resume();
  }

  /** Closes it without a word to its user. */
  destroy(): void {
    this.#user = undefined;
    this.#lose(undefined);
  }

  onOpen(): void {
    clearTimeout(this.#timer);
    this.#user?.onOpen();
  }

  onBytes(bytes: Buffer<ArrayBuffer>): void {
    if (this.#isGone) return;
    if (this.#user === undefined) this.destroy();
    else this.#user.onBytes(bytes);
  }

  onFinished(): void {
    if (this.#isGone) return;
    this.#user?.onFinished();
    this.#lose(undefined);
  }

  onClosed(error: unknown): void {
    this.#lose(error);
  }

  onSession(session: Uint8Array): void {
    this.#keeper.session = session;
  }

  #lose(error: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    if (error !== undefined) this.#keeper.session = undefined;
    this.#keeper.forget(this);
    this.#line.destroy();
    const user = this.#user;
    this.#user = undefined;
    user?.onLost(error);
  }
}

/** Head and body shorter than this leave in one write; joining longer ones would cost more than a second write. */
const oneWriteCharactersMax = 65_536;
