import type { Buffer } from "node:buffer";
import { connect, type LookupFunction, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecure } from "node:tls";
import { connectTimeout } from "./connection-fault.ts";
import type { Target } from "./target.ts";

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
export interface ConnectionKeeper {
  readonly target: Target;
  readonly tls: ConnectionOptions;
  readonly connectMsMax: number;
  /** Says at which addresses a host name may be reached; absent: the system does. */
  readonly lookup: LookupFunction | undefined;
  /** The TLS session that the next connection may resume. */
  session: Uint8Array | undefined;
  forget(connection: Connection): void;
}

/** One socket to a provider, used by one request at a time. */
export class Connection {
  readonly #keeper: ConnectionKeeper;
  readonly #socket: Socket;
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
    this.#socket = openSocket(keeper);
    this.#timer = setTimeout(() => this.#lose(connectTimeout()), keeper.connectMsMax);
    this.#listen();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Gives an idle connection to its next user. */
  take(user: ConnectionUser): void {
    this.isReused = true;
    this.#user = user;
    this.#socket.ref();
  }

  /** Whether all that was written has left, so that another request can follow. */
  get isFlushed(): boolean {
    return this.#socket.writableLength === 0;
  }

  /** Takes it from its user, to be idle. An idle connection keeps no process alive. */
  rest(): void {
    this.#user = undefined;
    this.resume();
    this.#socket.unref();
  }

  write(head: string, body: string | Uint8Array, isAscii: boolean): void {
    if (typeof body !== "string") {
      this.#socket.write(head, "latin1");
      this.#socket.write(body);
    } else if (body.length < oneWriteCharactersMax) {
      this.#socket.write(head + body, isAscii ? "latin1" : "utf8");
    } else {
      this.#socket.write(head, "latin1");
      this.#socket.write(body, isAscii ? "latin1" : "utf8");
    }
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Closes it without a word to its user. */
  destroy(): void {
    this.#user = undefined;
    this.#lose(undefined);
  }

  #listen(): void {
    const socket = this.#socket;
    const { target } = this.#keeper;
    socket.once(target.isSecure ? "secureConnect" : "connect", () => {
      clearTimeout(this.#timer);
      this.#user?.onOpen();
    });
    socket.on("data", (bytes: Buffer<ArrayBuffer>) => {
      if (this.#isGone) return;
      if (this.#user === undefined) this.destroy();
      else this.#user.onBytes(bytes);
    });
    socket.on("end", () => {
      if (this.#isGone) return;
      this.#user?.onFinished();
      this.#lose(undefined);
    });
    socket.on("error", (error) => this.#lose(error));
    socket.on("close", () => this.#lose(undefined));
    if (target.isSecure) socket.on("session", (session: Uint8Array) => this.#keep(session));
  }

  #keep(session: Uint8Array): void {
    this.#keeper.session = session;
  }

  #lose(error: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    if (error !== undefined) this.#keeper.session = undefined;
    this.#keeper.forget(this);
    this.#socket.destroy();
    const user = this.#user;
    this.#user = undefined;
    user?.onLost(error);
  }
}

/** Head and body shorter than this leave in one write; joining longer ones would cost more than a second write. */
const oneWriteCharactersMax = 65_536;
/** Of silence on a connection until the system asks whether the other side still lives. */
const probeAfterMs = 30_000;

function openSocket({ target, tls, session, lookup }: ConnectionKeeper): Socket {
  const { host, port, isSecure, serverName } = target;
  const options = {
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: probeAfterMs,
    autoSelectFamily: true,
    ...(lookup && { lookup }),
  };
  if (!isSecure) return connect(options);
  const secure: ConnectionOptions = { ...options, ALPNProtocols: ["http/1.1"], ...tls, rejectUnauthorized: true };
  if (serverName !== undefined) secure.servername = serverName;
  if (session !== undefined) secure.session = session as Buffer;
  return connectSecure(secure);
}
