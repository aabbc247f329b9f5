import type { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecure } from "node:tls";
import { type Dial, type Line, type LinePlace, type LineUser, probeAfterMs } from "./line.ts";

/** A line by `node:net` and `node:tls`, which Bun, Deno and Node have. */
export const dialByNode: Dial = (place, user) => new NodeLine(openSocket(place), place, user);

class NodeLine implements Line {
  readonly #socket: Socket;

  constructor(socket: Socket, { target }: LinePlace, user: LineUser) {
    this.#socket = socket;
    socket.once(target.isSecure ? "secureConnect" : "connect", () => user.onOpen());
    socket.on("data", (bytes: Buffer<ArrayBuffer>) => user.onBytes(bytes));
    socket.on("end", () => user.onFinished());
    socket.on("error", (error) => user.onClosed(error));
    socket.on("close", () => user.onClosed(undefined));
    if (target.isSecure) socket.on("session", (session: Uint8Array) => user.onSession(session));
  }

  get isFlushed(): boolean {
    return this.#socket.writableLength === 0;
  }

  write(data: string | Uint8Array): void {
    this.#socket.write(data);
  }

  writeAscii(text: string): void {
    this.#socket.write(text, "latin1");
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

function openSocket({ target, tls, session, lookup }: LinePlace): Socket {
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
